import { setTimeout as delay } from 'node:timers/promises';
import { type BreakerOptions, createBreakers } from './breaker.ts';
import { again, type PreparedCall, wireRequestOf } from './call.ts';
import type { Cancel } from './cancel.ts';
import { callerOf, keyOf, secretsOf } from './credentials.ts';
import { bankText } from './failure.ts';
import { createRetryBudget, retryWaitMs } from './retry.ts';
import { createTransport, type TransportOptions } from './transport.ts';
import { type Outcome, saysAway, TransportFailure, type WireReply } from './wire.ts';

export interface AttemptOptions extends TransportOptions {
  /** The share of reads that may be tried again; 0 for none. */
  readonly retryShare: number;
  readonly breaker: BreakerOptions;
  /** Is told of every attempt that ended; it must not throw. */
  readonly onCall?: ((call: CallReport) => void) | undefined;
}

/** One attempt that ended. Holds no credential and no path: ids are private. */
export interface CallReport {
  readonly operation: string;
  /** The bank's status; null where no whole answer came. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly trackId: string | null;
  /** Why no whole answer came, as TransportFailure has it; null where one did. */
  readonly reason: TransportFailure['reason'] | null;
  /** The same in words. */
  readonly failure: string | null;
  /** What the bank said in a 4xx or 5xx answer, bounded and without credentials. */
  readonly bankText: string | null;
}

/** Sends calls: in their turn, behind their operation's breaker, within their time. */
export function createAttempts({ retryShare, breaker: breakerOptions, onCall, ...options }: AttemptOptions) {
  const transport = createTransport(options);
  const breakerOf = createBreakers(breakerOptions);
  const retries = createRetryBudget(retryShare);

  /** What `then` makes of the outcome of one attempt. Errors: those of `then`. */
  function attempt<T>(
    call: PreparedCall,
    timeoutMs: number,
    cancel: Cancel | undefined,
    then: (outcome: Outcome) => T | Promise<T>,
  ): Promise<T> {
    const { operation, credentials } = call;
    const send = operation.kind === 'read' ? transport.send : transport.sendAlone;
    const started = performance.now();
    const breaker = breakerOf(operation);
    const period = breaker.admit();
    const end = (outcome: Outcome) => {
      if (period !== null) breaker.judge(period, outcome);
      onCall?.(reportOf(call, outcome, performance.now() - started));
      return then(outcome);
    };
    if (period === null) return Promise.resolve(paused()).then(end);
    const caller = callerOf(credentials);
    const identity = operation.auth === 'none' ? keyOf(credentials) : caller;
    const options = { caller, operation: operation.id, identity, timeoutMs, cancel };
    return send(wireRequestOf(call), options).then(end, (fault) => {
      breaker.judge(period, null);
      throw fault;
    });
  }

  return {
    /** Sends a call, once. Errors: TransportFailure. */
    once: (call: PreparedCall, timeoutMs: number): Promise<WireReply> =>
      attempt(call, timeoutMs, undefined, (outcome) => {
        if (outcome instanceof TransportFailure) throw outcome;
        return outcome;
      }),

    /**
     * Sends a read, and once more where the bank was away for a moment.
     * Shape:  what `then` makes of the call that was answered last, and of what came of it. Errors: those of `then`.
     */
    twice<T>(
      call: PreparedCall,
      deadline: number,
      cancel: Cancel,
      then: (call: PreparedCall, outcome: Outcome) => T,
    ): Promise<T> {
      retries.earn();
      return attempt(call, deadline - performance.now(), cancel, (outcome) => {
        if (!isWorthAnother(outcome)) return then(call, outcome);
        const waitMs = retryWaitMs();
        if (deadline - performance.now() <= waitMs || cancel.isRaised || !retries.spend())
          return then(call, outcome);
        return delay(waitMs).then(() => {
          if (deadline <= performance.now()) return then(call, outcome);
          const second = again(call);
          return attempt(second, deadline - performance.now(), cancel, (last) => then(second, last));
        });
      });
    },

    close: () => transport.close(),
  };
}

const paused = () =>
  new TransportFailure('paused', false, 'it did not answer lately, and is given time to recover');

/** No connection, a connection that broke, or a proxy's word that the bank is away: it may have been a moment. */
const isWorthAnother = (outcome: Outcome): boolean =>
  outcome instanceof TransportFailure ? outcome.reason === 'unavailable' : saysAway(outcome);

function reportOf(call: PreparedCall, outcome: Outcome, milliseconds: number): CallReport {
  const { operation, credentials, trackId } = call;
  const hasFailed = outcome instanceof TransportFailure;
  return {
    operation: operation.id,
    trackId,
    milliseconds,
    status: hasFailed ? null : outcome.status,
    reason: hasFailed ? outcome.reason : null,
    failure: hasFailed ? describe(outcome) : null,
    bankText: hasFailed || outcome.status < 400 ? null : bankText(outcome, secretsOf(credentials)),
  };
}

/** A failure and what caused it: undici's messages name hosts and ports at most. */
const describe = ({ message, cause }: TransportFailure): string =>
  cause instanceof Error ? `${message} (${cause.message})` : message;
