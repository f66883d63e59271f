import { parseRedisUrl, type RedisAddress } from '../../payments/stores/redis/address.ts';
import type { RateLimits } from './limits.ts';
import type { RateLimiter, RateLimitOptions } from './rate-limiter.ts';

export interface OpenRateLimiter {
  readonly limiter: RateLimiter;
  close(): void;
}

/** The maximum number of counts waiting for Redis; beyond it, counting is done in memory. */
const maxUnanswered = 1_000;

/**
 * Counts in the Redis of STATE_URL, if it names one, so that all processes count together; otherwise in memory. The
 * libraries are loaded only if they are needed. Null if nothing is limited.
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

/**
 * A connection that reconnects by itself. While it is down, counting goes on in memory, so that nothing waits for it.
 */
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
  // The payment store uses the same Redis, and logs its outages.
  client.on('error', () => {});
  client.unref();
  client.connect().catch(() => {});
  return client;
}
