import type { Operation } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { gatewayErrors, type HttpResult, TransportFailure } from './http-message.ts';

/** Why an operation's calls are paused: too many failed, or too many were slow. */
export const breakerReasons = ['failed', 'slow'] as const;
export type BreakerReason = (typeof breakerReasons)[number];

export interface CircuitBreakerOptions {
  /** The share of failed and slow calls that opens an operation's breaker, above 0 and up to 1; 0 for no breaker. */
  readonly threshold: number;
  /** The time from which an answer counts as slow, in milliseconds, by the kind of operation. If omitted, no answer is slow. */
  readonly slowMs?: Readonly<Record<Operation['kind'], number>>;
  /** The time for which the breaker stays open before a trial call, in milliseconds. */
  readonly openMs?: number | undefined;
  /** Called when an operation's breaker opens (with the reason) or closes (with null). */
  readonly onChange?:
    | ((operation: string, isOpen: boolean, reason: BreakerReason | null) => void)
    | undefined;
}

const defaultOpenMs = 10_000;
/** The length of the sliding window in seconds, and the minimum number of calls in it before the breaker may open. */
const sampleSeconds = 10;
const minCalls = 20;

/**
 * A circuit breaker for one operation. It opens if too many calls fail or are slow. A call fails if there is no connection, if
 * it times out, or if its status is one of `gatewayErrors`. Other statuses do not count as failures, nor do calls that bankql
 * itself refused or gave up. While the breaker is open, calls fail at once and are not sent. After `openMs`, one trial call at
 * a time is let through.
 */
export class CircuitBreaker {
  readonly #operation: Operation;
  readonly #options: CircuitBreakerOptions;
  readonly #slowMs: number;
  /** The counts for each second of the window in which a call ended. */
  #seconds: { readonly number: number; calls: number; failed: number; slow: number }[] = [];
  #state: 'closed' | 'open' | 'half-open' = 'closed';
  /** Incremented with each change of state. The outcome of a call that began in an earlier generation is ignored. */
  #generation = 0;
  #openedAt = 0;

  constructor(operation: Operation, options: CircuitBreakerOptions) {
    this.#operation = operation;
    this.#options = options;
    this.#slowMs = options.slowMs?.[operation.kind] ?? Number.POSITIVE_INFINITY;
  }

  /** Lets a call through. Returns the generation, to be passed to `record` when the call ends; null if calls are paused. */
  tryAcquire(): number | null {
    if (this.#state === 'closed') return this.#generation;
    const { openMs = defaultOpenMs } = this.#options;
    if (this.#state === 'half-open' || performance.now() < this.#openedAt + openMs) return null;
    this.#change('half-open');
    return this.#generation;
  }

  /** Records the outcome of a call that was let through. `endedAt`: the time of its end. */
  record(generation: number, result: HttpResult, endedAt: number): void {
    if (generation !== this.#generation) return;
    const fault = this.#faultOf(result);
    const saysNothing = fault === null && result instanceof TransportFailure;
    if (this.#state === 'half-open') {
      // If the result of the trial call says nothing about the bank, the next call is the trial.
      if (saysNothing) this.#change('open');
      else if (fault !== null) this.#open(fault);
      else this.#close();
      return;
    }
    if (saysNothing) return;
    const now = Math.floor(endedAt / 1000);
    let second = this.#seconds.at(-1);
    if (second?.number !== now) {
      second = { number: now, calls: 0, failed: 0, slow: 0 };
      this.#seconds = [...this.#seconds.filter(({ number }) => number > now - sampleSeconds), second];
    }
    second.calls++;
    if (fault === null) return;
    second[fault]++;
    this.#judge();
  }

  /** Whether a call failed or was slow; null if neither. */
  #faultOf(result: HttpResult): BreakerReason | null {
    if (result instanceof TransportFailure)
      return result.reason === 'unavailable' || result.reason === 'timeout' ? 'failed' : null;
    if (gatewayErrors.has(result.status)) return 'failed';
    return result.milliseconds >= this.#slowMs ? 'slow' : null;
  }

  /** Opens the breaker if too many calls of the window failed or were slow. */
  #judge(): void {
    const sum = (what: 'calls' | BreakerReason) =>
      this.#seconds.reduce((total, each) => total + each[what], 0);
    const [calls, failed, slow] = [sum('calls'), sum('failed'), sum('slow')];
    if (calls < minCalls || failed + slow < this.#options.threshold * calls) return;
    this.#open(slow > failed ? 'slow' : 'failed');
  }

  #open(reason: BreakerReason): void {
    this.#change('open');
    this.#openedAt = performance.now();
    this.#options.onChange?.(this.#operation.id, true, reason);
  }

  #close(): void {
    this.#change('closed');
    this.#seconds = [];
    this.#options.onChange?.(this.#operation.id, false, null);
  }

  #change(state: 'closed' | 'open' | 'half-open'): void {
    this.#state = state;
    this.#generation++;
  }
}

/** The breakers of the bank's operations; none if breakers are switched off. */
export const createBreakers = (options: CircuitBreakerOptions): ReadonlyMap<Operation, CircuitBreaker> =>
  new Map(
    options.threshold === 0
      ? []
      : Object.values(operations).map((operation) => [operation, new CircuitBreaker(operation, options)]),
  );

/** The result of a call that a breaker does not let through. */
export const paused = (): TransportFailure =>
  new TransportFailure(
    'paused',
    false,
    'most calls failed or were slow lately, and it is given time to recover',
  );
