import { AggregatorRegistry, Registry } from 'prom-client';
import { metricsIn } from './metric-kinds.ts';

/** The metrics of one process, as it sends them to another. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * The types of metrics that only grow. The last values of an ended worker stay in the sum, because Prometheus would take a
 * decrease for a restart from 0.
 */
const growing: ReadonlySet<string> = new Set(['counter', 'histogram']);

/**
 * The metrics of all workers together, as prom-client aggregates them. The counts of ended workers remain. If a worker crashed,
 * its counts since they were last read are lost. `desired`: the configured number of workers.
 */
export function createWorkerMetrics(desired: number) {
  const registry = new Registry();
  const { counter, gauge } = metricsIn(registry);
  const workers = gauge(
    'bankql_workers',
    'Workers: as many as WORKERS asks for (desired), and those that serve and answer (running). Only with WORKERS.',
    ['state'],
  );
  const crashes = counter('bankql_worker_crashes_total', 'Workers that ended unexpectedly.');
  const latest = new Map<number, MetricsSnapshot>();
  let ended: Promise<MetricsSnapshot> = Promise.resolve([]);

  return {
    contentType: registry.contentType,
    onCrash: () => crashes.inc(),
    update: (worker: number, snapshot: MetricsSnapshot) => void latest.set(worker, snapshot),
    /** Called when the worker has ended: its counts remain in the sums. */
    retire(worker: number): void {
      const last = latest.get(worker)?.filter(({ type }) => growing.has(String(type))) ?? [];
      latest.delete(worker);
      ended = ended.then((sum) => AggregatorRegistry.aggregate([sum, last]).getMetricsAsJSON());
    },
    /** All metrics, in Prometheus' text format. `running`: the number of workers that serve and answer. */
    async text(running: number): Promise<string> {
      workers.set({ state: 'desired' }, desired);
      workers.set({ state: 'running' }, running);
      const snapshots = await Promise.all([...latest.values(), ended]);
      return `${await registry.metrics()}${await AggregatorRegistry.aggregate(snapshots).metrics()}`;
    },
  };
}
