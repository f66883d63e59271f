import type { Operation } from '../contract/operation.ts';
import { getOrMake } from '../get-or-make.ts';
import type { Send } from './exchange.ts';
import { gatewayErrors, type HttpResult, TransportFailure } from './http-message.ts';

/** Why calls are paused: the bank did not answer them, or answered too slowly. */
export const breakerReasons = ['failed', 'slow'] as const;
export type BreakerReason = (typeof breakerReasons)[number];

export interface CircuitBreakerOptions {
  /** The share of failed and slow calls that opens an operation's breaker, above 0 and up to 1; 0 for no breaker. */
  readonly threshold: number;
  /** From this time on an answer is slow, in milliseconds, by the kind of the operation; never if omitted. */
  readonly slowMs?: Readonly<Record<Operation['kind'], number>>;
  /** How long it stays open before a trial call is let through, in milliseconds. */
  readonly openMs: number;
  /** Called when an operation's breaker opens, with the reason, or closes, with null. */
  readonly onChange?:
    | ((operation: string, isOpen: boolean, reason: BreakerReason | null) => void)
    | undefined;
}

/** The length of the sliding window in seconds, and the minimum number of calls in it. */
const sampleSeconds = 10;
const minCalls = 20;

/**
 * A circuit breaker for one operation. It opens if too many calls fail (no connection, a timeout, 502, 503 or 504) or
 * are answered slowly. One caller's mistakes (4xx), 429 and 500 do not count: they must not cut off everybody. For the same
 * reason it stays closed while the callers with bad calls are no more than those with only good ones: one caller may have an
 * account that the bank cannot serve. While it is open, calls fail at once, unsent; after a while one trial call at a time is let through.
 */
export class CircuitBreaker {
  readonly #threshold: number;
  readonly #openMs: number;
  readonly #slowMs: number;
  readonly #onChange: (isOpen: boolean, reason: BreakerReason | null) => void;
  readonly #window = new SlidingWindow();
  #state: 'closed' | 'open' | 'half-open' = 'closed';
  /** Counts state changes: the outcome of a call that began before one is ignored. */
  #generation = 0;
  #openedAt = 0;

  constructor({ id, kind }: Operation, { threshold, openMs, slowMs, onChange }: CircuitBreakerOptions) {
    this.#threshold = threshold;
    this.#openMs = openMs;
    this.#slowMs = slowMs?.[kind] ?? Number.POSITIVE_INFINITY;
    this.#onChange = (isOpen, reason) => onChange?.(id, isOpen, reason);
  }

  /** Lets a call through and returns the generation to pass to `record` at its end; null if calls are paused. */
  tryAcquire(): number | null {
    if (this.#state === 'closed') return this.#generation;
    if (this.#state === 'half-open' || performance.now() < this.#openedAt + this.#openMs) return null;
    this.#change('half-open');
    return this.#generation;
  }

  /** Records the outcome of a call that was let through; `caller` is its caller's name. */
  record(generation: number, result: HttpResult, caller: string): void {
    if (generation !== this.#generation) return;
    const fault = this.#faultOf(result);
    if (this.#state === 'half-open') {
      // A call that its caller cancelled says nothing about the bank, but as a trial it did not succeed.
      if (result instanceof TransportFailure || fault !== null) this.#open(fault ?? 'failed');
      else this.#close();
      return;
    }
    if (fault === null && result instanceof TransportFailure) return;
    this.#window.add(fault, caller);
    if (fault === null) return;
    const reason = this.#window.reasonToOpen(this.#threshold);
    if (reason !== null) this.#open(reason);
  }

  /** How the bank failed; null if it did not. */
  #faultOf(result: HttpResult): BreakerReason | null {
    if (result instanceof TransportFailure)
      return result.reason === 'unavailable' || result.reason === 'timeout' ? 'failed' : null;
    if (gatewayErrors.has(result.status)) return 'failed';
    return result.milliseconds >= this.#slowMs ? 'slow' : null;
  }

  #open(reason: BreakerReason): void {
    this.#change('open');
    this.#openedAt = performance.now();
    this.#onChange(true, reason);
  }

  #close(): void {
    this.#change('closed');
    this.#window.reset();
    this.#onChange(false, null);
  }

  #change(state: 'closed' | 'open' | 'half-open'): void {
    this.#state = state;
    this.#generation++;
  }
}

const longAgo = Number.NEGATIVE_INFINITY;

/** What is counted of one second. */
class Second {
  calls = 0;
  failed = 0;
  slow = 0;
  /** The caller of the last good call. */
  good: string | null = null;
  /** The callers of bad calls, at most one more than there are good callers in the window. */
  readonly bad = new Set<string>();
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

/** Counts the failed and slow calls of the last seconds. */
class SlidingWindow {
  #seconds = Array.from({ length: sampleSeconds }, () => new Second(longAgo));

  add(fault: BreakerReason | null, caller: string): void {
    const now = Math.floor(performance.now() / 1000);
    const at = now % sampleSeconds;
    let second = this.#seconds[at];
    if (second?.number !== now) {
      second = new Second(now);
      this.#seconds[at] = second;
    }
    second.calls++;
    if (fault === null) {
      second.good = caller;
      return;
    }
    second[fault]++;
    if (second.bad.size <= sampleSeconds) second.bad.add(caller);
  }

  /**
   * The more frequent reason of the bad calls, if their share is the threshold or more, and more callers have bad calls than only
   * good ones; otherwise null.
   */
  reasonToOpen(threshold: number): BreakerReason | null {
    const since = Math.floor(performance.now() / 1000) - sampleSeconds;
    let calls = 0;
    let failed = 0;
    let slow = 0;
    const recent = this.#seconds.filter(({ number }) => number > since);
    for (const second of recent) {
      calls += second.calls;
      failed += second.failed;
      slow += second.slow;
    }
    if (calls < minCalls || failed + slow < threshold * calls) return null;
    const bad = new Set(recent.flatMap((second) => [...second.bad]));
    const good = new Set(
      recent.map((second) => second.good).filter((name) => name !== null && !bad.has(name)),
    );
    if (bad.size <= good.size) return null;
    return slow > failed ? 'slow' : 'failed';
  }

  reset(): void {
    this.#seconds = this.#seconds.map(() => new Second(longAgo));
  }
}

/** Sends calls while their bank operation's breaker lets them through. */
export function breaker(options: CircuitBreakerOptions, next: Send): Send {
  if (options.threshold === 0) return next;
  const breakers = new Map<Operation, CircuitBreaker>();
  const create = (operation: Operation) => new CircuitBreaker(operation, options);
  return (call, limits, onResult) => {
    const breaker = breakers.get(call.operation) ?? getOrMake(breakers, call.operation, create);
    const generation = breaker.tryAcquire();
    if (generation === null) {
      const message = 'most calls failed or were slow lately, and it is given time to recover';
      return onResult(new TransportFailure('paused', false, message), call);
    }
    next(call, limits, (result, sent) => {
      breaker.record(generation, result, call.caller.name);
      onResult(result, sent);
    });
  };
}
