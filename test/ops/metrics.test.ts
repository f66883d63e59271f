import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { startProcess } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';

/** Alerts and the dashboard use existing metrics, and every alert says what to do. */

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const keywords = new Set('and or unless on ignoring group_left group_right bool offset'.split(' '));

/** The metrics that an expression of PromQL reads, by the names under which they are stored. */
const queriedMetrics = (expression: string): string[] => [
  ...new Set(
    expression
      .replaceAll(/"[^"]*"/g, '""')
      .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
      .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
      .match(/(?<![\w$.:])[a-zA-Z_:][\w:]*(?!\w*\s*\()/g)
      ?.filter((word) => !keywords.has(word)),
  ),
];

/** The metrics in Prometheus' text, by the names under which they are stored: a histogram has three names. */
const exposedMetrics = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  );

const { groups } = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string(),
            expr: z.string(),
            labels: z.object({ severity: z.enum(['page', 'ticket']) }),
            annotations: z.object({ summary: z.string().min(10) }),
          }),
        ),
      }),
    ),
  })
  .parse(parse(read('ops/helm/alerts.yml')));
const alerts = groups.flatMap(({ rules }) => rules);

const dashboard = z
  .object({
    panels: z.array(
      z.object({
        id: z.number(),
        title: z.string(),
        type: z.string(),
        targets: z.array(z.object({ expr: z.string() })).optional(),
      }),
    ),
    templating: z.object({
      list: z.array(z.object({ name: z.string(), definition: z.string().optional() })),
    }),
  })
  .parse(JSON.parse(read('ops/grafana/bankql.json')));
const panels = dashboard.panels.filter(({ type }) => type !== 'row');

const folder = testFolder();
let exposed: ReadonlySet<string>;
beforeAll(async () => {
  // bankql is started with workers, because some metrics are about workers.
  await using bankql = await startProcess({
    BANK_BASE_URL: 'http://127.0.0.1:9',
    STATE_URL: `sqlite:${join(folder, 'state.db')}`,
    METRICS_PORT: '0',
    WORKERS: '2',
  });
  const [, metricsUrl = ''] = /"metrics":"([^"]+)"/.exec(bankql.output()) ?? [];
  exposed = exposedMetrics(await (await fetch(metricsUrl)).text());
});

/** Prometheus itself provides `up`. */
const missing = (expression: string) =>
  queriedMetrics(expression).filter((name) => name !== 'up' && !exposed.has(name));

test('what an expression reads is found', () => {
  expect(
    queriedMetrics(
      'sum by (le, job) (rate(a_total{x="b_total{", job="$job"}[$__rate_interval])) / b_sum > 0.5',
    ),
  ).toEqual(['a_total', 'b_sum']);
  expect(queriedMetrics('60 * histogram_quantile(0.9, sum(rate(c_bucket[5m]))) and on (job) d')).toEqual([
    'c_bucket',
    'd',
  ]);
});

test('a name that bankql does not have would be found', () => {
  expect(missing('rate(bankql_payments_total[5m])')).toEqual([]);
  expect(missing('rate(bankql_payment_total[5m])')).toEqual(['bankql_payment_total']);
  expect(missing('rate(bankql_bank_call_seconds[5m])')).toEqual(['bankql_bank_call_seconds']);
});

test.each(alerts.map(({ alert, expr }) => [alert, expr]))(
  '%s reads metrics that there are',
  (_alert, expr) => {
    expect(queriedMetrics(expr)).not.toEqual([]);
    expect(missing(expr)).toEqual([]);
  },
);

test('the dashboard shows every metric of bankql’s own, and each panel once', () => {
  const shown = new Set(
    panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => queriedMetrics(expr))),
  );
  const own = [...read('docs/observability.md').matchAll(/^\| `(bankql_\w+)` \|/gm)].map(
    ([, name = '']) => name,
  );
  const notShown = own.filter((name) => ![...shown].some((each) => each.startsWith(name)));
  expect(notShown).toEqual([]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const [, variable] = dashboard.templating.list;
  expect(/^label_values\((\w+), job\)$/.exec(variable?.definition ?? '')?.[1]).toSatisfy((name: string) =>
    exposed.has(name),
  );
});
