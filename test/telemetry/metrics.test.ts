import { pino } from 'pino';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import type { CallReport } from '../../src/bank/report.ts';
import { createTelemetry, watchPools } from '../../src/telemetry/metrics.ts';
import { createWorkerMetrics } from '../../src/telemetry/worker-metrics.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';

const silent = pino({ level: 'silent' });
const call: CallReport = {
  operation: 'getBranches',
  status: 200,
  failure: null,
  gateway: null,
  reason: null,
  milliseconds: 12,
  trackId: null,
  bankText: null,
};

async function countedBy(telemetry: ReturnType<typeof createTelemetry>) {
  telemetry.onCall(call);
  telemetry.onCall({ ...call, status: null, failure: 'it took too long', reason: 'timeout' });
  telemetry.onShared('getBranches', 'cached');
  const lines = (await telemetry.registry.metrics()).split('\n');
  return {
    counted: lines.filter((line) =>
      /^bankql_(bank_call_seconds_count|shared_reads_total)\{.* [^0]/.test(line),
    ),
    ofProcess: lines.filter((line) => line.startsWith('bankql_process_cpu_seconds_total ')).length,
  };
}

test('REST calls are counted by bank operation and outcome, reads without a call by how they were answered', async () => {
  expect(await countedBy(createTelemetry(silent, silent))).toEqual({
    counted: [
      'bankql_bank_call_seconds_count{bank_operation="getBranches",outcome="200"} 1',
      'bankql_bank_call_seconds_count{bank_operation="getBranches",outcome="timeout"} 1',
      'bankql_shared_reads_total{bank_operation="getBranches",how="cached"} 1',
    ],
    ofProcess: 1,
  });
});

test('the payment store is up unless it is away, or records are missing, also where no call has noticed that', async () => {
  const telemetry = createTelemetry(silent, silent);
  let loss: string | null = null;
  let counts = 0;
  telemetry.watchStore({
    get loss() {
      return loss;
    },
    unwritten: 0,
    async count() {
      counts++;
      return { pending: 1, unknown: 2, newestAt: null, newestEndAt: null, now: 0 };
    },
  });
  const isUp = async () => /^bankql_state_up (\d)$/m.exec(await telemetry.registry.metrics())?.[1];
  expect(await isUp()).toBe('1');
  // The gauges of one scrape share a call.
  expect(counts).toBe(1);
  telemetry.onStoreAway('It is away.');
  expect(await isUp()).toBe('0');
  telemetry.onStoreBack(1);
  expect(await isUp()).toBe('1');
  loss = 'Three payments are missing.';
  expect(await isUp()).toBe('0');
});

test('members in another spelling are one line of the log for a bank operation, and are counted for each answer', async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { registry, onDrift } = createTelemetry(logger, silent);
  await using fixture = await startBankqlFixture({ bankOptions: { onDrift } });
  const { bank, bankql } = fixture;
  const { bank_id: bankId, swift_bic: swiftBic, ...record } = accountRecord;
  bank.otherwise({ body: { accounts: [{ ...record, bankId, swiftBic }] } });
  const query = '{ bank { account(accountId: "ACC") { bankIds swiftBic label } } }';
  for (let count = 0; count < 2; count++)
    expect(await bankql.ask(query)).toEqual({
      data: { bank: { account: { bankIds: null, swiftBic: null, label: 'label' } } },
    });
  bank.otherwise({ body: { accounts: [{ ...record, bankId }] } });
  await bankql.ask(query);
  const [line, ...others] = lines;
  expect(line).toMatchObject({
    operation: 'getAccountsScope',
    field: 'spelling',
    names: ['bankId', 'swiftBic'],
    msg: 'the bank drifts from the specification',
  });
  expect(others).toEqual([]);
  expect(await registry.metrics()).toContain(
    'bankql_bank_drift_total{bank_operation="getAccountsScope",field="spelling"} 3\n',
  );
});

test('counters of bank operations have a series for each of them before the first event', async () => {
  const telemetry = createTelemetry(silent, silent);
  watchPools(telemetry.registry, () => []);
  const text = await telemetry.registry.metrics();
  for (const how of ['joined', 'cached', 'stale'])
    expect(text).toContain(`bankql_shared_reads_total{bank_operation="getBranches",how="${how}"} 0\n`);
  expect(text).not.toContain('bankql_shared_reads_total{bank_operation="putProduct"');
  expect(text).toContain('bankql_bank_place_waits_total{bank_operation="getBranches",pool="kept"} 0\n');
  expect(text).toContain('bankql_bank_place_waits_total{bank_operation="putProduct",pool="alone"} 0\n');
});

test('of the workers’ event loops, the one that lags most counts', async () => {
  const { registry } = createTelemetry(silent, silent);
  const aggregators = registry.getMetricsAsArray().map((metric) => [metric.name, Object(metric).aggregator]);
  expect(aggregators).toContainEqual(['bankql_nodejs_eventloop_lag_p99_seconds', 'max']);
  expect(aggregators).toContainEqual(['bankql_nodejs_eventloop_lag_min_seconds', 'min']);
});

test('the label `operation` is left to operations of GraphQL', () => {
  const telemetry = createTelemetry(silent, silent);
  watchPools(telemetry.registry, () => []);
  const labels = telemetry.registry
    .getMetricsAsArray()
    .map((metric) => [metric.name, Object(metric).labelNames] as const);
  expect(labels).toContainEqual(['bankql_bank_call_seconds', ['bank_operation', 'outcome']]);
  expect(labels.filter(([, names]) => names.includes('operation'))).toEqual([]);
});

test('where nobody reads metrics, what happens with each request is not counted', async () => {
  const unread = createTelemetry(silent, silent, { areMetricsRead: false });
  expect(await countedBy(unread)).toEqual({ counted: [], ofProcess: 0 });
});

test('an answer that cannot be read is counted and logged by its bank operation', async () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const telemetry = createTelemetry(logger, silent);
  const answer = { operation: 'getBranches', trackId: null, status: 200, failure: 'It is not JSON.' };
  telemetry.onUnreadable(answer);
  expect(await telemetry.registry.metrics()).toContain(
    'bankql_bank_unreadable_answers_total{bank_operation="getBranches"} 1\n',
  );
  // This is the line that the runbook's command finds among the bank calls.
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, ...answer, reason: 'unreadable', msg: 'bank call: its answer cannot be read' },
  ]);
});

test('the log has the time of a REST call with one decimal, in milliseconds', () => {
  const lines: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  createTelemetry(logger, silent).onCall({ ...call, milliseconds: 1.582_329_999_999_729 });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'bank call', milliseconds: 1.6 }]);
});

test('a call that the bank did not serve is a warning, whatever its status; a refusal is not', () => {
  const levels: number[] = [];
  const logger = pino({}, { write: (line: string) => void levels.push(JSON.parse(line).level) });
  const { onCall } = createTelemetry(logger, silent);
  for (const status of [408, 425, 500, 503, 522]) onCall({ ...call, status });
  expect(levels).toEqual([40, 40, 40, 40, 40]);
  for (const status of [200, 400, 401, 404, 429]) onCall({ ...call, status });
  expect(levels).toHaveLength(5);
});

describe('the metrics of workers', () => {
  /** A worker's own metrics. */
  function createWorker() {
    const registry = new Registry();
    const registers = [registry];
    return {
      requests: new Counter({ name: 'requests_total', help: 'r', labelNames: ['outcome'], registers }),
      seconds: new Histogram({ name: 'seconds', help: 's', buckets: [1, 5], registers }),
      inFlight: new Gauge({ name: 'in_flight', help: 'i', registers }),
      up: new Gauge({ name: 'up', help: 'u', registers, aggregator: 'min' }),
      lag: new Gauge({
        name: 'lag',
        help: 'l',
        registers,
        aggregator: 'max',
      }),
      snapshot: async () => JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())),
    };
  }

  /** The values in a text, by metric names with labels. */
  const valuesOf = (text: string) =>
    Object.fromEntries(
      [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]),
    );

  test('counts and gauges are summed up; of a gauge that all share, one counts; of another, the longest', async () => {
    const metrics = createWorkerMetrics(2);
    const [one, other] = [createWorker(), createWorker()];
    for (const [n, worker] of [one, other].entries()) {
      worker.requests.inc({ outcome: 'ok' }, 10 + n);
      worker.seconds.observe(2);
      worker.inFlight.set(3);
      worker.up.set(1 - n);
      worker.lag.set(n / 2);
      metrics.update(n, await worker.snapshot());
    }
    expect(valuesOf(await metrics.text(2))).toMatchObject({
      'bankql_workers{state="desired"}': 2,
      'bankql_workers{state="running"}': 2,
      'requests_total{outcome="ok"}': 21,
      'seconds_bucket{le="1"}': 0,
      'seconds_bucket{le="5"}': 2,
      seconds_count: 2,
      in_flight: 6,
      up: 0,
      lag: 0.5,
    });
  });

  test('no count decreases when a worker ends: its counts stay, and its gauges are removed', async () => {
    const metrics = createWorkerMetrics(2);
    for (let generation = 1; generation <= 3; generation++) {
      const worker = createWorker();
      worker.requests.inc({ outcome: 'ok' }, 10);
      worker.seconds.observe(2);
      worker.inFlight.set(1);
      metrics.update(generation, await worker.snapshot());
      // A later snapshot replaces the earlier one.
      metrics.update(generation, await worker.snapshot());
      expect(valuesOf(await metrics.text(1))).toMatchObject({
        'requests_total{outcome="ok"}': 10 * generation,
        'seconds_bucket{le="5"}': generation,
        in_flight: 1,
      });
      metrics.retire(generation);
    }
    const { in_flight: inFlight, ...rest } = valuesOf(await metrics.text(1));
    expect(inFlight).toBeUndefined();
    expect(rest).toMatchObject({ 'requests_total{outcome="ok"}': 30, seconds_sum: 6 });
  });

  test('of two workers that end at once, both counts stay', async () => {
    const metrics = createWorkerMetrics(2);
    for (const n of [1, 2]) {
      const worker = createWorker();
      worker.requests.inc({ outcome: 'ok' }, n);
      metrics.update(n, await worker.snapshot());
    }
    metrics.retire(1);
    metrics.retire(2);
    expect(valuesOf(await metrics.text(0))).toMatchObject({ 'requests_total{outcome="ok"}': 3 });
  });

  test('a worker that ends before it reported metrics changes nothing; crashes are counted', async () => {
    const metrics = createWorkerMetrics(2);
    metrics.retire(7);
    metrics.onCrash();
    expect(valuesOf(await metrics.text(0))).toEqual({
      'bankql_workers{state="desired"}': 2,
      'bankql_workers{state="running"}': 0,
      bankql_worker_crashes_total: 1,
    });
  });
});
