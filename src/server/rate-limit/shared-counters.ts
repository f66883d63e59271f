import { RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { reasonOf } from '../../errors.ts';
import { clientOptions, type PostgresAddress } from '../../payments/stores/postgres/address.ts';
import { parseCounterUrl, type RedisAddress } from './counter-address.ts';
import { BoundedCounters, createRateLimiter, type RateLimiter } from './rate-limiter.ts';
import type { BudgetName, Count, RateLimit, RateLimits, RateRefusal } from './rate-limits.ts';

/** How long a call waits for its count, in milliseconds; it then counts in memory. */
const usualTimeoutMs = 250;
/** How long a process counts in memory after that, before it tries again. */
const pauseMs = 500;
/** The maximum number of counts that wait for Redis. */
const maxUnanswered = 1_000;
/** Connections to PostgreSQL, and the interval between deletions of counts whose window has ended. */
const postgresConnections = 4;
const purgeMs = 60_000;

interface RateLimiterOptions {
  readonly limits: RateLimits & { readonly url: string };
  /** Counters for `memory:` (default: this process's own). */
  readonly memory?: CountersOf | undefined;
  readonly onRefusal?: ((refusal: RateRefusal) => void) | undefined;
  /** Called when the store becomes unavailable, with the reason, and with null when it answers again. */
  readonly onStore?: ((unavailable: string | null) => void) | undefined;
  /** How long a call may wait for its count, in milliseconds. */
  readonly timeoutMs?: number;
}

export type CountersOf = (name: BudgetName, limit: RateLimit) => Count;

interface Store {
  readonly countersOf: CountersOf;
  /** Why it did not answer at the start; null if it did. */
  readonly unavailable: string | null;
  close(): unknown;
}

/**
 * The rate limiter over the store that RATE_LIMIT_URL names. While the store is unavailable,
 * each process counts in memory, with the whole budget. Libraries are loaded only if they are needed.
 */
export async function openRateLimiter({
  limits,
  memory = ownCounters,
  onRefusal,
  onStore = () => {},
  timeoutMs = usualTimeoutMs,
}: RateLimiterOptions): Promise<{ readonly limiter: RateLimiter; close(): unknown }> {
  const address = parseCounterUrl(limits.url);
  const store =
    address?.kind === 'redis'
      ? await connectRedis(address, timeoutMs)
      : address?.kind === 'postgres'
        ? await connectPostgres(address.address, timeoutMs)
        : null;
  const withFallback = createFallback(onStore, timeoutMs, store?.unavailable ?? null);
  const countersOf: CountersOf = (name, limit) =>
    store === null && memory === ownCounters
      ? memory(name, limit)
      : withFallback((store?.countersOf ?? memory)(name, limit), ownCounters(name, limit));
  const limiter = createRateLimiter(limits, countersOf, onRefusal);
  return { limiter, close: () => store?.close() };
}

const ownCounters: CountersOf = (_name, limit) => new BoundedCounters(limit).count;

/**
 * Counts in memory while the store fails or is late. A count that arrives late was then made in both. `unavailable`: why the store
 * did not answer at the start; the first count that it answers ends that.
 */
function createFallback(
  onStore: (unavailable: string | null) => void,
  timeoutMs: number,
  unavailable: string | null,
) {
  let retryAt = 0;
  let isAvailable = true;
  const report = (unavailable: string | null) => {
    if (isAvailable === (unavailable === null)) return;
    isAvailable = unavailable === null;
    onStore(unavailable);
  };
  report(unavailable);
  return (shared: Count, memory: Count): Count =>
    async (method, owner) => {
      if (performance.now() < retryAt) return memory(method, owner);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
      });
      try {
        const state = await Promise.race([shared(method, owner), late]);
        report(null);
        return state;
      } catch (error) {
        if (error instanceof RateLimiterRes) {
          report(null);
          throw error;
        }
        retryAt = performance.now() + pauseMs;
        report(reasonOf(error));
        return memory(method, owner);
      } finally {
        clearTimeout(timer);
      }
    };
}

const countBy =
  (limiter: RateLimiterRedis | RateLimiterPostgres): Count =>
  (method, owner) =>
    limiter[method](owner);

const options = (name: BudgetName, { calls, seconds }: RateLimit) => ({
  points: calls,
  duration: seconds,
  keyPrefix: `bankql:rate:${name}`,
});

/** Resolves when the connection is ready, or has failed, or the store takes too long: it then reconnects by itself. */
async function connectRedis(
  { host, port, tls, database, username, password }: RedisAddress,
  timeoutMs: number,
): Promise<Store> {
  const { createClient } = await import('@redis/client');
  const client = createClient({
    RESP: 2,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    socket: tls ? { host, port, tls } : { host, port },
    // Counts that wait for a connection would be made after their calls.
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: maxUnanswered,
  });
  // Counts that fail say so.
  client.on('error', () => {});
  client.unref();
  const limitMs = 4 * timeoutMs;
  const ready = new Promise<string | null>((resolve) => {
    client.once('ready', () => resolve(null));
    client.once('error', (error) => resolve(reasonOf(error)));
    setTimeout(() => resolve(`no answer in ${limitMs} ms`), limitMs).unref();
  });
  client.connect().catch(() => {});
  return {
    unavailable: await ready,
    countersOf: (name, limit) =>
      countBy(
        new RateLimiterRedis({
          ...options(name, limit),
          storeClient: client,
          useRedisPackage: true,
          rejectIfRedisNotReady: true,
        }),
      ),
    close: () => client.destroy(),
  };
}

/** The counters' own schema: the payment store's is not touched. UNLOGGED: counts need not survive a crash, nor be synced. */
const findTable = `SELECT to_regclass('bankql_rate_limits.counters') IS NOT NULL AS "exists"`;
const createTable = `CREATE SCHEMA IF NOT EXISTS bankql_rate_limits;
CREATE UNLOGGED TABLE IF NOT EXISTS bankql_rate_limits.counters
  (key varchar(255) PRIMARY KEY, points integer NOT NULL DEFAULT 0, expire bigint)`;

async function connectPostgres(address: PostgresAddress, timeoutMs: number): Promise<Store> {
  const { Pool } = await import('pg');
  const pool = new Pool({
    ...(await clientOptions(address)),
    max: postgresConnections,
    connectionTimeoutMillis: 4 * timeoutMs,
    query_timeout: 4 * timeoutMs,
    allowExitOnIdle: true,
  });
  pool.on('error', () => {});
  let prepared: Promise<unknown> | null = null;
  async function prepare() {
    const { rows } = await pool.query(findTable);
    if (rows[0]?.exists !== true) await pool.query(createTable);
  }
  const client = {
    async query(statement: { readonly text: string }) {
      prepared ??= prepare();
      try {
        await prepared;
        return await pool.query(statement);
      } catch (error) {
        // The table may be gone: it is looked for again.
        prepared = null;
        throw error;
      }
    },
  };
  const countersOf: CountersOf = (name, limit) =>
    countBy(
      new RateLimiterPostgres({
        ...options(name, limit),
        storeClient: client,
        storeType: 'client',
        schemaName: 'bankql_rate_limits',
        tableName: 'counters',
        tableCreated: true,
        clearExpiredByTimeout: false,
      }),
    );
  // Callers can invent names: counts are deleted soon after their windows.
  const timer = setInterval(() => {
    const statement = {
      text: 'DELETE FROM bankql_rate_limits.counters WHERE expire < $1',
      values: [Date.now()],
    };
    client.query(statement).catch(() => {});
  }, purgeMs).unref();
  // The first count need not wait for a connection.
  const unavailable = await client.query({ text: 'SELECT 1' }).then(() => null, reasonOf);
  return {
    countersOf,
    unavailable,
    close() {
      clearInterval(timer);
      return pool.end();
    },
  };
}
