import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Credentials } from '../../../src/bank/credentials.ts';
import { type OpenRateLimiter, openRateLimiter } from '../../../src/server/rate-limit/open-rate-limiter.ts';
import type { RateLimiter } from '../../../src/server/rate-limit/rate-limiter.ts';
import { inTimeMs } from '../../support/in-time.ts';
import { hasRedis, startRedis, type TestRedis } from '../../support/redis.ts';

let redis: TestRedis;
const open: OpenRateLimiter[] = [];
beforeAll(async () => {
  if (hasRedis) redis = await startRedis([]);
});
afterEach(async () => {
  for (const each of open.splice(0)) each.close();
  if (!hasRedis) return;
  redis.resume();
  await redis.command('FLUSHALL');
});
afterAll(() => redis?.stop());

const who: Credentials = { subscriptionKey: 'secret-key', authProviderName: 'p', authId: 'secret-id' };

/** Limiters of processes that share the Redis, connected. */
async function limiters(calls: number, seconds: number, count: number): Promise<RateLimiter[]> {
  for (let index = 0; index < count; index++) {
    const limits = { perCaller: { calls, seconds }, perKey: null };
    const opened = await openRateLimiter(limits, redis.url);
    if (opened === null) throw new Error('nothing is limited');
    open.push(opened);
  }
  for (const [index, { limiter }] of open.entries()) {
    // Until it is connected it counts for itself.
    const probe = { ...who, authId: `probe ${index}` };
    const shared = async () => {
      await limiter.take(probe, 'getBranches').catch(() => {});
      return Number(await redis.command('DBSIZE'));
    };
    await expect.poll(shared).toBeGreaterThan(index);
  }
  await redis.command('FLUSHALL');
  return open.map(({ limiter }) => limiter);
}
async function taken(limiter: RateLimiter | undefined, times: number): Promise<number> {
  const ends = await Promise.allSettled(
    Array.from({ length: times }, () => limiter?.take(who, 'getBranches')),
  );
  return ends.filter(({ status }) => status === 'fulfilled').length;
}

test.skipIf(!hasRedis)('processes count together, and the count ends in time', async () => {
  const [first, second] = await limiters(5, 1, 2);
  expect((await taken(first, 3)) + (await taken(second, 9))).toBe(5);
  expect(await first?.secondsUntilNext(who)).toBe(1);
  expect(await second?.secondsUntilNext(who)).toBe(1);
  await expect.poll(() => second?.secondsUntilNext(who)).toBe(0);
  expect(await taken(second, 9)).toBe(5);
});

test.skipIf(!hasRedis)('no credential is in Redis', async () => {
  const [limiter] = await limiters(5, 60, 1);
  await taken(limiter, 1);
  const keys = String(await redis.command('KEYS', '*'));
  expect(keys).toMatch(/^bankql:rate:caller:/);
  expect(keys).not.toContain('secret');
});

test.skipIf(!hasRedis)(
  'while Redis is away each process counts for itself, and later together again',
  async () => {
    const [first, second] = await limiters(5, 60, 2);
    expect(await taken(first, 2)).toBe(2);
    await redis.kill();
    expect(await taken(first, 9)).toBe(5);
    expect(await taken(second, 9)).toBe(5);
    expect(await first?.secondsUntilNext(who)).toBeGreaterThan(0);
    await redis.restart();
    // A new Redis knows nothing of what was before.
    await expect.poll(() => first?.secondsUntilNext(who), { timeout: 10_000 }).toBe(0);
    await expect.poll(() => second?.secondsUntilNext(who), { timeout: 10_000 }).toBe(0);
    expect((await taken(first, 4)) + (await taken(second, 4))).toBe(5);
  },
);

test.skipIf(!hasRedis)('nobody waits long for a Redis that hangs', async () => {
  const [limiter] = await limiters(5, 60, 1);
  expect(await taken(limiter, 1)).toBe(1);
  redis.pause();
  const began = performance.now();
  expect(await taken(limiter, 9)).toBe(5);
  expect(performance.now() - began).toBeLessThan(inTimeMs);
});

test.skipIf(!hasRedis)('a Redis that is not there at the start keeps nobody from counting', async () => {
  const limits = { perCaller: { calls: 2, seconds: 60 }, perKey: null };
  const opened = await openRateLimiter(limits, 'redis://127.0.0.1:1');
  if (opened === null) throw new Error('nothing is limited');
  open.push(opened);
  expect(await taken(opened.limiter, 5)).toBe(2);
});

test('without Redis, or without limits, none is asked', async () => {
  const limits = { perCaller: { calls: 2, seconds: 60 }, perKey: null };
  const opened = await openRateLimiter(limits, 'memory:');
  expect(await taken(opened?.limiter, 5)).toBe(2);
  opened?.close();
  expect(await openRateLimiter({ perCaller: null, perKey: null }, 'redis://127.0.0.1:1')).toBeNull();
});
