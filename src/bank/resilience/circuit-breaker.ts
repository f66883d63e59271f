import type { Operation } from '../../contract/operation.ts';
import { type HttpResult, isGatewayError, TransportFailure } from '../http/http-message.ts';

/** Why calls are paused: the bank did not answer them, or answered too slowly. */
export type BreakerReason = 'failed' | 'slow';

export interface CircuitBreakerOptions {
  /** The share of failed and slow calls that opens an operation's breaker, between 0 and 1; 0 for no breaker. */
  readonly threshold: number;
  /** From when on an answer is slow, in milliseconds, by the kind of the operation; never where it is left out. */
  readonly slowMs?: Readonly<Record<Operation['kind'], number>>;
  /** How long it stays open before one call may try, in milliseconds. */
  readonly openMs: number;
  /** Is told when an operation's breaker opens, and why; or closes, for which the reason is null. */
  readonly onChange?:
    | ((operation: string, isOpen: boolean, reason: BreakerReason | null) => void)
    | undefined;
}

/** Over how many seconds the share is taken, and how many calls it takes at least to judge by. */
const sampleSeconds = 10;
const minCalls = 20;

/**
 * Stops calling an operation that the bank does not answer: no connection, a timeout, 502, 503 or 504; or that it answers
 * slowly, whatever the answer. One caller's mistakes (4xx), 429 and 500 do not count: they must not close the bank for
 * everybody. While it is open, calls fail at once, unsent; after a while one at a time may try.
 */
export class CircuitBreaker {
  readonly #threshold: number;
  readonly #openMs: number;
  readonly #slowMs: number;
  readonly #onChange: (isOpen: boolean, reason: BreakerReason | null) => void;
  readonly #window = new SlidingWindow();
  #state: 'closed' | 'open' | 'half-open' = 'closed';
  /** Counts the changes of the state: a call of before one says nothing about what is now. */
  #generation = 0;
  #openedAt = 0;

  constructor({ threshold, openMs, slowMs, onChange }: OneBreakerOptions) {
    this.#threshold = threshold;
    this.#openMs = openMs;
    this.#slowMs = slowMs;
    this.#onChange = onChange;
  }

  /** Lets a call through, which is judged at its end with what is answered here; null where calls are paused. */
  tryAcquire(): number | null {
    if (this.#state === 'closed') return this.#generation;
    if (this.#state === 'half-open' || performance.now() < this.#openedAt + this.#openMs) return null;
    this.#change('half-open');
    return this.#generation;
  }

  /** What came of a call that was admitted; null where it broke on the way. */
  record(generation: number, result: HttpResult | null): void {
    if (generation !== this.#generation) return;
    const fault = result === null ? null : this.#faultOf(result);
    if (this.#state === 'half-open') {
      // A call that its caller gave up says nothing of the bank, but as a trial it did not succeed.
      if (result === null || result instanceof TransportFailure || fault !== null)
        this.#open(fault ?? 'failed');
      else this.#close();
    } else if (fault !== null) {
      this.#window.add(fault);
      const reason = this.#window.reasonToOpen(this.#threshold);
      if (reason !== null) this.#open(reason);
    } else if (!(result === null || result instanceof TransportFailure)) this.#window.add(null);
  }

  /** What was wrong with the bank; null where nothing was. */
  #faultOf(result: HttpResult): BreakerReason | null {
    if (countsAsFailure(result)) return 'failed';
    return !(result instanceof TransportFailure) && result.milliseconds >= this.#slowMs ? 'slow' : null;
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

interface OneBreakerOptions {
  readonly threshold: number;
  readonly openMs: number;
  readonly slowMs: number;
  readonly onChange: (isOpen: boolean, reason: BreakerReason | null) => void;
}

/** How many of the calls of the last seconds failed, or were slow. */
class SlidingWindow {
  readonly #seconds = Array.from({ length: sampleSeconds }, () => ({
    second: longAgo,
    calls: 0,
    failed: 0,
    slow: 0,
  }));

  add(fault: BreakerReason | null): void {
    const second = secondNow();
    const slot = this.#seconds[second % sampleSeconds];
    if (slot === undefined) return;
    if (slot.second !== second) Object.assign(slot, { second, calls: 0, failed: 0, slow: 0 });
    slot.calls++;
    if (fault !== null) slot[fault]++;
  }

  /** What most of the bad calls were, where their share is the threshold or more; else null. */
  reasonToOpen(threshold: number): BreakerReason | null {
    const since = secondNow() - sampleSeconds;
    let calls = 0;
    let failed = 0;
    let slow = 0;
    for (const slot of this.#seconds) {
      if (slot.second <= since) continue;
      calls += slot.calls;
      failed += slot.failed;
      slow += slot.slow;
    }
    if (calls < minCalls || failed + slow < threshold * calls) return null;
    return slow > failed ? 'slow' : 'failed';
  }

  reset(): void {
    for (const slot of this.#seconds) slot.second = longAgo;
  }
}

const secondNow = () => Math.floor(performance.now() / 1000);

const countsAsFailure = (result: HttpResult): boolean =>
  result instanceof TransportFailure
    ? result.reason === 'unavailable' || result.reason === 'timeout'
    : isGatewayError(result);

/** The breakers of a bank: one for each operation, made when it is called first. */
export function createCircuitBreakers({ threshold, openMs, slowMs, onChange }: CircuitBreakerOptions) {
  const breakers = new Map<string, CircuitBreaker>();
  // No share is infinite.
  const min = threshold === 0 ? Number.POSITIVE_INFINITY : threshold;
  return (operation: Operation): CircuitBreaker => {
    let breaker = breakers.get(operation.id);
    if (breaker === undefined) {
      breaker = new CircuitBreaker({
        threshold: min,
        openMs,
        slowMs: slowMs?.[operation.kind] ?? Number.POSITIVE_INFINITY,
        onChange: (isOpen, reason) => onChange?.(operation.id, isOpen, reason),
      });
      breakers.set(operation.id, breaker);
    }
    return breaker;
  };
}
