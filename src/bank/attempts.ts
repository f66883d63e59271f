import { type BreakerOptions, createBreakers } from './breaker.ts';
import { again, type PreparedCall, wireRequestOf } from './call.ts';
import type { Cancel } from './cancel.ts';
import { callerOf, secretsOf } from './credentials.ts';
import { bankText } from './failure.ts';
import { createRetryBudget, retryWaitMs } from './retry.ts';
import { createTransport, type TransportOptions } from './transport.ts';
import { createTurnstile } from './turnstile.ts';
import { saysAway, TransportFailure, type WireReply } from './wire.ts';

export interface AttemptOptions extends TransportOptions {
  /** How long a call waits for its turn among `connections`, in milliseconds. */
  readonly connectionWaitMs: number;
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

/** What came of an attempt: a failure is a value here. */
type Outcome = WireReply | TransportFailure;

/** Sends calls: in their turn, behind their operation's breaker, within their time. */
export function createAttempts(options: AttemptOptions) {
  const transport = createTransport(options);
  const places = { places: options.connections, waitMs: options.connectionWaitMs };
  const turnstiles = { read: createTurnstile(places), write: createTurnstile(places) };
  const breakerOf = createBreakers(options.breaker);
  const retries = createRetryBudget(options.retryShare);

  async function attempt(call: PreparedCall, timeoutMs: number, cancel?: Cancel): Promise<Outcome> {
    const { operation } = call;
    const isRead = operation.kind === 'read';
    const turnstile = turnstiles[isRead ? 'read' : 'write'];
    const breaker = breakerOf(operation);
    const started = performance.now();
    const left = () => started + timeoutMs - performance.now();
    const period = breaker.admit();
    let outcome: Outcome | null = null;
    try {
      if (period === null) throw paused();
      if (!turnstile.tryEnter()) await turnstile.enter(callerOf(call.credentials), left(), cancel);
      try {
        const limits = { timeoutMs: left(), cancel, ownConnection: !isRead };
        outcome = await transport.exchange(wireRequestOf(call), limits);
      } finally {
        turnstile.leave();
      }
    } catch (error) {
      // Anything else is a fault of ours, and goes on.
      if (!(error instanceof TransportFailure)) throw error;
      outcome = error;
    } finally {
      if (period !== null) breaker.judge(period, outcome);
    }
    options.onCall?.(reportOf(call, outcome, performance.now() - started));
    return outcome;
  }

  return {
    /** Sends a call, once. Errors: TransportFailure. */
    async once(call: PreparedCall, timeoutMs: number): Promise<WireReply> {
      const outcome = await attempt(call, timeoutMs);
      if (outcome instanceof TransportFailure) throw outcome;
      return outcome;
    },

    /** Sends a read, and once more where the bank was away for a moment; with the call that was answered last. */
    async twice(
      call: PreparedCall,
      deadline: number,
      cancel?: Cancel,
    ): Promise<{ readonly call: PreparedCall; readonly outcome: Outcome }> {
      retries.earn();
      const outcome = await attempt(call, deadline - performance.now(), cancel);
      if (!isWorthAnother(outcome)) return { call, outcome };
      const waitMs = retryWaitMs();
      if (deadline - performance.now() <= waitMs || cancel?.isRaised || !retries.spend())
        return { call, outcome };
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (deadline <= performance.now()) return { call, outcome };
      const second = again(call);
      return { call: second, outcome: await attempt(second, deadline - performance.now(), cancel) };
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
