import cluster from 'node:cluster';
import type { MetricsSnapshot } from '../../telemetry/worker-metrics.ts';

/** The address of a serving process, and the state of its payment store at the start. */
export interface ServiceStart {
  readonly url: string;
  /** A sentence about the records in the payment store. */
  readonly stateLine: string;
}

/** The messages from the primary to a worker (`retire`: another worker replaces it), and from a worker to the primary. */
export type Message =
  | { readonly bankql: 'reload' | 'retire' | 'stop' | 'metrics' }
  | { readonly bankql: 'metrics are'; readonly metrics: MetricsSnapshot }
  | { readonly bankql: 'outcomes are lost' }
  /** The worker receives messages from now on; earlier messages are lost. */
  | { readonly bankql: 'starting' }
  | { readonly bankql: 'ready'; readonly start: ServiceStart }
  | { readonly bankql: 'cannot start'; readonly reason: string };

/** Whether a message is bankql's. Messages of libraries do not have the member `bankql`. */
export const isOurs = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && 'bankql' in message;

/** Sends a message to the primary, if the primary still runs. */
export const tellPrimary = (message: Message): Promise<void> =>
  new Promise((resolve) => {
    if (cluster.worker?.isConnected() !== true) resolve();
    else cluster.worker.send(message, () => resolve());
  });
