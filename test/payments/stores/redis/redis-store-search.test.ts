import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentRecord, PaymentStore } from '../../../../src/payments/store.ts';
import { createRedisStore } from '../../../../src/payments/stores/redis/redis-store.ts';
import type { StoreEvent } from '../../../../src/payments/stores/store-event.ts';
import { hasRedis, startRedis, type TestRedis } from '../../../support/redis.ts';
import { done, pending, rejected, retentionMs, start, unknown } from '../store-conformance.ts';

const [alice, bob] = ['a'.repeat(64), 'b'.repeat(64)];
const openKey = `{bankql}:payments:caller:${alice}:open`;
const finishedKey = `{bankql}:payments:caller:${alice}:finished`;
const { trackId } = pending();

describe.skipIf(!hasRedis)('with redis-server (skipped where none is installed)', () => {
  const events: StoreEvent[] = [];
  let redis: TestRedis;
  let store: PaymentStore;

  /** A payment that began so many milliseconds after the start. */
  const begin = (id: string, after: number, change: Partial<PaymentRecord> = {}) => {
    const at = start + after;
    const times = { createdAt: at, updatedAt: at, leaseUntil: at + 10_000_000 };
    return store.begin(pending({ id, caller: alice, ...times, ...change }), at);
  };
  const ids = (records: readonly PaymentRecord[]) => records.map(({ id }) => id);
  /** How many records Redis has read since. */
  const recordsRead = async () =>
    Number(/cmdstat_hgetall:calls=(\d+)/.exec(String(await redis.command('INFO', 'commandstats')))?.[1] ?? 0);

  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(async () => {
    await redis.command('FLUSHALL');
    events.length = 0;
    store = await createRedisStore({
      address: redis.address,
      retentionMs,
      timeoutMs: 5_000,
      clock: 'caller',
      onEvent: (event) => events.push(event),
    });
  });
  afterEach(() => store.close());
  afterAll(() => redis.stop());

  test("reads a page of a caller's payments from its index", async () => {
    const all = Array.from({ length: 300 }, (_, n) => `a-${String(n).padStart(3, '0')}`);
    await Promise.all(all.map((id, n) => begin(id, n)));
    await Promise.all(all.map((id) => begin(id.replace('a', 'b'), 400, { caller: bob })));
    const newest = all.toReversed();
    const before = await recordsRead();
    const page = await store.search({ caller: alice, newestFirst: true, limit: 20 }, start + 500);
    expect(ids(page)).toEqual(newest.slice(0, 20));
    // Another page is needed to know that none of the same moment was missed.
    expect((await recordsRead()) - before).toBeLessThanOrEqual(40);
    expect(ids(await store.search({ caller: alice, newestFirst: true }, start + 500))).toEqual(newest);
    expect(ids(await store.search({ caller: alice }, start + 500))).toEqual(all);
  });

  test("finds a caller's payments in every state, and only the newest page of all others", async () => {
    await begin('done', 1);
    await begin('unknown', 2);
    await begin('pending', 3);
    await begin('rejected', 4);
    await begin('other', 5, { caller: bob });
    await store.finish('done', trackId, done, start + 10);
    await store.finish('unknown', trackId, unknown, start + 11);
    await store.finish('rejected', trackId, rejected, start + 12);
    const search = async (states?: PaymentRecord['state'][]) =>
      ids(await store.search({ caller: alice, states, newestFirst: true, limit: 10 }, start + 20));
    expect(await search()).toEqual(['rejected', 'pending', 'unknown', 'done']);
    expect(await search(['UNKNOWN', 'PENDING'])).toEqual(['pending', 'unknown']);
    expect(await search(['DONE'])).toEqual(['done']);
    const newest = await store.search({ newestFirst: true, limit: 2 }, start + 20);
    expect(ids(newest)).toEqual(['other', 'rejected']);
  });

  test('finds the newest also where many ended after it began', async () => {
    for (let n = 0; n < 60; n++) {
      await begin(`p-${n}`, n);
      await store.finish(`p-${n}`, trackId, done, start + 1_000 - n);
    }
    const newest = await store.search({ states: ['DONE'], newestFirst: true, limit: 3 }, start + 2_000);
    expect(ids(newest)).toEqual(['p-59', 'p-58', 'p-57']);
  });

  test('finds all of many that began at the same moment', async () => {
    const same = Array.from({ length: 450 }, (_, n) => `p-${String(n).padStart(3, '0')}`);
    await Promise.all(same.map((id) => begin(id, 0)));
    expect(ids(await store.search({ states: ['PENDING'] }, start))).toEqual(same);
    expect(ids(await store.search({ newestFirst: true, limit: 3 }, start))).toEqual(
      same.slice(-3).toReversed(),
    );
    expect(ids(await store.search({ idPrefix: 'p-44' }, start))).toEqual(same.slice(-10));
  });

  test('many lists at once leave room for a payment', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, n) => begin(`p-${n}`, n)));
    const lists = Array.from({ length: 20 }, () => store.search({ caller: alice }, start + 500));
    let over = false;
    const ended = Promise.all(lists).finally(() => {
      over = true;
    });
    const begun: unknown[] = [];
    while (!over) begun.push(await begin(`b-${begun.length}`, 400, { caller: bob }).catch(String));
    expect(new Set(begun)).toEqual(new Set([null]));
    for (const found of await ended) expect(found).toHaveLength(250);
  });

  test('finds a whole id without reading any other record', async () => {
    const id = '0123456789abcdef'.repeat(4);
    await Promise.all(Array.from({ length: 30 }, (_, n) => begin(`p-${n}`, n)));
    await begin(id, 0);
    const before = await recordsRead();
    expect(ids(await store.search({ idPrefix: id }, start))).toEqual([id]);
    expect(await store.search({ idPrefix: id, states: ['DONE'] }, start)).toEqual([]);
    expect((await recordsRead()) - before).toBe(2);
    await store.finish(id, trackId, done, start);
    expect(await store.search({ idPrefix: id }, start + retentionMs + 1)).toEqual([]);
  });

  test('ends more leases than one call ends', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, n) => begin(`p-${n}`, n)));
    const later = start + 20_000_000;
    expect(await store.status(later)).toMatchObject({ records: 250, pending: 0, unknown: 250 });
    expect(await store.search({ states: ['PENDING'] }, later)).toEqual([]);
    expect(await store.search({ states: ['UNKNOWN'] }, later)).toHaveLength(250);
  });

  test("forgets of a caller's index what expired, and the index with the last of it; what is open stays", async () => {
    await begin('done', 0);
    await begin('stays', 0);
    await store.finish('done', trackId, done, start);
    expect(Number(await redis.command('PTTL', finishedKey))).toBeGreaterThan(retentionMs - 60_000);
    expect(await redis.command('PTTL', openKey)).toBe(-1);
    expect(await redis.command('ZRANGE', openKey, '0', '-1')).toEqual(['stays']);
    // Redis forgets the record; its entry goes when the caller pays again.
    await redis.command('DEL', '{bankql}:payment:done');
    await begin('late', retentionMs + 1);
    expect(await redis.command('EXISTS', finishedKey)).toBe(0);
    const found = await store.search({ caller: alice }, start + retentionMs + 1);
    expect(ids(found)).toEqual(['stays', 'late']);
    expect(await store.release('late', trackId)).toBe(true);
    expect(await redis.command('ZRANGE', openKey, '0', '-1')).toEqual(['stays']);
  });

  test('says when more than a tenth of all is forgotten', async () => {
    for (let n = 0; n < 30; n++) {
      await begin(`p-${n}`, n);
      if (n < 3) await store.finish(`p-${n}`, trackId, done, start + n);
    }
    await begin('q-0', retentionMs + 1);
    await begin('q-1', retentionMs + 2);
    expect(events).toEqual([]);
    for (let n = 3; n < 8; n++) await store.finish(`p-${n}`, trackId, done, start + 100 + n);
    await begin('q-2', retentionMs + 200);
    expect(events).toEqual([{ kind: 'purge', deleted: 6, expired: 6, records: 31 }]);
  });
});
