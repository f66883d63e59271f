import type { Operation } from '../contract/operation.ts';
import type { ShedReason } from '../load/capacity.ts';
import type { AnswerReports, ReadPlainAnswer } from './answer.ts';
import type { CircuitBreaker } from './breaker.ts';
import type { GatewayAnswers } from './gateway-answers.ts';
import type { Lane } from './pools.ts';
import type { RefusedReads } from './refused-reads.ts';
import type { CallReport, TraceCall } from './report.ts';
import type { RetryBudget } from './retry.ts';
import type { SharedReads } from './shared-reads.ts';

/** What all calls of one bank operation have in common. It is made once. */
export interface Target<T extends Operation = Operation> {
  readonly operation: T;
  readonly lane: Lane;
  /** Null if breakers are switched off. */
  readonly breaker: CircuitBreaker | null;
  readonly readPlain: ReadPlainAnswer;
  readonly services: CallServices;
}

/** What all calls of a client have in common. */
export interface CallServices extends AnswerReports {
  readonly origin: string;
  /** The path of the bank's address, in front of each call's path. */
  readonly prefix: string;
  /** The longest answer, in bytes. */
  readonly maxBodyBytes: number;
  /** The known answers of gateways in front of the bank. */
  readonly gateways: GatewayAnswers;
  /** The refusals that reads got. */
  readonly refusedReads: RefusedReads;
  readonly retries: RetryBudget;
  readonly reads: SharedReads;
  /** The following functions must not throw. */
  readonly onCall?: ((call: CallReport) => void) | undefined;
  readonly traceCall?: TraceCall | undefined;
  readonly onShed?: ((why: ShedReason) => void) | undefined;
}
