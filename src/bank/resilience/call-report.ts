import type { TransportFailure } from '../http/http-message.ts';

/** One attempt that ended. Holds no credential and no path: ids are private. */
export interface CallReport {
  readonly operation: string;
  /** The bank's status; null where no whole answer came. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly trackId: string | null;
  /** The attempt's id, where it is known without a Track-ID. */
  readonly callId?: string;
  /** Why no whole answer came, as TransportFailure has it; null where one did. */
  readonly reason: TransportFailure['reason'] | null;
  /** The same in words. */
  readonly failure: string | null;
  /** What the bank said in a 4xx or 5xx answer, bounded and without credentials. */
  readonly bankText: string | null;
}
