import type { Operation } from '../contract/operation.ts';
import { type Outcome, saysAway, TransportFailure } from './wire.ts';

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

/**
 * Stops calling an operation that the bank does not answer: no connection, a timeout, 502, 503 or 504. One caller's
 * mistakes (4xx), 429 and 500 do not count: they must not close the bank for everybody. While it is open, calls fail
 * at once, unsent; after a while one at a time may try.
 */
export class Breaker {
  readonly #threshold: number;
  readonly #openMs: number;
  readonly #onChange: (isOpen: boolean) => void;
  readonly #recent = new RecentCalls();
  #state: 'closed' | 'open' | 'trying' = 'closed';
  /** Counts the changes of the state: a call of before one says nothing about what is now. */
  #period = 0;
  #openedAt = 0;

  constructor(threshold: number, openMs: number, onChange: (isOpen: boolean) => void) {
    this.#threshold = threshold;
    this.#openMs = openMs;
    this.#onChange = onChange;
  }

  /** Lets a call through, which is judged at its end with what is answered here; null where calls are paused. */
  admit(): number | null {
    if (this.#state === 'closed') return this.#period;
    if (this.#state === 'trying' || performance.now() < this.#openedAt + this.#openMs) return null;
    this.#change('trying');
    return this.#period;
  }

  /** What came of a call that was admitted; null where it broke on the way. */
  judge(period: number, outcome: Outcome | null): void {
    if (period !== this.#period) return;
    if (this.#state === 'trying') {
      // A call that its caller gave up says nothing of the bank, but as a trial it did not succeed.
      if (outcome === null || outcome instanceof TransportFailure || saysAway(outcome)) this.#open();
      else this.#close();
    } else if (outcome !== null && isAway(outcome)) {
      this.#recent.count(true);
      if (this.#recent.areBad(this.#threshold)) this.#open();
    } else if (!(outcome === null || outcome instanceof TransportFailure)) this.#recent.count(false);
  }

  #open(): void {
    this.#change('open');
    this.#openedAt = performance.now();
    this.#onChange(true);
  }

  #close(): void {
    this.#change('closed');
    this.#recent.forget();
    this.#onChange(false);
  }

  #change(state: 'closed' | 'open' | 'trying'): void {
    this.#state = state;
    this.#period++;
  }
}

const longAgo = Number.NEGATIVE_INFINITY;

/** How many of the calls of the last seconds failed. */
class RecentCalls {
  readonly #seconds = Array.from({ length: sampleSeconds }, () => ({
    second: longAgo,
    calls: 0,
    failures: 0,
  }));

  count(hasFailed: boolean): void {
    const second = secondNow();
    const slot = this.#seconds[second % sampleSeconds];
    if (slot === undefined) return;
    if (slot.second !== second) Object.assign(slot, { second, calls: 0, failures: 0 });
    slot.calls++;
    if (hasFailed) slot.failures++;
  }

  areBad(threshold: number): boolean {
    const since = secondNow() - sampleSeconds;
    let calls = 0;
    let failures = 0;
    for (const slot of this.#seconds) {
      if (slot.second <= since) continue;
      calls += slot.calls;
      failures += slot.failures;
    }
    return calls >= leastCalls && failures >= threshold * calls;
  }

  forget(): void {
    for (const slot of this.#seconds) slot.second = longAgo;
  }
}

const secondNow = () => Math.floor(performance.now() / 1000);

const isAway = (outcome: Outcome): boolean =>
  outcome instanceof TransportFailure
    ? outcome.reason === 'unavailable' || outcome.reason === 'timeout'
    : saysAway(outcome);

/** The breakers of a bank: one for each operation, made when it is called first. */
export function createBreakers({ threshold, openMs, onChange }: BreakerOptions) {
  const breakers = new Map<string, Breaker>();
  // No share is infinite.
  const least = threshold === 0 ? Number.POSITIVE_INFINITY : threshold;
  return (operation: Operation): Breaker => {
    let breaker = breakers.get(operation.id);
    if (breaker === undefined) {
      breaker = new Breaker(least, openMs, (isOpen) => onChange?.(operation.id, isOpen));
      breakers.set(operation.id, breaker);
    }
    return breaker;
  };
}
