import cluster from 'node:cluster';
import type { BudgetName, CountMethod } from '../../server/rate-limit/rate-limits.ts';
import type { MetricsSnapshot } from '../../telemetry/worker-metrics.ts';

/** What the primary tells a worker to do. `retire`: another one serves in its place. */
export type Order = 'reload' | 'retire' | 'stop' | 'metrics';

type PrimaryMessage = { readonly bankql: Order } | CountedMessage;

/** Where a process serves, and what it found at its start. */
export interface ServiceStart {
  readonly url: string;
  /** What the payment store held, in a sentence. */
  readonly stateLine: string;
}

type WorkerMessage =
  | ({ readonly bankql: 'ready' } & ServiceStart)
  /** Why it cannot start, in words. */
  | { readonly bankql: 'failed'; readonly words: string }
  | { readonly bankql: 'metrics'; readonly metrics: MetricsSnapshot }
  | CountMessage;

/** A worker asks the primary to count a REST call. */
export interface CountMessage {
  readonly bankql: 'count';
  readonly id: number;
  readonly budget: BudgetName;
  readonly method: CountMethod;
  readonly owner: string;
}

/** The primary's answer: what is left, and for how long; null if the owner's window has not begun. */
export interface CountedMessage {
  readonly bankql: 'counted';
  readonly id: number;
  readonly isRefused: boolean;
  readonly left: { readonly calls: number; readonly milliseconds: number } | null;
}

/** Node and libraries send messages of their own, without this member. Of ours, another version may send other kinds. */
const isOurs = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'bankql' in message;

export const isFromPrimary = (message: unknown): message is PrimaryMessage => isOurs(message);
export const isFromWorker = (message: unknown): message is WorkerMessage => isOurs(message);

/** Sends it to the primary, if that is still there. */
export const tellPrimary = (message: WorkerMessage): Promise<void> =>
  new Promise((resolve) => {
    const { worker } = cluster;
    if (worker?.isConnected() !== true) resolve();
    else worker.send(message, () => resolve());
  });
