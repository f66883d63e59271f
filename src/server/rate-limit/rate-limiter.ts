import {
  type RateLimiterAbstract,
  RateLimiterRedis,
  RateLimiterRes,
  RLWrapperTimeouts,
} from 'rate-limiter-flexible';
import { type Credentials, callerId, subscriptionKeyId } from '../../bank/credentials.ts';
import { BankqlError } from '../../errors.ts';
import { BoundedCounterStore } from './bounded-counter-store.ts';
import type { RateLimit, RateLimits } from './limits.ts';

export interface RateLimitOptions extends RateLimits {
  /**
   * A client of @redis/client with its offline queue off: the processes that share its server count together. While it
   * is unavailable, or slower than `redisTimeoutMs`, or if this is null, each process counts on its own.
   */
  readonly redis?: object | null;
  /** Called at every refusal; it must not throw. */
  readonly onRefusal?: ((refusal: RateRefusal) => void) | undefined;
}

/** What was refused: a request that arrived with an empty budget, or a single REST call. */
export interface RateRefusal {
  readonly refused: 'request' | 'call';
  readonly budget: 'caller' | 'key';
}

export interface RateLimiter {
  /** Takes one REST call from the budgets. Errors: RATE_LIMITED with `retryAfter`; nothing is taken then. */
  take(credentials: Credentials, operation: string): Promise<void>;
  /**
   * How long until a REST call is available, in seconds; 0 if one is. Takes nothing: a request that would have to wait
   * is refused.
   */
  secondsUntilNext(credentials: Credentials): Promise<number>;
}

/** How long a count may take in Redis. */
const redisTimeoutMs = 250;

/** A budget and its owner. */
interface Budget {
  readonly name: RateRefusal['budget'];
  readonly limiter: Pick<RateLimiterAbstract, 'consume' | 'reward' | 'get'>;
  readonly owner: (credentials: Credentials) => string;
}

/**
 * Counts REST calls; null where nothing is limited. Counters are keyed by hashes of credentials, never by a credential.
 */
export function createRateLimiter(options: RateLimitOptions): RateLimiter | null {
  const { perCaller, perKey, redis = null, onRefusal } = options;
  // The caller's budget comes first: a caller without calls left takes nothing from the key's budget.
  const budgets = [
    budget('caller', perCaller, callerId, redis),
    budget('key', perKey, subscriptionKeyId, redis),
  ].filter((given) => given !== null);
  if (budgets.length === 0) return null;

  return {
    async take(credentials, operation) {
      const taken: Budget[] = [];
      for (const each of budgets) {
        try {
          await each.limiter.consume(each.owner(credentials));
          taken.push(each);
        } catch (refused) {
          if (!(refused instanceof RateLimiterRes)) throw refused;
          onRefusal?.({ refused: 'call', budget: each.name });
          for (const { limiter, owner } of taken) await limiter.reward(owner(credentials));
          throw new BankqlError(
            'RATE_LIMITED',
            'Your REST calls are used up for now; this call was not made.',
            {
              operation,
              retryAfter: secondsOf(refused),
            },
          );
        }
      }
    },

    async secondsUntilNext(credentials) {
      const waits = await Promise.all(
        budgets.map(async ({ name, limiter, owner }) => {
          const state = await limiter.get(owner(credentials));
          if (state === null || state.remainingPoints > 0 || state.msBeforeNext <= 0) return 0;
          onRefusal?.({ refused: 'request', budget: name });
          return secondsOf(state);
        }),
      );
      return Math.max(...waits);
    },
  };
}

function budget(
  name: Budget['name'],
  limit: RateLimit | null,
  owner: Budget['owner'],
  redis: object | null,
): Budget | null {
  if (limit === null) return null;
  const memory = new BoundedCounterStore(limit);
  if (redis === null) return { name, limiter: memory, owner };
  const limiter = new RateLimiterRedis({
    points: limit.calls,
    duration: limit.seconds,
    keyPrefix: `bankql:rate:${name}`,
    storeClient: redis,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
  });
  // The memory limiter backs up the wrapper with its timeout: inside it, a late count would be counted twice.
  const inTime = new RLWrapperTimeouts({ limiter, timeoutMs: redisTimeoutMs, insuranceLimiter: memory });
  return { name, limiter: inTime, owner };
}

const secondsOf = ({ msBeforeNext }: RateLimiterRes) => Math.max(1, Math.ceil(msBeforeNext / 1000));
