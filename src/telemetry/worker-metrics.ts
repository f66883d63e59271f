import { AggregatorRegistry, Registry } from 'prom-client';
import { metricsIn } from './metric-kinds.ts';

/** The metrics of one process, as it sends them to another. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** What only grows: its end is part of the sum, or Prometheus would take the sum's fall for a start from zero. */
const growing: ReadonlySet<string> = new Set(['counter', 'histogram']);
/** Metrics for which the worst value of all workers counts: an average would hide it. */
const worst = /^bankql_nodejs_eventloop_lag(?!_min)/;

/**
 * The metrics of all workers together: counts are added up, including those of workers that have ended; of gauges with
 * the same value in each worker, one counts. A worker that crashed loses its counts since they were last read.
 * `desired`: how many workers there should be; `running`: how many serve and answer.
 */
export function createWorkerMetrics({
  desired,
  running,
}: {
  readonly desired: number;
  readonly running: () => number;
}) {
  const registry = new Registry();
  const { counter, readGauge } = metricsIn(registry);
  readGauge(
    'bankql_workers',
    'Workers: as many as WORKERS asks for (desired), and those that serve and answer (running). Only with WORKERS.',
    () =>
      [
        [{ state: 'desired' }, desired],
        [{ state: 'running' }, running()],
      ] as const,
    ['state'],
  );
  const crashes = counter('bankql_worker_crashes_total', 'Workers that ended without being told to.');
  const latest = new Map<number, MetricsSnapshot>();
  let ended: MetricsSnapshot = [];

  return {
    contentType: registry.contentType,
    onCrash: () => crashes.inc(),
    update(worker: number, snapshot: MetricsSnapshot): void {
      latest.set(
        worker,
        snapshot.map((metric) => (worst.test(metric.name) ? { ...metric, aggregator: 'max' } : metric)),
      );
    },
    /** The worker has ended: what it counted stays. */
    async retire(worker: number): Promise<void> {
      const last = latest.get(worker)?.filter(({ type }) => growing.has(String(type)));
      latest.delete(worker);
      if (last === undefined) return;
      const sum = AggregatorRegistry.aggregate([ended, last]).getMetricsAsJSON();
      // The sums are there at once; only their interface is asynchronous.
      ended = await sum;
    },
    /** All of it, in Prometheus' text. */
    async text(): Promise<string> {
      const workers = AggregatorRegistry.aggregate([...latest.values(), ended]);
      return `${await registry.metrics()}${await workers.metrics()}`;
    },
  };
}
