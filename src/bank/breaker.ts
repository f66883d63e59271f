import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  circuitBreaker,
  handleWhen,
  type IBreaker,
} from 'cockatiel';
import type { Operation } from '../contract/operation.ts';
import { saysAway, TransportFailure, type WireReply } from './transport.ts';

export interface BreakerOptions {
  /** The share of failed calls that opens an operation's breaker, between 0 and 1; 0 for no breaker. */
  readonly threshold: number;
  /** How long it stays open before one call may try, in milliseconds. */
  readonly openMs: number;
  /** Is told when an operation's breaker opens or closes. */
  readonly onChange?: ((operation: string, isOpen: boolean) => void) | undefined;
}

/** Over how many seconds the share is taken, and how many calls it takes at least to judge by. */
const sampleSeconds = 10;
const leastCalls = 20;

/** Counts calls second by second. cockatiel's SamplingBreaker keeps old windows while few calls are made. */
class RecentCalls implements IBreaker {
  state: unknown = null;
  readonly #threshold: number;
  #seconds: { readonly second: number; calls: number; failures: number }[] = [];

  constructor(threshold: number) {
    this.#threshold = threshold;
  }

  success(state: CircuitState): void {
    if (state === CircuitState.HalfOpen) this.#seconds = [];
    this.#now().calls++;
  }

  failure(state: CircuitState): boolean {
    const now = this.#now();
    now.calls++;
    now.failures++;
    if (state !== CircuitState.Closed) return true;
    const calls = this.#seconds.reduce((sum, { calls }) => sum + calls, 0);
    const failures = this.#seconds.reduce((sum, { failures }) => sum + failures, 0);
    return calls >= leastCalls && failures >= this.#threshold * calls;
  }

  #now() {
    const second = Math.floor(performance.now() / 1000);
    this.#seconds = this.#seconds.filter((one) => one.second > second - sampleSeconds);
    const last = this.#seconds.at(-1);
    if (last?.second === second) return last;
    const next = { second, calls: 0, failures: 0 };
    this.#seconds.push(next);
    return next;
  }
}

/** Carries such an answer through the breaker, which counts what is thrown. */
class Away extends Error {
  readonly reply: WireReply;

  constructor(reply: WireReply) {
    super('the bank is away');
    this.reply = reply;
  }
}

/**
 * Stops calling an operation that the bank does not answer: no connection, a timeout, 502, 503 or 504. One caller's
 * mistakes (4xx), 429 and 500 do not count: they must not close the bank for everybody. While it is open, calls fail
 * at once, unsent; after a while one at a time may try.
 */
export function createBreakers({ threshold, openMs, onChange }: BreakerOptions) {
  const breakers = new Map<string, CircuitBreakerPolicy>();

  function breakerOf(operation: Operation): CircuitBreakerPolicy {
    const known = breakers.get(operation.id);
    if (known !== undefined) return known;
    const breaker: CircuitBreakerPolicy = circuitBreaker(
      // A call that its caller gave up says nothing of the bank, but as a trial it did not succeed.
      handleWhen((error: unknown) => isAway(error) || breaker.state === CircuitState.HalfOpen),
      {
        halfOpenAfter: openMs,
        breaker: new RecentCalls(threshold),
      },
    );
    breaker.onBreak(() => onChange?.(operation.id, true));
    breaker.onReset(() => onChange?.(operation.id, false));
    breakers.set(operation.id, breaker);
    return breaker;
  }

  return {
    /** Runs an attempt behind its operation's breaker. Errors: those of the attempt; TransportFailure `paused`. */
    async guard(operation: Operation, attempt: () => Promise<WireReply>): Promise<WireReply> {
      if (threshold === 0) return attempt();
      const breaker = breakerOf(operation);
      // cockatiel would let others wait for the end of the one that tries.
      if (breaker.state === CircuitState.HalfOpen) throw paused();
      try {
        return await breaker.execute(async () => {
          const reply = await attempt();
          if (saysAway(reply)) throw new Away(reply);
          return reply;
        });
      } catch (error) {
        if (error instanceof Away) return error.reply;
        throw error instanceof BrokenCircuitError ? paused() : error;
      }
    },
  };
}

const isAway = (error: unknown): boolean =>
  error instanceof Away ||
  (error instanceof TransportFailure && (error.reason === 'unavailable' || error.reason === 'timeout'));

const paused = () =>
  new TransportFailure('paused', false, 'it did not answer lately, and is given time to recover');
