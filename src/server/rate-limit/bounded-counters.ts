import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Counters, RateLimit } from './rate-limiter.ts';

/** How many callers have a counter of their own: about 10 MB. */
export const maxOwnCounters = 50_000;
/** How many budgets further callers share when all of those are taken. */
export const maxSharedCounters = 1000;

/** What was spent in a window, and when it ends, in milliseconds of performance.now(). */
interface Count {
  spent: number;
  readonly endsAt: number;
}

/**
 * Counts in memory, with a bounded number of counters, because callers can invent names. When all are taken, new
 * callers share budgets of the usual size, so that no count is forgotten and nobody gets more. There are many shared
 * budgets, assigned by a secret of the process, so that nobody can exhaust a particular caller's budget without
 * exhausting them all. A caller stays with a shared budget until its window ends.
 */
export class BoundedCounters implements Counters {
  // All windows have the same length, so insertion order is also the order of their ends.
  readonly #own = new Map<string, Count>();
  readonly #shared = new Map<string, Count>();
  readonly #secret = randomBytes(32);
  readonly #limit: RateLimit;

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  /** How many counters are in use. */
  get size(): number {
    return this.#own.size + this.#shared.size;
  }

  /** Takes one point. Errors: a RateLimiterRes if none is left; nothing is taken then. */
  async consume(owner: string): Promise<RateLimiterRes> {
    const now = performance.now();
    const count = this.#find(owner, now) ?? this.#begin(owner, now);
    if (count.spent >= this.#limit.calls) throw this.#stateOf(count, now);
    count.spent++;
    return this.#stateOf(count, now);
  }

  /** Gives one point back. */
  async reward(owner: string): Promise<RateLimiterRes> {
    const now = performance.now();
    const count = this.#find(owner, now) ?? { spent: 1, endsAt: now };
    count.spent = Math.max(0, count.spent - 1);
    return this.#stateOf(count, now);
  }

  async get(owner: string): Promise<RateLimiterRes | null> {
    const now = performance.now();
    const count = this.#find(owner, now);
    return count === null ? null : this.#stateOf(count, now);
  }

  #find(owner: string, now: number): Count | null {
    for (const counts of [this.#own, this.#shared])
      for (const [name, { endsAt }] of counts) {
        if (endsAt > now) break;
        counts.delete(name);
      }
    const own = this.#own.get(owner);
    if (own !== undefined || this.#shared.size === 0) return own ?? null;
    return this.#shared.get(this.#shareOf(owner)) ?? null;
  }

  #begin(owner: string, now: number): Count {
    const count = { spent: 0, endsAt: now + this.#limit.seconds * 1000 };
    if (this.#own.size < maxOwnCounters) this.#own.set(owner, count);
    else this.#shared.set(this.#shareOf(owner), count);
    return count;
  }

  #shareOf(owner: string): string {
    const digest = createHmac('sha256', this.#secret).update(owner).digest();
    return String(digest.readUInt32BE() % maxSharedCounters);
  }

  #stateOf({ spent, endsAt }: Count, now: number): RateLimiterRes {
    return new RateLimiterRes(this.#limit.calls - spent, endsAt - now, spent);
  }
}
