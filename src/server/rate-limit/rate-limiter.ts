import { LRUCache } from 'lru-cache';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { type Credentials, countedId, subscriptionKeyId } from '../../bank/credentials.ts';
import { BankqlError } from '../../errors.ts';
import {
  type BudgetName,
  type RateLimit,
  type RateLimits,
  type RateLimitsOptions,
  usedUp,
} from './rate-limits.ts';

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** How many callers, and how many keys, have a counter at most: about 20 MB each. */
const maxCounters = 50_000;

/** How long a worker waits for the primary's count, in milliseconds. */
const primaryTimeoutMs = 250;

/**
 * Limits REST calls. Counters are keyed by hashes of credentials, never by a credential. They are in this process, or, in one
 * of several workers, in the primary (RateLimiterClusterMaster).
 */
export function createRateLimiter(
  { perCaller, perKey }: RateLimits,
  { isWorker = false, onRefusal, maxNames = maxCounters }: RateLimitsOptions & { maxNames?: number } = {},
) {
  const budget = (name: BudgetName, limit: RateLimit | null, owner: (credentials: Credentials) => string) =>
    limit === null ? [] : [{ name, owner, ...createCounters(name, limit, isWorker, maxNames) }];
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

/**
 * The counters of a budget. Callers can make up names, so that their number is bounded: those that were not used for longest are
 * forgotten. A caller that makes up names to have its count forgotten could as well have used one of these names.
 */
function createCounters(name: BudgetName, { calls, seconds }: RateLimit, isWorker: boolean, max: number) {
  const options = { keyPrefix: name, points: calls, duration: seconds };
  const own = new RateLimiterMemory(options);
  const limiter = isWorker ? new RateLimiterCluster({ ...options, timeoutMs: primaryTimeoutMs }) : own;
  const names = new LRUCache<string, true>({
    max,
    dispose: (_true, owner) => void limiter.delete(owner).catch(() => {}),
  });
  return {
    /**
     * Takes a call (`consume`), gives one back (`reward`), or only looks (`get`). If the primary does not answer in time, a
     * worker counts this call itself.
     * Shape:  the rest of the budget; null if the owner's window has not begun.
     * Errors: a RateLimiterRes if no call is left.
     */
    async count(method: 'consume' | 'reward' | 'get', owner: string): Promise<RateLimiterRes | null> {
      if (method === 'get') names.get(owner);
      else names.set(owner, true);
      return limiter[method](owner).catch((error: unknown) => {
        if (error instanceof RateLimiterRes || limiter === own) throw error;
        return own[method](owner);
      });
    },
  };
}
