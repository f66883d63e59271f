import type { PreparedCall } from '../request.ts';
import type { CallReport } from './call-report.ts';

/** One attempt of a call, as a trace follows it. */
export interface CallTrace {
  /** The attempt's id in the log, where it has no Track-ID. */
  readonly callId: string;
  /** The header `traceparent` that goes with it; null for none. */
  readonly traceparent: string | null;
  end(report: CallReport): void;
}

/** Begins to follow an attempt, the first or a further one; null where no trace does. It must not throw. */
export type TraceCall = (call: PreparedCall, resendCount: number) => CallTrace | null;
