import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Credentials } from '../../../src/bank/credentials.ts';
import type { RateLimiter } from '../../../src/server/rate-limit/rate-limiter.ts';
import { openRateLimiter } from '../../../src/server/rate-limit/shared-counters.ts';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';

const who: Credentials = { subscriptionKey: 'secret-key', authProviderName: 'p', authId: 'secret-id' };

/** What a store has said of itself: the reason when it became unavailable, null when it was back. */
type StoreNews = (string | null)[];
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function limiterOf(
  url: string,
  calls: number,
  seconds: number,
  news: StoreNews = [],
  // A server of a busy machine is not late: what it counts late is counted in memory too.
  timeoutMs = 60_000,
): Promise<RateLimiter> {
  const limits = { perCaller: { calls, seconds }, perKey: { calls: 1000, seconds }, url };
  const onStore = (unavailable: string | null) => void news.push(unavailable);
  const opened = await openRateLimiter({ limits, onStore, timeoutMs });
  if (opened === null) throw new Error('nothing is limited');
  open.push(opened);
  return opened.limiter;
}

async function taken(limiter: RateLimiter | undefined, times: number): Promise<number> {
  const ends = await Promise.allSettled(
    Array.from({ length: times }, () => limiter?.take(who, 'getBranches')),
  );
  return ends.filter(({ status }) => status === 'fulfilled').length;
}

/** A server that processes can share. */
interface SharedServer {
  readonly url: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
  pause(): unknown;
  resume(): unknown;
  stop(): Promise<void>;
  /** Forgets all counts. */
  empty(): Promise<unknown>;
  /** The names of all counters. */
  names(): Promise<string>;
}

const servers: { kind: string; isHere: boolean; start(): Promise<SharedServer> }[] = [
  {
    kind: 'Redis',
    isHere: hasRedis,
    async start() {
      const redis = await startRedis();
      return {
        ...redis,
        empty: () => redis.command('FLUSHALL'),
        names: async () => String(await redis.command('KEYS', '*')),
      };
    },
  },
  {
    kind: 'PostgreSQL',
    isHere: hasPostgres,
    async start() {
      const postgres: TestPostgres = await startPostgres();
      return {
        ...postgres,
        empty: () => postgres.query('DROP SCHEMA IF EXISTS bankql_rate_limits CASCADE'),
        names: async () =>
          JSON.stringify(await postgres.query('SELECT key FROM bankql_rate_limits.counters')),
      };
    },
  },
];

for (const { kind, isHere, start } of servers)
  describe.skipIf(!isHere)(`counts in ${kind}`, () => {
    let server: SharedServer;
    beforeAll(async () => {
      server = await start();
    });
    afterEach(async () => {
      await server.resume();
      await server.empty();
    });
    afterAll(() => server?.stop());

    test('are shared by processes', async () => {
      const first = await limiterOf(server.url, 5, 3600);
      const second = await limiterOf(server.url, 5, 3600);
      expect((await taken(first, 3)) + (await taken(second, 9))).toBe(5);
      expect(await first.secondsUntilNext(who)).toBeGreaterThan(0);
      expect(await second.secondsUntilNext(who)).toBeGreaterThan(0);
    });

    test('end with their window', async () => {
      const limiter = await limiterOf(server.url, 1, 1);
      expect(await taken(limiter, 1)).toBe(1);
      await expect.poll(() => limiter.secondsUntilNext(who)).toBe(0);
      expect(await taken(limiter, 1)).toBe(1);
    });

    test('hold no credential', async () => {
      expect(await taken(await limiterOf(server.url, 5, 3600), 1)).toBe(1);
      const names = await server.names();
      expect(names).toContain('bankql:rate:caller:');
      expect(names).not.toContain('secret');
    });

    test('are replaced by each process’s own while it is away, which is reported once, and shared again after', async () => {
      const news: StoreNews = [];
      const first = await limiterOf(server.url, 5, 3600, news);
      const second = await limiterOf(server.url, 5, 3600);
      expect(await taken(first, 2)).toBe(2);
      await server.kill();
      expect(await taken(first, 9)).toBe(5);
      expect(await taken(second, 9)).toBe(5);
      expect(await first.secondsUntilNext(who)).toBeGreaterThan(0);
      expect(news).toEqual([expect.any(String)]);
      await server.restart();
      // A new server knows no earlier counts; those of PostgreSQL may have been kept.
      await server.empty();
      await expect.poll(() => first.secondsUntilNext(who)).toBe(0);
      await expect.poll(() => second.secondsUntilNext(who)).toBe(0);
      expect(news).toEqual([expect.any(String), null]);
      expect((await taken(first, 4)) + (await taken(second, 4))).toBe(5);
    });

    test('are made by this process itself after a moment if it hangs', async () => {
      const news: StoreNews = [];
      const limiter = await limiterOf(server.url, 5, 3600, news, 1000);
      await server.pause();
      expect(await taken(limiter, 9)).toBe(5);
      // The clients of both stores would wait for longer.
      expect(news).toEqual(['no answer in 1000 ms']);
    });
  });

test.each(['redis://127.0.0.1:1', 'postgres://bankql@127.0.0.1:1/bankql'])(
  'if %s is away at the start, that is reported at once, and this process counts on its own',
  async (url) => {
    const news: StoreNews = [];
    const limiter = await limiterOf(url, 2, 3600, news);
    // Nobody has asked for anything yet.
    expect(news).toEqual([expect.stringContaining('ECONNREFUSED')]);
    expect(await taken(limiter, 5)).toBe(2);
    expect(news).toHaveLength(1);
  },
);

test('memory: counts in this process', async () => {
  const news: StoreNews = [];
  expect(await taken(await limiterOf('memory:', 2, 3600, news), 5)).toBe(2);
  expect(news).toEqual([]);
});

test('counters of another process that do not answer in time are replaced by those of this one', async () => {
  const never = () => new Promise<never>(() => {});
  const opened = await openRateLimiter({
    limits: { perCaller: { calls: 2, seconds: 3600 }, perKey: null, url: 'memory:' },
    memory: () => never,
  });
  expect(await taken(opened?.limiter, 5)).toBe(2);
});
