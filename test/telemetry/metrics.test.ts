import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { CallReport } from '../../src/bank/report.ts';
import { createTelemetry, watchPools } from '../../src/telemetry/metrics.ts';

const silent = pino({ level: 'silent' });
const call: CallReport = {
  operation: 'getBranches',
  status: 200,
  failure: null,
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
  // The runbook finds it among the bank calls.
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
