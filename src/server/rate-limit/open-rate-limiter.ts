import { parseRedisUrl, type RedisAddress } from '../../payments/stores/redis/address.ts';
import type { RateLimits } from './limits.ts';
import type { RateLimiter, RateLimitOptions } from './rate-limiter.ts';

export interface OpenRateLimiter {
  readonly limiter: RateLimiter;
  close(): void;
}

/** Counts that wait for Redis; more of them are counted here. */
const maxUnanswered = 1_000;

/**
 * Counts in the Redis of STATE_URL, where it names one, so that all processes count together; else in memory. The
 * libraries are loaded only where they are needed. Null where nothing is limited.
 */
export async function openRateLimiter(
  limits: RateLimits,
  stateUrl: string,
  onRefusal?: RateLimitOptions['onRefusal'],
): Promise<OpenRateLimiter | null> {
  if (limits.perCaller === null && limits.perKey === null) return null;
  const address = parseRedisUrl(stateUrl);
  const redis = address === null ? null : await connect(address);
  const { createRateLimiter } = await import('./rate-limiter.ts');
  const limiter = createRateLimiter({ ...limits, redis, onRefusal });
  return limiter === null ? null : { limiter, close: () => redis?.destroy() };
}

/** A connection that comes back by itself. Without one, counts go on in memory, so that nobody waits for it. */
async function connect({ host, port, tls, database, username, password }: RedisAddress) {
  const { createClient } = await import('@redis/client');
  const client = createClient({
    RESP: 2,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    socket: tls ? { host, port, tls } : { host, port },
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: maxUnanswered,
  });
  // Payments say in the log that Redis is away: it is the same one.
  client.on('error', () => {});
  client.unref();
  client.connect().catch(() => {});
  return client;
}
