import { secretsOf } from './credentials.ts';
import { bankText, describeFault } from './errors.ts';
import type { GatewayRefusal } from './gateway-answers.ts';
import { type HttpResult, TransportFailure } from './http-message.ts';
import type { PreparedCall } from './request.ts';

/** One attempt that ended. Contains no credential, and no id of the call: ids are private. */
export interface CallReport {
  readonly operation: string;
  /** The bank's status; null if no whole answer came. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly trackId: string | null;
  /** The attempt's id in the log, for an attempt without a Track-ID. */
  readonly callId?: string;
  /** Why no whole answer came, as in TransportFailure; null if one did. */
  readonly reason: TransportFailure['reason'] | null;
  /** The reason in words; also what is wrong with an answer that is neither a success nor a refusal by the bank. */
  readonly failure: string | null;
  /** What a gateway in front of the bank refused; null if the answer is the bank's, or none came. */
  readonly gateway: GatewayRefusal | null;
  /** The bank's text in a 4xx or 5xx answer, shortened and without credentials. */
  readonly bankText: string | null;
}

/** One attempt of a call, as a trace follows it. */
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
  const { operation, credentials, trackId } = call;
  const attempt = { operation: operation.id, trackId, milliseconds, ...(trace && { callId: trace.callId }) };
  if (result instanceof TransportFailure) {
    const { reason } = result;
    return {
      ...attempt,
      status: null,
      reason,
      failure: describeFailure(result),
      gateway: null,
      bankText: null,
    };
  }
  const { status } = result;
  return {
    ...attempt,
    status,
    reason: null,
    failure: status < 300 ? null : describeFault(call, result),
    gateway: status < 300 ? null : call.gateways.refusalIn(result),
    bankText: status >= 400 ? bankText(result, secretsOf(credentials)) : null,
  };
}

/**
 * A failure and its cause: undici's messages contain hosts and ports at most. If several addresses were tried, the error has
 * only a code.
 */
const describeFailure = ({ message, cause }: TransportFailure): string =>
  cause instanceof Error
    ? `${message} (${cause.message || ('code' in cause ? cause.code : cause.name)})`
    : message;
