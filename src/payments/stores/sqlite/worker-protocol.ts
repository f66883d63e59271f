import { z } from 'zod';
import type { PaymentOutcome, PaymentQuery, PaymentRecord } from '../../store.ts';
import type { StoreEvent } from '../store-event.ts';

/** The messages between sqlite-store.ts and its threads, worker.ts and read-worker.ts. */

export interface WorkerSettings {
  readonly path: string;
  readonly retentionMs: number;
  readonly busyTimeoutMs: number;
  readonly witness: string | undefined;
  readonly beatMs: number;
}

export type StoreCall =
  | { readonly method: 'open'; readonly create: boolean }
  | { readonly method: 'close' }
  | { readonly method: 'begin'; readonly record: PaymentRecord; readonly now: number }
  | {
      readonly method: 'finish';
      readonly id: string;
      readonly trackId: string;
      readonly outcome: PaymentOutcome;
      readonly now: number;
    }
  | {
      readonly method: 'release';
      readonly id: string;
      readonly trackId: string;
      readonly afterLease: boolean;
    }
  | { readonly method: 'find'; readonly id: string; readonly now: number }
  /** Ends the leases that are over. Answers with the time before which finished records are no more to be read. */
  | { readonly method: 'prepareRead'; readonly now: number }
  | { readonly method: 'acceptLoss'; readonly by: string; readonly now: number }
  | {
      readonly method: 'settle';
      readonly id: string;
      readonly state: 'DONE' | 'REJECTED';
      readonly settledBy: string;
      readonly now: number;
    };

/** What read-worker.ts is asked: finished records that were last changed before `before` do not count. */
export type ReadCall =
  | { readonly method: 'search'; readonly query: PaymentQuery; readonly before: number }
  | { readonly method: 'status'; readonly before: number };

export interface WorkerRequest<Call = StoreCall> {
  readonly id: number;
  /**
   * One number that both threads share: 0 until somebody claims the call. The caller does when its time is
   * up, the worker does right before it commits, and only the first one succeeds: what the caller gave up
   * on is not stored later, unless the commit itself was under way.
   */
  readonly claim: Int32Array;
  readonly call: Call;
}

export const workerAnswer = z.discriminatedUnion('ok', [
  z.object({ id: z.number(), ok: z.literal(true), value: z.unknown() }),
  z.object({ id: z.number(), ok: z.literal(false), reason: z.string() }),
]);
export type WorkerAnswer = z.infer<typeof workerAnswer>;

/**
 * An unsolicited message of the worker: the open store's secret and loss, before the first answer and when they change.
 */
const workerReport = z.object({ secret: z.string(), loss: z.string().nullable() });
export type WorkerReport = z.infer<typeof workerReport>;

const workerEvent = z.object({ event: z.custom<StoreEvent>((value) => typeof value === 'object') });

export const workerMessage = z.union([workerAnswer, workerReport, workerEvent]);
export type WorkerMessage = z.infer<typeof workerMessage>;
