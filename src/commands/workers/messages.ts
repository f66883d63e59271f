import cluster from 'node:cluster';
import type { BudgetName, CountMethod } from '../../server/rate-limit/rate-limiter.ts';
import type { MetricsSnapshot } from '../../telemetry/worker-metrics.ts';

/** What the primary tells a worker. `retire`: another one serves in its place. */
const orders = ['reload', 'retire', 'stop', 'metrics'] as const;
export type Order = (typeof orders)[number];

export interface OrderMessage {
  readonly bankql: Order;
}

/** Where a worker serves, and what it found at its start. */
export interface WorkerStart {
  readonly url: string;
  readonly stateLine: string;
}

/** What a worker tells the primary. */
export type WorkerMessage =
  | ({ readonly bankql: 'ready' } & WorkerStart)
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

/** Node and libraries send messages of their own. */
const kindOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'bankql' in message ? message.bankql : null;

export const isOrder = (message: unknown): message is OrderMessage =>
  orders.some((order) => order === kindOf(message));

/** Only our own workers can send such a message. */
export const isWorkerMessage = (message: unknown): message is WorkerMessage =>
  ['ready', 'failed', 'metrics', 'count'].some((kind) => kind === kindOf(message));

export const isCounted = (message: unknown): message is CountedMessage => kindOf(message) === 'counted';

/** Sends it to the primary, if that is still there. */
export const tellPrimary = (message: WorkerMessage): Promise<void> =>
  new Promise((resolve) => {
    const { worker } = cluster;
    if (worker?.isConnected() !== true) resolve();
    else worker.send(message, () => resolve());
  });
