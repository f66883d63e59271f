import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { type Credentials, countedId, subscriptionKeyId } from '../../bank/credentials.ts';
import { BankqlError } from '../../errors.ts';
import {
  type BudgetName,
  type CountersOf,
  type CountMethod,
  type RateLimit,
  type RateLimits,
  type RateRefusal,
  usedUp,
} from './rate-limits.ts';

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Limits REST calls. Counters are keyed by hashes of credentials, never by a credential.
 * `countIn`: the place of the counters (default: this process). `onRefusal` is called at every refusal; it must not throw.
 */
export function createRateLimiter(
  { perCaller, perKey }: RateLimits,
  countIn: CountersOf = (_name, limit) => new BoundedCounters(limit).count,
  onRefusal?: (refusal: RateRefusal) => void,
) {
  const budget = (name: BudgetName, limit: RateLimit | null, owner: (credentials: Credentials) => string) =>
    limit === null ? [] : [{ name, count: countIn(name, limit), owner }];
  // The caller's budget comes first: a caller without calls left takes nothing from the key's budget.
  const budgets = [
    ...budget('caller', perCaller, countedId),
    ...budget('key', perKey, subscriptionKeyId),
  ] as const;

  return {
    /** Takes one REST call from the budgets. Errors: RATE_LIMITED with `retryAfter`; nothing is taken then. */
    async take(credentials: Credentials, operation: string): Promise<void> {
      const taken: (typeof budgets)[number][] = [];
      for (const each of budgets) {
        try {
          await each.count('consume', each.owner(credentials));
          taken.push(each);
        } catch (refused) {
          if (!(refused instanceof RateLimiterRes)) throw refused;
          onRefusal?.({ refused: 'call', budget: each.name });
          for (const { count, owner } of taken) await count('reward', owner(credentials));
          throw new BankqlError('RATE_LIMITED', `${usedUp}; this call was not made.`, {
            operation,
            retryAfter: secondsOf(refused),
          });
        }
      }
    },

    /**
     * How long until a REST call is available, in seconds; 0 if one is. Takes nothing: a request that would have to wait
     * is refused.
     */
    async secondsUntilNext(credentials: Credentials): Promise<number> {
      const waits = await Promise.all(
        budgets.map(async ({ name, count, owner }) => {
          const state = await count('get', owner(credentials));
          if (state === null || state.remainingPoints > 0 || state.msBeforeNext <= 0) return 0;
          onRefusal?.({ refused: 'request', budget: name });
          return secondsOf(state);
        }),
      );
      return Math.max(...waits);
    },
  };
}

const secondsOf = ({ msBeforeNext }: RateLimiterRes) => Math.max(1, Math.ceil(msBeforeNext / 1000));

/** How many callers have a counter of their own: about 10 MB. */
export const maxOwnCounters = 50_000;
/** How many budgets further callers share when all of those are taken. */
export const maxSharedCounters = 1000;

/** What was spent in a window, and when it ends, in milliseconds of performance.now(). */
interface Spent {
  spent: number;
  readonly endsAt: number;
}

/**
 * Counts in memory, with a bounded number of counters, because callers can invent names. When all are taken, new
 * callers share budgets of the usual size, so that no count is forgotten and nobody gets more. There are many shared
 * budgets, assigned by a secret of the process, so that nobody can exhaust a particular caller's budget without
 * exhausting them all. A caller stays with a shared budget until its window ends.
 */
export class BoundedCounters {
  // All windows have the same length, so insertion order is also the order of their ends.
  readonly #own = new Map<string, Spent>();
  readonly #shared = new Map<string, Spent>();
  readonly #secret = randomBytes(32);
  readonly #limit: RateLimit;

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#own.size + this.#shared.size;
  }

  readonly count = async (method: CountMethod, owner: string): Promise<RateLimiterRes | null> => {
    const now = performance.now();
    const count = this.#find(owner, now) ?? (method === 'consume' ? this.#begin(owner, now) : null);
    if (count === null) return null;
    if (method === 'consume' && count.spent >= this.#limit.calls) throw this.#stateOf(count, now);
    if (method !== 'get') count.spent = Math.max(0, count.spent + (method === 'consume' ? 1 : -1));
    return this.#stateOf(count, now);
  };

  #find(owner: string, now: number): Spent | null {
    for (const counts of [this.#own, this.#shared])
      for (const [name, { endsAt }] of counts) {
        if (endsAt > now) break;
        counts.delete(name);
      }
    const own = this.#own.get(owner);
    if (own !== undefined || this.#shared.size === 0) return own ?? null;
    return this.#shared.get(this.#shareOf(owner)) ?? null;
  }

  #begin(owner: string, now: number): Spent {
    const count = { spent: 0, endsAt: now + this.#limit.seconds * 1000 };
    if (this.#own.size < maxOwnCounters) this.#own.set(owner, count);
    else this.#shared.set(this.#shareOf(owner), count);
    return count;
  }

  #shareOf(owner: string): string {
    const digest = createHmac('sha256', this.#secret).update(owner).digest();
    return String(digest.readUInt32BE() % maxSharedCounters);
  }

  #stateOf({ spent, endsAt }: Spent, now: number): RateLimiterRes {
    return new RateLimiterRes(this.#limit.calls - spent, endsAt - now, spent);
  }
}
