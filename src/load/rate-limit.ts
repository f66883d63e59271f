import { LRUCache } from 'lru-cache';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Caller } from './callers.ts';

/** The permitted number of REST calls of each caller within a number of seconds, counted from the first call. */
interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

interface RateLimiterOptions {
  /** Whether the primary process counts for all of its workers (default: false). */
  readonly isWorker?: boolean | undefined;
  /** Called when a call is refused; it must not throw. */
  readonly onRefusal?: (() => void) | undefined;
  /** The maximum number of counters: about 20 MB by default. */
  readonly maxCallers?: number;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** The time for which a worker waits for the primary's count, in milliseconds. */
const primaryTimeoutMs = 250;

/**
 * Limits REST calls. A request without REST calls is always served: capacity.ts bounds such requests. Counters are keyed by
 * the hashes of callers' names. They are in this process or, with several workers, in the primary (RateLimiterClusterMaster).
 * Callers can invent names, so the number of counters is bounded, and the least recently used counters are evicted. A caller
 * gains nothing if it invents names to evict its counter: each invented name has a full budget anyway.
 */
export function createRateLimiter(
  { calls, seconds }: RateLimit,
  { isWorker = false, onRefusal, maxCallers = 50_000 }: RateLimiterOptions = {},
) {
  const options = { keyPrefix: 'caller', points: calls, duration: seconds };
  const own = new RateLimiterMemory(options);
  const limiter = isWorker ? new RateLimiterCluster({ ...options, timeoutMs: primaryTimeoutMs }) : own;
  const known = new LRUCache<string, true>({
    max: maxCallers,
    dispose: (_true, hash) => void limiter.delete(hash).catch(() => {}),
  });

  return {
    /**
     * Takes one REST call from the caller's budget. If the primary does not answer in time, a worker counts
     * the call itself.
     * Shape:  the seconds until a call is allowed; 0 if this call is allowed.
     */
    async take({ hash }: Pick<Caller, 'hash'>): Promise<number> {
      known.set(hash, true);
      try {
        await limiter.consume(hash).catch((error: unknown) => {
          if (error instanceof RateLimiterRes || limiter === own) throw error;
          return own.consume(hash);
        });
        return 0;
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused;
        onRefusal?.();
        return Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
      }
    },
  };
}
