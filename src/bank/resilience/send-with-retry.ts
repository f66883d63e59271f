import { setTimeout as delay } from 'node:timers/promises';
import { callerId, secretsOf, subscriptionKeyId } from '../credentials.ts';
import { bankText } from '../error-body.ts';
import type { CancellationToken } from '../http/cancellation.ts';
import {
  type HttpResponse,
  type HttpResult,
  isGatewayError,
  TransportFailure,
} from '../http/http-message.ts';
import { createTransport, type TransportOptions } from '../http/transport.ts';
import { type PreparedCall, toHttpRequest, withNewTrackId } from '../request.ts';
import type { CallReport } from './call-report.ts';
import type { CallTrace, TraceCall } from './call-trace.ts';
import { type CircuitBreakerOptions, createCircuitBreakers } from './circuit-breaker.ts';
import { createRetryBudget, retryDelayMs } from './retry-budget.ts';

export interface SenderOptions extends TransportOptions {
  /** The share of reads that may be tried again; 0 for none. */
  readonly retryShare: number;
  readonly breaker: CircuitBreakerOptions;
  /** Called after every attempt; it must not throw. */
  readonly onCall?: ((call: CallReport) => void) | undefined;
  /** Follows every attempt. */
  readonly traceCall?: TraceCall | undefined;
}

/** Sends calls through the connection pool and their operation's breaker, within their deadline. */
export function createRetryingSender({
  retryShare,
  breaker: breakerOptions,
  onCall,
  traceCall,
  ...options
}: SenderOptions) {
  const transport = createTransport(options);
  const breakerOf = createCircuitBreakers(breakerOptions);
  const retries = createRetryBudget(retryShare);

  /** Makes one attempt and passes its outcome to `then`. Errors: those of `then`. */
  function attempt<T>(
    call: PreparedCall,
    timeoutMs: number,
    cancellation: CancellationToken | undefined,
    then: (result: HttpResult) => T | Promise<T>,
    resendCount = 0,
  ): Promise<T> {
    const { operation, credentials } = call;
    const send = operation.kind === 'read' ? transport.send : transport.sendAlone;
    const started = performance.now();
    const breaker = breakerOf(operation);
    const generation = breaker.tryAcquire();
    const trace = traceCall?.(call, resendCount) ?? null;
    const end = (result: HttpResult) => {
      if (generation !== null) breaker.record(generation, result);
      if (onCall !== undefined || trace !== null) {
        const report = reportOf(call, result, performance.now() - started, trace);
        onCall?.(report);
        trace?.end(report);
      }
      return then(result);
    };
    if (generation === null) return Promise.resolve(breakerOpen()).then(end);
    const caller = callerId(credentials);
    const identity = operation.auth === 'none' ? subscriptionKeyId(credentials) : caller;
    const options = { caller, operation: operation.id, identity, timeoutMs, cancellation };
    return send(toHttpRequest(call, trace?.traceparent ?? null), options).then(end, (fault) => {
      breaker.record(generation, null);
      throw fault;
    });
  }

  return {
    /** Sends a call, once. Errors: TransportFailure. */
    sendOnce: (call: PreparedCall, timeoutMs: number): Promise<HttpResponse> =>
      attempt(call, timeoutMs, undefined, (result) => {
        if (result instanceof TransportFailure) throw result;
        return result;
      }),

    /**
     * Sends a read, and once more if the failure may be transient.
     * Shape:  the result of `then` for the last attempt and its outcome. Errors: those of `then`.
     */
    sendWithRetry<T>(
      call: PreparedCall,
      deadline: number,
      cancellation: CancellationToken,
      then: (call: PreparedCall, result: HttpResult) => T,
    ): Promise<T> {
      retries.earn();
      return attempt(call, deadline - performance.now(), cancellation, (result) => {
        if (!isRetryable(result)) return then(call, result);
        const waitMs = retryDelayMs();
        if (deadline - performance.now() <= waitMs || cancellation.isCancelled || !retries.spend())
          return then(call, result);
        return delay(waitMs).then(() => {
          if (deadline <= performance.now()) return then(call, result);
          const second = withNewTrackId(call);
          const toAnswer = (last: HttpResult) => then(second, last);
          return attempt(second, deadline - performance.now(), cancellation, toAnswer, 1);
        });
      });
    },

    usage: () => transport.usage(),
    useTls: transport.useTls,
    close: () => transport.close(),
  };
}

const breakerOpen = () =>
  new TransportFailure('paused', false, 'it did not answer lately, and is given time to recover');

/** No connection, a broken connection, or a gateway error of a proxy: failures that may be transient. */
const isRetryable = (result: HttpResult): boolean =>
  result instanceof TransportFailure ? result.reason === 'unavailable' : isGatewayError(result);

function reportOf(
  call: PreparedCall,
  result: HttpResult,
  milliseconds: number,
  trace: CallTrace | null,
): CallReport {
  const { operation, credentials, trackId } = call;
  const hasFailed = result instanceof TransportFailure;
  return {
    operation: operation.id,
    trackId,
    ...(trace === null ? {} : { callId: trace.callId }),
    milliseconds,
    status: hasFailed ? null : result.status,
    reason: hasFailed ? result.reason : null,
    failure: hasFailed ? describeFailure(result) : null,
    bankText: hasFailed || result.status < 400 ? null : bankText(result, secretsOf(credentials)),
  };
}

/** A failure and its cause: undici's messages contain hosts and ports at most. */
const describeFailure = ({ message, cause }: TransportFailure): string =>
  cause instanceof Error ? `${message} (${cause.message})` : message;
