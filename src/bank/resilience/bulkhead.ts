import { LinkedList, type ListNode } from '../linked-list.ts';

export interface BulkheadOptions {
  /** How many connections one operation may hold while others wait. */
  readonly share: number;
  /** How many connections are left free for operations that are quick and within their share. */
  readonly reserve: number;
  /** How long a quick call holds its connection at most, in milliseconds. */
  readonly quickMs: number;
}

/** One connection that is held: since when, in milliseconds of performance.now(). */
export type Hold = ListNode<number>;

/**
 * How many connections the calls of one REST operation hold, and how many have to be free so that it gets one more:
 *
 * |                 | quick            | slow             |
 * | --------------- | ---------------- | ---------------- |
 * | below its share | one              | one, and reserve |
 * | at its share    | one, and reserve | none is enough   |
 *
 * What is quick may go beyond its share, since it gives connections back before those who then come have waited in vain.
 * So may what is slow, where no other operation was called lately. The reserve is for the moment in which that changes, or
 * in which an operation becomes slow: until then, it takes all but that.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  /** Oldest first. */
  readonly #holds = new LinkedList<number>();
  #held = 0;
  #wasSlow = false;

  constructor(options: BulkheadOptions) {
    this.#options = options;
  }

  hold(now: number): Hold {
    this.#held++;
    return this.#holds.append(now);
  }

  release(hold: Hold, now: number): void {
    this.#held--;
    this.#holds.remove(hold);
    this.#wasSlow = this.#isSlowSince(hold.value, now);
  }

  /**
   * 0 where it is quick and below its share, 1 where one of these is not so, 2 where it is neither. What is alone, with no
   * other operation called lately, is slow for nobody.
   */
  pressure(now: number, isAlone: boolean): 0 | 1 | 2 {
    const isAtShare = this.#held >= this.#options.share;
    const oldest = this.#holds.first;
    const isSlow = !isAlone && (this.#wasSlow || (oldest !== null && this.#isSlowSince(oldest.value, now)));
    if (isAtShare && isSlow) return 2;
    return isAtShare || isSlow ? 1 : 0;
  }

  /** Whether it gets one of so many free connections. */
  admits(pressure: 0 | 1 | 2, free: number): boolean {
    return pressure < 2 && free > (pressure === 0 ? 0 : this.#options.reserve);
  }

  #isSlowSince(since: number, now: number): boolean {
    return now - since > this.#options.quickMs;
  }
}
