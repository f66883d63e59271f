import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentRecord, PaymentStore } from '../../../../src/payments/store.ts';
import { createRedisStore } from '../../../../src/payments/stores/redis/redis-store.ts';
import { hasRedis, startRedis, type TestRedis } from '../../../support/redis.ts';
import { done, lease, pending, rejected, retentionMs } from '../store-conformance.ts';

const day = 24 * 60 * 60 * 1000;

/** A process whose clock is off by so much, with what it says to its store. */
function processOf(store: PaymentStore, offMs: number) {
  const now = () => Date.now() + offMs;
  return {
    begin(id: string, change: Partial<PaymentRecord> = {}) {
      const at = now();
      const times = { createdAt: at, updatedAt: at, leaseUntil: at + lease };
      return store.begin(pending({ id, ...times, ...change }), at);
    },
    finish: (id: string, outcome = done) => store.finish(id, pending().trackId, outcome, now()),
    find: (id: string) => store.find(id, now()),
    search: (query: Parameters<PaymentStore['search']>[0]) => store.search(query, now()),
    settle: (id: string) => store.settle(id, 'DONE', 'ops', now()),
    status: () => store.status(now()),
  };
}

describe.skipIf(!hasRedis)('with redis-server (skipped where none is installed)', () => {
  const opened: PaymentStore[] = [];
  let redis: TestRedis;
  let right: ReturnType<typeof processOf>;

  async function open(): Promise<PaymentStore> {
    const store = await createRedisStore({ address: redis.address, retentionMs, timeoutMs: 5_000 });
    opened.push(store);
    return store;
  }

  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(async () => {
    await redis.command('FLUSHALL');
    right = processOf(await open(), 0);
  });
  afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));
  afterAll(() => redis.stop());

  test.each([
    ['31 days ahead', 31 * day],
    ['31 days behind', -31 * day],
    ['an hour ahead', 60 * 60 * 1000],
  ])('a process whose clock is %s forgets nothing, and ends no lease of others', async (_, offMs) => {
    const wrong = processOf(await open(), offMs);
    await right.begin('finished');
    await right.finish('finished');
    await right.begin('refused');
    await right.finish('refused', rejected);
    await right.begin('under-way');

    expect(await wrong.find('finished')).toMatchObject(done);
    expect(await wrong.begin('refused', { trackId: 'attempt-2' })).toMatchObject(rejected);
    expect(await wrong.begin('under-way', { trackId: 'attempt-2' })).toMatchObject({ state: 'PENDING' });
    expect(await wrong.settle('under-way')).toBe(false);
    expect(await wrong.begin('other')).toBeNull();
    expect(await wrong.search({ states: ['PENDING'] })).toHaveLength(2);
    expect(await wrong.search({ states: ['DONE', 'REJECTED'] })).toHaveLength(2);
    expect(await wrong.status()).toMatchObject({ records: 4, pending: 2, unknown: 0 });

    expect(await right.begin('finished', { trackId: 'attempt-3' })).toMatchObject(done);
    expect(await right.begin('other', { trackId: 'attempt-3' })).toMatchObject({ state: 'PENDING' });
    expect(await redis.command('ZCARD', '{bankql}:payments:DONE')).toBe(1);
  });

  test.each([31 * day, -31 * day])("what it writes has the server's time (%d ms off)", async (offMs) => {
    const wrong = processOf(await open(), offMs);
    const before = Date.now();
    await wrong.begin('a');
    const begun = await right.find('a');
    expect(begun?.leaseUntil).toBe((begun?.createdAt ?? 0) + lease);
    await wrong.finish('a');
    const { createdAt = 0, updatedAt = 0, history = [] } = (await right.find('a')) ?? {};
    const after = Date.now();
    for (const time of [createdAt, updatedAt, ...history.map(({ at }) => at)]) {
      expect(time).toBeGreaterThanOrEqual(before - 5);
      expect(time).toBeLessThanOrEqual(after + 5);
    }
    expect(history.map(({ state }) => state)).toEqual(['PENDING', 'DONE']);
    expect((await right.status()).newestAt).toBe(createdAt);
  });

  test('a lease ends when it is over, whoever looks', async () => {
    const wrong = processOf(await open(), -31 * day);
    const at = Date.now();
    await right.begin('a', { leaseUntil: at + 300 });
    expect((await wrong.find('a'))?.state).toBe('PENDING');
    await expect.poll(async () => (await wrong.find('a'))?.state).toBe('UNKNOWN');
    expect(Date.now()).toBeGreaterThanOrEqual(at + 295);
  });
});
