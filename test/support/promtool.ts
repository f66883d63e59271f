import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';

/** Whether promtool, of Debian's package `prometheus`, is installed. */
export const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

const rules = join(import.meta.dirname, '../../ops/helm/alerts.yml');

/** Runs a file of rule tests. Errors: promtool's output. */
export const runRuleTests = (file: string): string =>
  execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8', stdio: 'pipe' });

/** The series of Prometheus' text at each scrape, in promtool's notation: `_` if a series was not there. */
function seriesOf(scrapes: readonly string[]): { series: string; values: string }[] {
  const values = new Map<string, string[]>();
  for (const [index, text] of scrapes.entries())
    for (const [, name = '', labels = '', value = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      const series = `${name}{${[`job="bankql",instance="test:9464"`, ...(labels === '' ? [] : [labels])].join()}}`;
      const known = values.get(series) ?? Array.from({ length: scrapes.length }, () => '_');
      known[index] = value.replace('Nan', 'NaN');
      values.set(series, known);
    }
  return [...values].map(([series, each]) => ({ series, values: each.join(' ') }));
}

/**
 * Asserts that exactly these alerts fire at some time in the last minutes, if Prometheus scrapes these texts, one a minute. An empty text: the
 * process did not answer. Errors: promtool's output, which names what fired.
 */
export function assertAlerts(
  scrapes: readonly string[],
  alerts: readonly string[],
  lastMinutes = scrapes.length,
): void {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-alerts-'));
  try {
    const file = join(folder, 'test.yml');
    const up = scrapes.map((text) => (text === '' ? 0 : 1)).join(' ');
    writeFileSync(
      file,
      stringify({
        rule_files: [rules],
        evaluation_interval: '1m',
        tests: [
          {
            interval: '1m',
            input_series: [
              { series: 'up{job="bankql",instance="test:9464"}', values: up },
              ...seriesOf(scrapes),
            ],
            promql_expr_test: [
              {
                expr: `group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[${lastMinutes}m]))`,
                eval_time: `${scrapes.length - 1}m`,
                exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
              },
            ],
          },
        ],
      }),
    );
    runRuleTests(file);
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${stdout}${stderr}` || String(error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
