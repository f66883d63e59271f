import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  BoundedCounters,
  createRateLimiter,
  maxOwnCounters,
  maxSharedCounters,
} from '../../../src/server/rate-limit/rate-limiter.ts';

/** How many of so many calls are made. */
async function taken(counts: BoundedCounters, owner: string, times: number): Promise<number> {
  let made = 0;
  for (let time = 0; time < times; time++)
    made += await counts.count('consume', owner).then(
      () => 1,
      (refused) => (refused instanceof RateLimiterRes ? 0 : Promise.reject(refused)),
    );
  return made;
}

/** Callers with names that nobody had before; how many of their calls are made. */
async function flood(counts: BoundedCounters, callers: number, calls = 1): Promise<number> {
  let made = 0;
  for (let caller = 0; caller < callers; caller++) made += await taken(counts, `made up ${++names}`, calls);
  return made;
}
let names = 0;

/** A window ends when a test says so, however slow the machine is. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

describe('whoever makes up 100,000 callers', () => {
  const limit = { calls: 300, seconds: 60 };

  test('costs less than 25 MB', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const limiter = createRateLimiter(
      { perCaller: limit, perKey: null },
      (_name, given) => new BoundedCounters(given).count,
    );
    collect();
    const before = process.memoryUsage().heapUsed;
    let made = 0;
    for (let index = 0; index < 100_000; index++) {
      const caller = { subscriptionKey: 'key', authProviderName: 'p', authId: `made up ${index}` };
      await limiter?.take(caller, 'getBranches');
      made++;
    }
    collect();
    expect((process.memoryUsage().heapUsed - before) / 1e6).toBeLessThan(25);
    expect(made).toBe(100_000);
    expect(
      await limiter?.secondsUntilNext({ subscriptionKey: 'key', authProviderName: 'p', authId: 'x' }),
    ).toBe(0);
  });

  test('gets no budget of one’s own beyond them, and lets nobody’s count be forgotten', async () => {
    const counts = new BoundedCounters({ calls: 3, seconds: 60 });
    expect(await taken(counts, 'noisy', 9)).toBe(3);
    expect(await flood(counts, 100_000)).toBeLessThanOrEqual(maxOwnCounters - 1 + 3 * maxSharedCounters);
    expect(counts.size).toBe(maxOwnCounters + maxSharedCounters);
    expect(await taken(counts, 'noisy', 9)).toBe(0);
    expect((await counts.count('get', 'noisy'))?.remainingPoints).toBe(0);
    // All that is shared is spent now: nobody who is new gets more.
    await flood(counts, 20_000);
    expect(await flood(counts, 1000, 9)).toBe(0);
  });

  test('locks out neither who was there before nor, with as many calls, who comes after', async () => {
    const counts = new BoundedCounters(limit);
    await taken(counts, 'early', 1);
    await flood(counts, 100_000);
    expect(await taken(counts, 'early', 400)).toBe(299);
    // 50,000 calls over 1,000 shared budgets of 300.
    expect(await taken(counts, 'late', 200)).toBeGreaterThan(150);
  });
});

describe('who shares a budget', () => {
  test('shares it until its window ends, whatever room there is before, and then has a place again', async () => {
    const counts = new BoundedCounters({ calls: 2, seconds: 60 });
    await flood(counts, maxOwnCounters);
    vi.advanceTimersByTime(30_000);
    expect(await taken(counts, 'late', 9)).toBe(2);
    // The others' windows end.
    vi.advanceTimersByTime(30_001);
    expect(await taken(counts, 'late', 9)).toBe(0);
    expect(counts.size).toBe(1);
    expect((await counts.count('get', 'late'))?.msBeforeNext).toBeCloseTo(29_999);
    vi.advanceTimersByTime(30_000);
    expect(await counts.count('get', 'late')).toBeNull();
    expect(await taken(counts, 'late', 9)).toBe(2);
    expect(counts.size).toBe(1);
  });

  test('gets back what was given back', async () => {
    const counts = new BoundedCounters({ calls: 2, seconds: 60 });
    await flood(counts, maxOwnCounters);
    expect(await taken(counts, 'late', 2)).toBe(2);
    expect((await counts.count('reward', 'late'))?.remainingPoints).toBe(1);
    expect(await taken(counts, 'late', 2)).toBe(1);
    // Who has taken nothing has nothing to give back.
    await counts.count('reward', 'nobody');
    expect(await taken(counts, 'nobody', 9)).toBeLessThanOrEqual(2);
  });
});
