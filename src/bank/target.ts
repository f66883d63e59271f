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

/** The common properties of all calls of one bank operation. They are created once. */
export interface Target<T extends Operation = Operation> {
  readonly operation: T;
  readonly lane: Lane;
  /** The operation's breaker; null if breakers are switched off. */
  readonly breaker: CircuitBreaker | null;
  readonly readPlain: ReadPlainAnswer;
  readonly services: CallServices;
}

/** The common properties of all calls of a client. */
export interface CallServices extends AnswerReports {
  readonly origin: string;
  /** The path in the bank's address, which precedes each call's path. */
  readonly prefix: string;
  /** The maximum length of an answer, in bytes. */
  readonly maxBodyBytes: number;
  /** Recognises the answers of gateways in front of the bank. */
  readonly gateways: GatewayAnswers;
  /** The refusals of earlier reads. */
  readonly refusedReads: RefusedReads;
  readonly retries: RetryBudget;
  readonly reads: SharedReads;
  /** The following functions must not throw. */
  readonly onCall?: ((call: CallReport) => void) | undefined;
  readonly traceCall?: TraceCall | undefined;
  readonly onShed?: ((why: ShedReason) => void) | undefined;
}
