import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type BankqlService, serveBankql } from '../../src/app/app.ts';
import { initStore } from '../../src/payments/store/open-store.ts';
import { credentials } from '../support/bankql.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { type RecordedCall, type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { contextOf } from '../support/run-command.ts';
import { testFolder } from '../support/test-folder.ts';

/** Whether promtool, of Debian's package `prometheus`, is installed. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

const rules = join(import.meta.dirname, '../../ops/helm/alerts.yml');

/** Runs a file of rule tests. Errors: promtool's output. */
const runRuleTests = (file: string): string =>
  execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8', stdio: 'pipe' });

/** The series of Prometheus' text at each scrape, in promtool's notation: `_` if a series is missing. */
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
 * Asserts that exactly these alerts fire in the last minutes if Prometheus scrapes these texts, one a minute. An empty text means
 * that the process did not answer.
 * Errors: promtool's output, which names the alerts that fired.
 */
function assertAlerts(
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

/** Which alerts fire. Each case happens to a bankql, whose metrics are scraped. A scrape counts as a minute. */

const root = join(import.meta.dirname, '../..');

test.skipIf(!hasPromtool)('the tests that come with the rules pass', () => {
  expect(runRuleTests(join(root, 'ops/helm/alerts.test.yml'))).toContain('SUCCESS');
});

describe.skipIf(!hasPromtool)('scraped each minute', () => {
  const folder = testFolder();
  let stores = 0;
  let bank: RecordingBank;
  let bankql: BankqlService;
  let metricsUrl = '';
  const scrapes: string[] = [];

  beforeAll(async () => {
    bank = await startRecordingBank();
  });
  afterAll(() => bank.close());
  beforeEach(async () => {
    scrapes.length = 0;
    isWell();
    await start(`sqlite:${join(folder, `${stores++}.db`)}`);
  });
  afterEach(() => bankql.stop());

  /** Fails one operation, and answers the others. */
  const failFor =
    (part: string, status: number) =>
    ({ path }: RecordedCall) =>
      path.includes(part) ? { status, body: {} } : { body: { branches: [] } };
  const isWell = () => bank.otherwise({ body: { messages: [], branches: [] } });

  async function start(stateUrl: string, bankUrl = bank.url, timeoutMs = '60000', more = {}) {
    let output = '';
    await initStore(stateUrl);
    const context = contextOf(
      {
        BANK_BASE_URL: bankUrl,
        BANK_ID: 'BANK',
        PORT: '0',
        METRICS_PORT: '0',
        STATE_URL: stateUrl,
        LOG_LEVEL: 'fatal',
        BANK_TIMEOUT_MS: timeoutMs,
        BANK_TRANSFER_TIMEOUT_MS: timeoutMs,
        ...more,
      },
      {
        isTerminal: true,
        write: (text) => {
          output += text;
        },
      },
    );
    // The breaker is off, because it depends on real time.
    bankql = await serveBankql(context, { limits: { publicCacheMs: 0, breakerShare: 0 } });
    metricsUrl = /http:\S+\/metrics/.exec(output)?.[0] ?? '';
  }

  async function scrape() {
    const text = await (await fetch(metricsUrl)).text();
    // The lag of the event loop and the duration of calls depend on this machine, so they are removed.
    scrapes.push(text.replaceAll(/^bankql_(nodejs|graphql_duration|bank_call_seconds_bucket).*\n/gm, ''));
  }

  const ask = (
    query: string,
    headers: Readonly<Record<string, string>> = credentials,
    signal: AbortSignal | null = null,
  ) =>
    fetch(`${bankql.url}/graphql`, {
      method: 'POST',
      signal,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    }).then((response) => response.text());
  const read = () =>
    ask(
      '{ bank { messages { totalCount } branches { totalCount } } other: bank(bankId: "B") { branches { totalCount } } }',
    );

  /** Lets this number of minutes pass, each with the clients' requests. */
  async function live(minutes: number, minute: () => Promise<unknown> = read) {
    for (let now = 0; now < minutes; now++) {
      await scrape();
      for (let times = 0; times < 3; times++) await minute();
    }
    await scrape();
  }

  test('no alert fires if all is well', async () => {
    await live(12);
    assertAlerts(scrapes, []);
  });

  test('nor for mistakes of callers: bad queries, unknown ids, missing credentials, input that the bank refuses', async () => {
    bank.on('GET /v1/api/banks/BANK/products/unknown', { status: 404, body: {} });
    bank.on('PUT /v1/api/banks/BANK/products', { status: 422, body: {} });
    await live(12, async () => {
      await read();
      await read();
      await ask('{ nowhere }');
      await ask('{ this is no query');
      await ask('{ bank { messages { totalCount } } }', {});
      await ask('{ bank { product(productId: "unknown") { name } } }');
      await ask('mutation { putProduct(input: { product: {} }) { trackId } }');
    });
    expect(bank.lines()).toContain('PUT /v1/api/banks/BANK/products');
    assertAlerts(scrapes, []);
  });

  test('nor for callers who leave before the bank has answered', async () => {
    const leaves = async () => {
      const leaving = new AbortController();
      bank.on('GET /v1/api/banks/LEFT/branches', () => {
        leaving.abort();
        return 'hang';
      });
      const query = '{ bank(bankId: "LEFT") { branches { totalCount } } }';
      await expect(ask(query, credentials, leaving.signal)).rejects.toThrow('aborted');
    };
    let left = 0;
    await live(12, async () => {
      await read();
      await leaves();
      left++;
      // A request is counted when it has ended.
      const ended = async () =>
        (await (await fetch(metricsUrl)).text())
          .match(/outcome="client left",fault="(\w+)"} (\d+)/)
          ?.slice(1);
      await expect.poll(ended, { interval: 5 }).toEqual(['none', String(left)]);
    });
    expect(scrapes.at(-1)).toContain('bankql_graphql_errors_total{code="BANK_UNAVAILABLE"} 0');
    assertAlerts(scrapes, []);
  });

  test('the operator’s subscription key that a gateway refuses has an alert of its own', async () => {
    await bankql.stop();
    const key = { BANK_SUBSCRIPTION_KEY: 'operators-key' };
    await start(`sqlite:${join(folder, `${stores++}.db`)}`, bank.url, '60000', key);
    await live(3);
    const message =
      'Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription.';
    bank.otherwise({ status: 401, body: { statusCode: 401, message } });
    expect(await pay(bankql.url, transfer('refused'))).toMatchObject({
      code: 'BANK_UNAVAILABLE',
      trackId: null,
    });
    expect(bank.calls.at(-1)?.headers['ocp-apim-subscription-key']).toBe('operators-key');
    await live(12);
    assertAlerts(scrapes, ['BankqlBankFails', 'BankqlBankRefuses', 'BankqlSubscriptionKeyRefused']);
  });

  test.each([
    ['answers 500', () => bank.otherwise({ status: 500, body: {} }), ['BankqlBankFails']],
    ['answers 500 to one operation', () => bank.otherwise(failFor('messages', 500)), ['BankqlBankFails']],
    [
      'refuses one operation with 422',
      () => bank.otherwise(failFor('messages', 422)),
      ['BankqlOperationRefused'],
    ],
    ['resets connections', () => bank.otherwise(() => 'reset'), ['BankqlBankFails']],
    [
      'refuses everybody with 422',
      () => bank.otherwise({ status: 422, body: {} }),
      ['BankqlBankRefuses', 'BankqlOperationRefused'],
    ],
    [
      'refuses everybody with 401',
      () => bank.otherwise({ status: 401, body: {} }),
      ['BankqlBankRefuses', 'BankqlOperationRefused'],
    ],
  ] as const)('a bank that %s', async (_what, fail, alerts) => {
    await live(10);
    fail();
    await live(12);
    assertAlerts(scrapes, alerts);
  });

  test('a bank that is silent', async () => {
    await bankql.stop();
    await start(`sqlite:${join(folder, `${stores++}.db`)}`, bank.url, '50');
    bank.otherwise(() => 'hang');
    await live(12);
    assertAlerts(scrapes, ['BankqlBankFails']);
  });

  test('a bank that is down', async () => {
    await bankql.stop();
    await start(`sqlite:${join(folder, `${stores++}.db`)}`, 'http://127.0.0.1:1');
    await live(12);
    assertAlerts(scrapes, ['BankqlBankFails']);
  });

  test('an answer to payments that is not understood: one alert for its code, however many payments', async () => {
    await live(3);
    bank.otherwise({ status: 422, body: { code: 'E51', message: 'Saldo insuficiente' } });
    for (const key of ['first', 'second'])
      expect(await pay(bankql.url, transfer(key))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    isWell();
    await live(3);
    assertAlerts(scrapes, ['BankqlBankDrifts', 'BankqlPaymentAnswerUnknown']);
  });

  test('the first payment of unknown outcome, and one more after a restart; an old one does not alert again', async () => {
    await live(3);
    bank.otherwise(() => 'reset');
    expect(await pay(bankql.url, transfer('first'))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    isWell();
    await live(3);
    assertAlerts(scrapes, ['BankqlPaymentOutcomeUnknown']);
    // The store is read only every few seconds, and these simulated minutes take less.
    const old = (scrapes.splice(0).at(-1) ?? '').replace(/^(bankql_state_payments.*UNKNOWN.*) 0$/m, '$1 1');
    await bankql.stop();
    await start(`sqlite:${join(folder, `${stores - 1}.db`)}`);
    await live(3);
    assertAlerts([...Array.from({ length: 32 }, () => old), ...scrapes], [], scrapes.length);
    bank.otherwise(() => 'reset');
    expect(await pay(bankql.url, transfer('second'))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    isWell();
    await live(3);
    assertAlerts(scrapes, ['BankqlPaymentOutcomeUnknown']);
  });
});

test('every alert has a severity, and a runbook entry with a first command under its URL', () => {
  const rules = readFileSync(join(root, 'ops/helm/alerts.yml'), 'utf8');
  const runbook = readFileSync(join(root, 'docs/runbook.md'), 'utf8');
  const entries = new Map(
    runbook
      .split(/^### /m)
      .slice(1)
      .map((entry) => [entry.split('\n', 1)[0] ?? '', entry]),
  );
  const alerts = rules.split(/^ {6}- alert: /m).slice(1);
  expect(alerts.length).toBeGreaterThan(20);
  const named = alerts.map((alert) => {
    const name = alert.split('\n', 1)[0] ?? '';
    expect(alert).toMatch(/severity: (page|ticket)/);
    const [, anchor = ''] = /runbook_url: docs\/runbook\.md#(\w+)/.exec(alert) ?? [];
    const entry = [...entries].find(([title]) => title.toLowerCase() === anchor)?.[1] ?? '';
    expect(/```sh\n([^`]*)```/.exec(entry)?.[1] ?? '', name).toMatch(/bankql-(?:log|metrics|in-service)\b/);
    return anchor;
  });
  // The page has no entry for an alert that does not exist.
  expect([...new Set(named)].sort()).toEqual([...entries.keys()].map((title) => title.toLowerCase()).sort());
});

test('the runbook defines its three commands for each deployment', () => {
  const [head = ''] = readFileSync(join(root, 'docs/runbook.md'), 'utf8').split(/^### /m);
  // The port of the metrics in ops/systemd.
  for (const port of head.matchAll(/127\.0\.0\.1:(\d+)\/metrics/g)) expect(port[1]).toBe('9464');
  for (const deployment of ['systemd', 'compose', 'Kubernetes']) {
    const [, block = ''] = new RegExp(`\`\`\`sh\\n# ${deployment}([^\`]*)\`\`\``).exec(head) ?? [];
    for (const name of ['bankql-log', 'bankql-metrics', 'bankql-in-service'])
      expect(block, deployment).toContain(`\n${name}() {`);
  }
});
