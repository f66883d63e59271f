import type { Operation } from '../contract/operation.ts';
import { type Outcome, saysAway, TransportFailure } from './wire.ts';

/** Why calls are paused: the bank did not answer them, or answered too slowly. */
export type BreakerReason = 'failed' | 'slow';

export interface BreakerOptions {
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
const leastCalls = 20;

/**
 * Stops calling an operation that the bank does not answer: no connection, a timeout, 502, 503 or 504; or that it answers
 * slowly, whatever the answer. One caller's mistakes (4xx), 429 and 500 do not count: they must not close the bank for
 * everybody. While it is open, calls fail at once, unsent; after a while one at a time may try.
 */
export class Breaker {
  readonly #threshold: number;
  readonly #openMs: number;
  readonly #slowMs: number;
  readonly #onChange: (isOpen: boolean, reason: BreakerReason | null) => void;
  readonly #recent = new RecentCalls();
  #state: 'closed' | 'open' | 'trying' = 'closed';
  /** Counts the changes of the state: a call of before one says nothing about what is now. */
  #period = 0;
  #openedAt = 0;

  constructor({ threshold, openMs, slowMs, onChange }: OneBreakerOptions) {
    this.#threshold = threshold;
    this.#openMs = openMs;
    this.#slowMs = slowMs;
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
    const fault = outcome === null ? null : this.#faultOf(outcome);
    if (this.#state === 'trying') {
      // A call that its caller gave up says nothing of the bank, but as a trial it did not succeed.
      if (outcome === null || outcome instanceof TransportFailure || fault !== null)
        this.#open(fault ?? 'failed');
      else this.#close();
    } else if (fault !== null) {
      this.#recent.count(fault);
      const reason = this.#recent.reasonToOpen(this.#threshold);
      if (reason !== null) this.#open(reason);
    } else if (!(outcome === null || outcome instanceof TransportFailure)) this.#recent.count(null);
  }

  /** What was wrong with the bank; null where nothing was. */
  #faultOf(outcome: Outcome): BreakerReason | null {
    if (isAway(outcome)) return 'failed';
    return !(outcome instanceof TransportFailure) && outcome.milliseconds >= this.#slowMs ? 'slow' : null;
  }

  #open(reason: BreakerReason): void {
    this.#change('open');
    this.#openedAt = performance.now();
    this.#onChange(true, reason);
  }

  #close(): void {
    this.#change('closed');
    this.#recent.forget();
    this.#onChange(false, null);
  }

  #change(state: 'closed' | 'open' | 'trying'): void {
    this.#state = state;
    this.#period++;
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
class RecentCalls {
  readonly #seconds = Array.from({ length: sampleSeconds }, () => ({
    second: longAgo,
    calls: 0,
    failed: 0,
    slow: 0,
  }));

  count(fault: BreakerReason | null): void {
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
    if (calls < leastCalls || failed + slow < threshold * calls) return null;
    return slow > failed ? 'slow' : 'failed';
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
export function createBreakers({ threshold, openMs, slowMs, onChange }: BreakerOptions) {
  const breakers = new Map<string, Breaker>();
  // No share is infinite.
  const least = threshold === 0 ? Number.POSITIVE_INFINITY : threshold;
  return (operation: Operation): Breaker => {
    let breaker = breakers.get(operation.id);
    if (breaker === undefined) {
      breaker = new Breaker({
        threshold: least,
        openMs,
        slowMs: slowMs?.[operation.kind] ?? Number.POSITIVE_INFINITY,
        onChange: (isOpen, reason) => onChange?.(operation.id, isOpen, reason),
      });
      breakers.set(operation.id, breaker);
    }
    return breaker;
  };
}
