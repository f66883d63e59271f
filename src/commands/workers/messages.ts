import cluster from 'node:cluster';
import type { MetricsSnapshot } from '../../telemetry/worker-metrics.ts';

/** Where a process serves, and what it found at its start. */
export interface ServiceStart {
  readonly url: string;
  /** What the payment store held, in a sentence. */
  readonly stateLine: string;
}

/** What the primary tells a worker to do (`retire`: another one serves in its place), and what a worker tells the primary. */
export type Message =
  | { readonly bankql: 'reload' | 'retire' | 'stop' | 'metrics' }
  | { readonly bankql: 'metrics are'; readonly metrics: MetricsSnapshot }
  | { readonly bankql: 'ready'; readonly start: ServiceStart }
  | { readonly bankql: 'cannot start'; readonly reason: string };

/** Libraries send messages of their own, without this member. */
export const isOurs = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && 'bankql' in message;

/** Sends it to the primary, if that is still there. */
export const tellPrimary = (message: Message): Promise<void> =>
  new Promise((resolve) => {
    if (cluster.worker?.isConnected() !== true) resolve();
    else cluster.worker.send(message, () => resolve());
  });
