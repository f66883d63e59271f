import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentStore } from '../../../../src/payments/store.ts';
import {
  createRedisStore,
  type RedisStoreOptions,
} from '../../../../src/payments/stores/redis/redis-store.ts';
import { hasRedis, startRedis, type TestRedis } from '../../../support/redis.ts';
import {
  describePaymentStore,
  done,
  lease,
  pending,
  rejected,
  retentionMs,
  start,
  stored,
} from '../store-conformance.ts';

describe.skipIf(!hasRedis)('with redis-server (skipped where none is installed)', () => {
  const { id, trackId } = pending();
  const key = `{bankql}:payment:${id}`;
  const opened: PaymentStore[] = [];
  let redis: TestRedis;

  async function open(change: Partial<RedisStoreOptions> = {}): Promise<PaymentStore> {
    const options = {
      address: redis.address,
      retentionMs,
      timeoutMs: 5_000,
      clock: 'caller',
      ...change,
    } as const;
    const store = await createRedisStore(options);
    opened.push(store);
    return store;
  }

  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(() => redis.command('FLUSHALL'));
  afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));
  afterAll(() => redis.stop());

  describePaymentStore('the Redis store', () => open());

  test('two processes that begin one payment 200 times store it once', async () => {
    const stores = await Promise.all([open(), open()]);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        stores[n % 2 === 0 ? 0 : 1].begin(pending({ trackId: `attempt-${n}` }), start),
      ),
    );
    expect(answers.filter((answer) => answer === null)).toHaveLength(1);
    expect(new Set(answers.flatMap((answer) => answer?.trackId ?? [])).size).toBe(1);
  });

  test('keeps payments across a restart of bankql', async () => {
    const first = await open();
    await first.begin(pending(), start);
    await first.close();
    const second = await open();
    expect(await second.begin(pending({ trackId: 'attempt-2' }), start)).toEqual(stored());
    expect(await second.finish(id, trackId, done, start)).toBe(true);
  });

  test('has its keys in one slot of a cluster', async () => {
    const store = await open();
    await store.begin(pending(), start);
    await store.begin(pending({ id: 'b' }), start);
    await store.finish('b', trackId, done, start);
    const keys = await redis.command('KEYS', '*');
    // The name, what is known of it and its mark; two records; the indexes of two states and of a caller's two kinds.
    expect(keys).toHaveLength(9);
    for (const name of [keys].flat(2)) expect(name).toMatch(/^\{bankql\}:/);
  });

  test.each([done, rejected])('lets a $state record expire after the retention', async (outcome) => {
    const store = await open();
    await store.begin(pending(), start);
    expect(await redis.command('PTTL', key)).toBe(-1);
    await store.finish(id, trackId, outcome, start);
    const left = Number(await redis.command('PTTL', key));
    expect(left).toBeGreaterThan(retentionMs - 60_000);
    expect(left).toBeLessThanOrEqual(retentionMs);
  });

  test('forgets an expired record by itself, and begins with its id anew', async () => {
    const store = await open({ retentionMs: 50 });
    await store.begin(pending(), start);
    await store.finish(id, trackId, done, start);
    await expect.poll(() => redis.command('EXISTS', key)).toBe(0);
    expect(await store.search({ states: ['DONE'] }, start)).toEqual([]);
    expect(await store.begin(pending({ trackId: 'attempt-2' }), start)).toBeNull();
    expect(await redis.command('PTTL', key)).toBe(-1);
    expect(await store.search({ states: ['PENDING'] }, start)).toEqual([stored({ trackId: 'attempt-2' })]);
  });

  test('never lets a PENDING or UNKNOWN record expire, until it is settled', async () => {
    const store = await open();
    await store.begin(pending(), start);
    await store.find(id, start + lease);
    expect(await redis.command('HGET', key, 'state')).toBe('UNKNOWN');
    expect(await redis.command('PTTL', key)).toBe(-1);
    await store.settle(id, 'DONE', 'ops', start + lease);
    expect(await redis.command('PTTL', key)).toBeGreaterThan(0);
  });

  test('lists more records than it reads at once', async () => {
    const store = await open();
    const ids = Array.from({ length: 450 }, (_, n) => `p-${String(n).padStart(3, '0')}`);
    await Promise.all(ids.map((other) => store.begin(pending({ id: other }), start)));
    expect((await store.search({ states: ['PENDING'] }, start)).map((record) => record.id)).toEqual(ids);
  });

  test('runs where the server has forgotten its scripts', async () => {
    const store = await open();
    await store.begin(pending(), start);
    await redis.command('SCRIPT', 'FLUSH');
    expect(await store.begin(pending({ trackId: 'attempt-2' }), start)).toEqual(stored());
  });

  test('stores nothing where the server has no memory left, and still writes how payments ended', async () => {
    const store = await open();
    await store.begin(pending(), start);
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await expect(store.begin(pending({ id: 'b' }), start)).rejects.toThrow(/is not available: .*OOM/);
      expect(await store.find('b', start)).toBeNull();
      expect(await store.finish(id, trackId, done, start)).toBe(true);
    } finally {
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    }
    expect(await store.search({ states: ['PENDING'] }, start)).toEqual([]);
  });
});
