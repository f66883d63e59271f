import { secretsOf } from './credentials.ts';
import { bankText, describeFault } from './errors.ts';
import type { GatewayRefusal } from './gateway-answers.ts';
import { type HttpResult, TransportFailure } from './http-message.ts';
import type { PreparedCall } from './request.ts';

/** Reports one attempt of a call, after its end. Contains no credential, and no id from the call's path: ids are private. */
export interface CallReport {
  readonly operation: string;
  /** The bank's status; null if there was no complete answer. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly trackId: string | null;
  /** The attempt's id in the log, for an attempt without a Track-ID. */
  readonly callId?: string | undefined;
  /** Why there was no complete answer, as in TransportFailure; null if there was one. */
  readonly reason: TransportFailure['reason'] | null;
  /** The reason in words, or the fault of an answer that the bank's service itself did not send (describeFault). */
  readonly failure: string | null;
  /** The kind of refusal, if the answer is a known refusal of gateways (gateway-answers.ts); otherwise null. */
  readonly gateway: GatewayRefusal | null;
  /** The bank's text in a 4xx or 5xx answer, shortened and without credentials. */
  readonly bankText: string | null;
}

/** The trace of one attempt of a call. */
export interface CallTrace {
  /** The attempt's id in the log, if it has no Track-ID. */
  readonly callId: string;
  end(report: CallReport): void;
}

/** Starts the trace of an attempt; null if the call is not traced. Must not throw. */
export type TraceCall = (call: PreparedCall, resendCount: number) => CallTrace | null;

/** The report of an attempt that ended. */
export function reportOf(
  call: PreparedCall,
  result: HttpResult,
  milliseconds: number,
  trace: CallTrace | null,
): CallReport {
  const report: CallReport = {
    operation: call.operation.id,
    status: result instanceof TransportFailure ? null : result.status,
    milliseconds,
    trackId: call.trackId,
    callId: trace?.callId,
    reason: null,
    failure: null,
    gateway: null,
    bankText: null,
  };
  if (result instanceof TransportFailure)
    return { ...report, reason: result.reason, failure: describeFailure(result) };
  if (result.status < 300) return report;
  return {
    ...report,
    failure: describeFault(call, result),
    gateway: call.gateways.refusalIn(result),
    bankText: result.status >= 400 ? bankText(result, secretsOf(call.credentials)) : null,
  };
}

/**
 * Describes a failure and its cause. undici's messages contain at most hosts and ports. If several addresses were tried, the
 * cause has only a code.
 */
const describeFailure = ({ message, cause }: TransportFailure): string =>
  cause instanceof Error
    ? `${message} (${cause.message || ('code' in cause ? cause.code : cause.name)})`
    : message;
