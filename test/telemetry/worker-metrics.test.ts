import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createWorkerMetrics } from '../../src/telemetry/worker-metrics.ts';

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

/** The values in a text, by their names with their labels. */
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

test('no count falls when a worker ends: what it counted stays, and its gauges go', async () => {
  const metrics = createWorkerMetrics(2);
  for (let generation = 1; generation <= 3; generation++) {
    const worker = createWorker();
    worker.requests.inc({ outcome: 'ok' }, 10);
    worker.seconds.observe(2);
    worker.inFlight.set(1);
    metrics.update(generation, await worker.snapshot());
    // What it tells later takes the place of what it told before.
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

test('a worker that ends before it told anything changes nothing; crashes are counted', async () => {
  const metrics = createWorkerMetrics(2);
  metrics.retire(7);
  metrics.onCrash();
  expect(valuesOf(await metrics.text(0))).toEqual({
    'bankql_workers{state="desired"}': 2,
    'bankql_workers{state="running"}': 0,
    bankql_worker_crashes_total: 1,
  });
});
