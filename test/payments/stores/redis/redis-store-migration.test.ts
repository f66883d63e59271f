import { createHash, createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentRecord, PaymentState, PaymentStore } from '../../../../src/payments/store.ts';
import { createRedisStore } from '../../../../src/payments/stores/redis/redis-store.ts';
import { hasRedis, startRedis, type TestRedis } from '../../../support/redis.ts';
import { done, lease, pending, retentionMs } from '../store-conformance.ts';

const caller = createHash('sha256').update('["sandbox","alice"]').digest('hex');
const now = Date.now();

describe.skipIf(!hasRedis)('with redis-server (skipped where none is installed)', () => {
  const opened: PaymentStore[] = [];
  let redis: TestRedis;

  async function open(): Promise<PaymentStore> {
    const store = await createRedisStore({ address: redis.address, retentionMs, timeoutMs: 5_000 });
    opened.push(store);
    return store;
  }
  const keyed = ({ secret }: PaymentStore) => createHmac('sha256', secret).update(caller).digest('hex');

  /** What version 1 wrote: no history, no `version`, and a caller's plain hash that no index knows. */
  async function writeOld(id: string, state: PaymentState, at = now): Promise<void> {
    const { history, bankText, requestId, replica, ...record } = pending({
      id,
      caller,
      state,
      createdAt: at,
      updatedAt: at,
      leaseUntil: at + lease,
    });
    const fields = Object.entries(record).flatMap(([field, value]) =>
      value === null ? [] : [field, String(value)],
    );
    const awaited = state === 'PENDING' ? '1' : '0';
    await redis.command('HSET', `{bankql}:payment:${id}`, 'awaited', awaited, ...fields);
    if (state === 'DONE') await redis.command('PEXPIRE', `{bankql}:payment:${id}`, String(retentionMs));
    await redis.command(
      'ZADD',
      `{bankql}:payments:${state}`,
      String(state === 'PENDING' ? at + lease : at),
      id,
    );
  }
  const ids = (records: readonly PaymentRecord[]) => records.map(({ id }) => id);

  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(async () => {
    await redis.command('FLUSHALL');
    await redis.command('SET', '{bankql}:store', '1:0b1e6f0c-8f7e-4e3e-9f55-0d0f4e0a5f1c');
  });
  afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));
  afterAll(() => redis.stop());

  test("records of version 1 get their callers' keyed hashes, and an index, once", async () => {
    await writeOld('done', 'DONE', now - 4);
    await writeOld('rejected', 'REJECTED', now - 3);
    await writeOld('unknown', 'UNKNOWN', now - 2);
    await writeOld('pending', 'PENDING', now - 1);
    // Two processes at once, and a third one later.
    const [store] = await Promise.all([open(), open()]);
    await open();
    expect(store.loss).toBeNull();
    const all = await store.search({ caller: keyed(store), newestFirst: true }, Date.now());
    expect(ids(all)).toEqual(['pending', 'unknown', 'rejected', 'done']);
    expect(new Set(all.map((record) => record.caller))).toEqual(new Set([keyed(store)]));
    expect(all.map(({ history }) => history)).toEqual([[], [], [], []]);
    expect(await redis.command('HGET', '{bankql}:payment:done', 'caller')).toBe(keyed(store));
    expect(await redis.command('KEYS', `*${caller}*`)).toEqual([]);
    expect(
      Number(await redis.command('PTTL', `{bankql}:payments:caller:${keyed(store)}:finished`)),
    ).toBeGreaterThan(0);
    expect(await store.status(Date.now())).toMatchObject({ records: 4, pending: 1, unknown: 1 });
  });

  test('many of them are read in pages', async () => {
    await Promise.all(Array.from({ length: 450 }, (_, n) => writeOld(`p-${n}`, 'UNKNOWN', now + (n % 3))));
    const store = await open();
    expect(await store.search({ caller: keyed(store) }, Date.now())).toHaveLength(450);
  });

  test('what an older bankql beside this one writes is read right at once, and found from the next start on', async () => {
    const store = await open();
    await writeOld('late', 'PENDING');
    expect(await store.find('late', Date.now())).toMatchObject({ caller: keyed(store), state: 'PENDING' });
    expect(await store.begin(pending({ id: 'late', trackId: 'attempt-2' }), Date.now())).toMatchObject({
      caller: keyed(store),
      trackId: 'attempt-1',
    });
    await open();
    expect(ids(await store.search({ caller: keyed(store) }, Date.now()))).toEqual(['late']);
  });

  test('a record of version 1 ends and is settled like any other, before it is migrated', async () => {
    const store = await open();
    await writeOld('ends', 'PENDING');
    await writeOld('settled', 'UNKNOWN');
    expect(await store.finish('ends', pending().trackId, done, Date.now())).toBe(true);
    expect(await store.settle('settled', 'REJECTED', 'ops', Date.now())).toBe(true);
    await open();
    const found = await store.search({ caller: keyed(store) }, Date.now());
    expect(new Map(found.map((record) => [record.id, record.state]))).toEqual(
      new Map([
        ['ends', 'DONE'],
        ['settled', 'REJECTED'],
      ]),
    );
    expect(found.flatMap(({ history }) => history.map(({ state }) => state)).sort()).toEqual([
      'DONE',
      'REJECTED',
    ]);
    expect(await redis.command('KEYS', `*${caller}*`)).toEqual([]);
  });

  test("the store's name stays as version 1 wrote it, so that older processes go on", async () => {
    const store = await open();
    await store.begin(pending(), Date.now());
    expect(await redis.command('GET', '{bankql}:store')).toBe('1:0b1e6f0c-8f7e-4e3e-9f55-0d0f4e0a5f1c');
  });
});
