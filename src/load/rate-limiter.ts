import { LRUCache } from 'lru-cache';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { type Credentials, requestCredentials } from '../bank/credentials.ts';
import { BankqlError } from '../errors.ts';
import { type RateLimit, type RateLimitsOptions, usedUp } from './rate-limits.ts';

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** How many callers have a counter at most: about 20 MB. */
const maxCounters = 50_000;

/** How long a worker waits for the primary's count, in milliseconds. */
const primaryTimeoutMs = 250;

/**
 * Limits REST calls. Counters are keyed by hashes of credentials, never by a credential. They are in this process, or, in one
 * of several workers, in the primary (RateLimiterClusterMaster).
 *
 * Callers can invent names, so the number of counters is bounded, and the least recently used counters are evicted.
 * Inventing names to evict a counter gains nothing: each invented name has a full budget anyway.
 */
export function createRateLimiter(
  { calls, seconds }: RateLimit,
  { isWorker = false, onRefusal, maxNames = maxCounters }: RateLimitsOptions & { maxNames?: number } = {},
) {
  const options = { keyPrefix: 'caller', points: calls, duration: seconds };
  const own = new RateLimiterMemory(options);
  const limiter = isWorker ? new RateLimiterCluster({ ...options, timeoutMs: primaryTimeoutMs }) : own;
  const names = new LRUCache<string, true>({
    max: maxNames,
    dispose: (_true, owner) => void limiter.delete(owner).catch(() => {}),
  });

  /**
   * Takes a call (`consume`), or only reads the count (`get`). If the primary does not answer in time, a worker counts this
   * call itself.
   * Shape:  the rest of the budget; null if the owner's window has not begun.
   * Errors: a RateLimiterRes if no call is left.
   */
  async function count(method: 'consume' | 'get', owner: string): Promise<RateLimiterRes | null> {
    if (method === 'get') names.get(owner);
    else names.set(owner, true);
    return limiter[method](owner).catch((error: unknown) => {
      if (error instanceof RateLimiterRes || limiter === own) throw error;
      return own[method](owner);
    });
  }

  return {
    /** Takes one REST call from the caller's budget. Errors: RATE_LIMITED with `retryAfter`; nothing is taken then. */
    async take(credentials: Credentials, operation: string): Promise<void> {
      try {
        await count('consume', requestCredentials(credentials).countedId);
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused;
        onRefusal?.('call');
        throw new BankqlError('RATE_LIMITED', `${usedUp}; this call was not made.`, {
          operation,
          retryAfter: secondsOf(refused),
        });
      }
    },

    /**
     * How long until a REST call is available, in seconds; 0 if one is. Takes nothing: a request that would have to wait
     * is refused.
     */
    async secondsUntilNext(credentials: Credentials): Promise<number> {
      const state = await count('get', requestCredentials(credentials).countedId);
      if (state === null || state.remainingPoints > 0 || state.msBeforeNext <= 0) return 0;
      onRefusal?.('request');
      return secondsOf(state);
    },
  };
}

const secondsOf = ({ msBeforeNext }: RateLimiterRes) => Math.max(1, Math.ceil(msBeforeNext / 1000));
