import { LinkedList, type ListNode } from '../linked-list.ts';

export interface BulkheadOptions {
  /** How many connections one operation may hold while others wait. */
  readonly share: number;
  /** How many connections an operation has to leave free for the others, by its pressure: see Bulkhead. */
  readonly reserves: readonly [none: number, one: number, both: number];
  /** Up to `quickMs` a call is quick, and beyond `slowMs` it is slow, however long others take; in milliseconds. */
  readonly quickMs: number;
  readonly slowMs: number;
}

/** A held connection: since when, in milliseconds of performance.now(). */
export type Hold = ListNode<number>;

/** An operation is compared with those that were called within this time, in milliseconds. */
const recentMs = 10_000;
/** Between `quickMs` and `slowMs`, an operation is slow if it takes this many times as long as the others. */
const slowFactor = 4;

/**
 * How many connections the calls of one REST operation hold, and how many it leaves free for the others:
 *
 * |                 | quick     | slow      |
 * | --------------- | --------- | --------- |
 * | below its share | none      | an eighth |
 * | at its share    | an eighth | a quarter |
 *
 * (with a share of one half). Connections are therefore not idle while calls wait for them. The reserve is for calls of
 * other operations, and for the time until an operation is found to be slow: before that it counts as quick. When
 * connections are scarce, operations that are quick and below their share go first.
 *
 * Slow means slow compared with the other operations: if the bank is equally slow for everything, nothing is held back,
 * nor is an operation when no other one was called lately.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  readonly #peers: readonly Bulkhead[];
  /** Oldest first. */
  readonly #holds = new LinkedList<number>();
  #held = 0;
  #lastUse = Number.NEGATIVE_INFINITY;
  /** How long the last call took, in milliseconds; 0 before the first. */
  #lastMs = 0;
  #averageMs: number | null = null;

  /** `peers` are the bulkheads of all operations that share the connections; this one may be among them. */
  constructor(options: BulkheadOptions, peers: readonly Bulkhead[]) {
    this.#options = options;
    this.#peers = peers;
  }

  /** How many connections its calls hold. */
  get held(): number {
    return this.#held;
  }

  /** The operation is called, whether it gets a connection or not. */
  noteUse(now: number): void {
    this.#lastUse = now;
  }

  hold(now: number): Hold {
    this.#held++;
    return this.#holds.append(now);
  }

  release(hold: Hold, now: number): void {
    this.#held--;
    this.#holds.remove(hold);
    this.#lastMs = now - hold.value;
    this.#averageMs = this.#averageMs === null ? this.#lastMs : 0.75 * this.#averageMs + 0.25 * this.#lastMs;
  }

  /** 0 if it is quick and below its share, 1 if one of these is false, 2 if both are. */
  pressure(now: number): 0 | 1 | 2 {
    const isAtShare = this.#held >= this.#options.share;
    const isSlow = this.#isSlow(now);
    if (isAtShare && isSlow) return 2;
    return isAtShare || isSlow ? 1 : 0;
  }

  /** Whether it may take a connection when this many are free. */
  admits(pressure: 0 | 1 | 2, free: number): boolean {
    return free > this.#options.reserves[pressure];
  }

  #isSlow(now: number): boolean {
    const oldest = this.#holds.first;
    const longestMs = oldest === null ? this.#lastMs : Math.max(this.#lastMs, now - oldest.value);
    if (longestMs <= this.#options.quickMs) return false;
    const othersMs = this.#othersMs(now);
    return othersMs !== null && longestMs > Math.min(this.#options.slowMs, slowFactor * othersMs);
  }

  /**
   * How long the other operations take: the median of their averages, the lower of two; null if none was called lately.
   */
  #othersMs(now: number): number | null {
    const averages: number[] = [];
    for (const peer of this.#peers)
      if (peer !== this && now - peer.#lastUse <= recentMs) averages.push(peer.#averageMs ?? 0);
    averages.sort((a, b) => a - b);
    return averages[(averages.length - 1) >> 1] ?? null;
  }
}
