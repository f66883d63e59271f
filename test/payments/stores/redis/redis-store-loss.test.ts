import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, RESP_TYPES } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PaymentStore, StoreUnavailable } from '../../../../src/payments/store.ts';
import { openConnection } from '../../../../src/payments/stores/redis/connection.ts';
import {
  createRedisStore,
  type RedisStoreOptions,
} from '../../../../src/payments/stores/redis/redis-store.ts';
import { acceptMissing, openStoreMetadata } from '../../../../src/payments/stores/redis/store-metadata.ts';
import type { StoreEvent } from '../../../../src/payments/stores/store-event.ts';
import { hasRedis, startRedis, type TestRedis } from '../../../support/redis.ts';
import { done, pending, retentionMs, start } from '../store-conformance.ts';

const { trackId } = pending();

describe.skipIf(!hasRedis)('with redis-server (skipped where none is installed)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-witness-'));
  const opened: PaymentStore[] = [];
  let redis: TestRedis;
  let files = 0;
  let witness: string;

  async function open(change: Partial<RedisStoreOptions> = {}): Promise<PaymentStore> {
    const options = {
      address: redis.address,
      retentionMs,
      timeoutMs: 2_000,
      clock: 'caller',
      ...change,
    } as const;
    const store = await createRedisStore(options);
    opened.push(store);
    return store;
  }

  const begin = (store: PaymentStore, id: string) => store.begin(pending({ id }), start);

  async function refusal(store: PaymentStore): Promise<string> {
    const error: unknown = await begin(store, 'refused').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailable);
    return String(error);
  }

  /** All that Redis holds now; the answer puts it back, and nothing else. */
  async function backup(): Promise<() => Promise<void>> {
    const client = createClient({ url: redis.url, RESP: 2 });
    await client.connect();
    const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const keys = await client.keys('*');
    const dumps = await Promise.all(keys.map(async (key) => [key, await bytes.dump(key)] as const));
    return async () => {
      await client.flushAll();
      for (const [key, dump] of dumps) await bytes.restore(key, 0, Buffer.from(dump ?? ''));
      client.destroy();
    };
  }

  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(async () => {
    await redis.command('FLUSHALL');
    witness = join(folder, `witness-${files++}`);
  });
  afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));
  afterAll(async () => {
    await redis.stop();
    rmSync(folder, { recursive: true });
  });

  test('a store has a secret, the same for all, and for as long as it exists', async () => {
    const [first, second] = [await open(), await open()];
    expect(first.secret).toMatch(/^[0-9a-f]{64}$/);
    expect(second.secret).toBe(first.secret);
    await redis.command('FLUSHALL');
    expect((await open()).secret).not.toBe(first.secret);
  });

  test('counts what was begun, once, and says nothing of a loss where there is none', async () => {
    const events: StoreEvent[] = [];
    const store = await open({ witness, onEvent: (event) => events.push(event) });
    await begin(store, 'a');
    await begin(store, 'a');
    await begin(store, 'b');
    await store.release('b', trackId);
    await begin(store, 'b');
    expect(await redis.command('HMGET', '{bankql}:mark', 'began', 'newestAt')).toEqual(['3', String(start)]);
    await expect
      .poll(() => JSON.parse(readFileSync(witness, 'utf8')))
      .toMatchObject({ began: 3, newestAt: start });
    const again = await open({ witness, onEvent: (event) => events.push(event) });
    expect(again.loss).toBeNull();
    expect(events).toEqual([]);
  });

  test.each(['{bankql}:store', '{bankql}:meta'])(
    'a store without %s is noticed at the start by its own mark',
    async (key) => {
      const before = await open();
      await begin(before, 'a');
      await before.close();
      await redis.command('DEL', key);
      const store = await open();
      const reason = 'it has lost records: its own mark knows of 1 payment until 2026-01-15T00:00:00.000Z';
      expect(store.loss).toContain(`The payment store ${redis.url}/0 refuses payments: ${reason}`);
      expect(await refusal(store)).toContain(`is not available: ${reason}`);
      expect(await store.find('a', start)).toMatchObject({ state: 'PENDING' });
      expect(await store.search({ states: ['PENDING'] }, start)).toHaveLength(1);
      expect(await store.finish('a', trackId, done, start)).toBe(true);
    },
  );

  test('an emptied store is noticed at the start by the witness', async () => {
    const before = await open({ witness });
    await begin(before, 'a');
    await begin(before, 'b');
    await before.close();
    await redis.command('FLUSHALL');
    const store = await open({ witness });
    expect(store.loss).toContain(
      `it has lost records: ${witness} knows of 2 payments until 2026-01-15T00:00:00.000Z, and it is new and holds none of them`,
    );
    expect(await refusal(store)).toContain('it has lost records');
  });

  test('an older copy that was put back is noticed at the start by the witness', async () => {
    const before = await open({ witness });
    await begin(before, 'a');
    const restore = await backup();
    await begin(before, 'b');
    await before.close();
    await restore();
    const store = await open({ witness });
    expect(store.loss).toMatch(/knows of 2 payments .+ it holds 1 of them/);
    expect(await redis.command('HGET', '{bankql}:meta', 'began')).toBe('1');
  });

  test('an older copy that was put back while bankql runs is noticed when it connects again', async () => {
    const events: StoreEvent[] = [];
    const store = await open({ onEvent: (event) => events.push(event) });
    await begin(store, 'a');
    const restore = await backup();
    await begin(store, 'b');
    await restore();
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => refusal(store)).toContain('this process knows of 2 payments');
    expect(events).toEqual([{ kind: 'loss', loss: store.loss }]);
  });

  test('what several processes miss is noted and accepted at its highest', async () => {
    const store = await open();
    await begin(store, 'a');
    const name = String(await redis.command('GET', '{bankql}:store'));
    const connection = await openConnection(redis.address, { timeoutMs: 2_000, connectTimeoutMs: 2_000 });
    const server = { connection, name, retentionMs, clock: 'caller' } as const;
    const reopen = (began: number) => {
      const mark = { storeId: name, began, newestAt: start + began };
      return openStoreMetadata(server, { marks: [{ where: 'it', mark }], begins: [], secret: null });
    };
    for (const began of [7, 9, 8]) expect((await reopen(began)).loss).toContain(`${began} payments`);
    expect(await redis.command('HGET', '{bankql}:meta', `missed:${name}`)).toBe(`9 ${start + 9}`);
    expect(await acceptMissing(server, 'Ada', start)).toMatchObject({ began: 9, newestAt: start + 9 });
    for (const began of [7, 9, 8]) expect((await reopen(began)).loss).toBeNull();
    connection.drop('the test is over');
  });

  test('a beginning that is gone is noticed also where another process has begun as many since, once', async () => {
    const events: StoreEvent[] = [];
    const store = await open({ onEvent: (event) => events.push(event) });
    await begin(store, 'a');
    const restore = await backup();
    await begin(store, 'b');
    await begin(store, 'released');
    await store.release('released', trackId);
    await restore();
    const other = await open();
    for (const id of ['c', 'd', 'e']) expect(await begin(other, id)).toBeNull();
    const reconnect = () => redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await reconnect();
    const lost =
      'it has lost records: of the latest 2 payments of this process 1 are missing, the first of 2026-01-15T00:00:00.000Z';
    await expect.poll(() => refusal(store)).toContain(lost);
    await expect.poll(() => refusal(other)).toContain(lost);
    expect(events).toEqual([{ kind: 'loss', loss: store.loss }]);

    await (await open({ create: false })).acceptLoss('Ada', start);
    await reconnect();
    for (const each of [store, other])
      await expect.poll(() => begin(each, 'b').catch(() => 'not yet')).not.toBe('not yet');
    expect(store.loss).toBeNull();
  });

  test('a beginning that was taken back, begun again elsewhere or forgotten in time is no loss', async () => {
    const [store, other] = [await open({ clock: 'server' }), await open({ clock: 'server' })];
    const at = Date.now();
    const old = at - retentionMs - 1_000;
    const paid = (id: string, createdAt: number) =>
      pending({ id, createdAt, updatedAt: createdAt, leaseUntil: at + 60_000 });
    await store.begin(paid('released', at), at);
    await store.begin(paid('outlived', old), at);
    await store.release('released', trackId);
    await other.begin({ ...paid('released', at), trackId: 'another' }, at);
    await redis.command('DEL', '{bankql}:payment:outlived');
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => store.begin(paid('next', at), at).catch(() => 'not yet')).toBeNull();
    expect(store.loss).toBeNull();
  });

  test('is refused by all processes, also those that saw nothing, until it is accepted; then by none', async () => {
    const events: StoreEvent[] = [];
    const before = await open({ witness });
    await begin(before, 'a');
    await before.close();
    await redis.command('FLUSHALL');
    const ignorant = await open({ onEvent: (event) => events.push(event) });
    expect(await begin(ignorant, 'b')).toBeNull();
    expect(ignorant.loss).toBeNull();

    const store = await open({ witness });
    expect(store.loss).toContain('it is another store');
    expect(await refusal(ignorant)).toContain('it has lost records');
    expect(ignorant.loss).toBe(store.loss);
    // A start does not forget it, whatever that process knows.
    expect((await open()).loss).toBe(store.loss);

    const operator = await open({ witness, create: false });
    await operator.acceptLoss('Ada: the server was replaced', start + 5);
    expect(operator.loss).toBeNull();
    expect(JSON.parse(readFileSync(witness, 'utf8')).began).toBe(1);
    expect(await redis.command('HMGET', '{bankql}:meta', 'lossAcceptedBy', 'lossAcceptedAt', 'loss')).toEqual(
      ['Ada: the server was replaced', String(start + 5), null],
    );
    for (const [n, each] of [ignorant, store, operator, await open({ witness })].entries()) {
      expect(await begin(each, `c-${n}`)).toBeNull();
      expect(each.loss).toBeNull();
    }
    expect(events).toEqual([{ kind: 'loss', loss: expect.any(String) }, { kind: 'loss-accepted' }]);
  });

  test('that was accepted is accepted for other witnesses of the same payments', async () => {
    const other = `${witness}-other`;
    const before = await open({ witness });
    await begin(before, 'a');
    const restore = await backup();
    await begin(before, 'b');
    await before.close();
    writeFileSync(other, readFileSync(witness));
    // Once as an older copy of the same store, and once as another store.
    for (const lose of [restore, () => redis.command('FLUSHALL')]) {
      await lose();
      const store = await open({ witness });
      expect(store.loss).not.toBeNull();
      await store.acceptLoss('Ada', start);
      await store.close();
      expect((await open({ witness: other })).loss).toBeNull();
      expect((await open({ witness })).loss).toBeNull();
    }
  });

  test('is seen by status', async () => {
    const store = await open();
    await begin(store, 'a');
    await redis.command('HSET', '{bankql}:meta', 'loss', 'it is so');
    expect(await store.status(start)).toEqual({ records: 1, pending: 1, unknown: 0, newestAt: start });
    expect(store.loss).toBe(`The payment store ${redis.url}/0 refuses payments: it is so.`);
    await redis.command('HDEL', '{bankql}:meta', 'loss');
    await store.status(start);
    expect(store.loss).toBeNull();
  });

  test('a witness that cannot be read refuses payments, one that cannot be written does not', async () => {
    writeFileSync(witness, 'x');
    const store = await open({ witness });
    expect(store.loss).toMatch(/witness-\d+ cannot be read .+ not known whether records were lost/);
    await refusal(store);
    await store.acceptLoss('Ada', start);
    expect((await open({ witness })).loss).toBeNull();

    const events: StoreEvent[] = [];
    const nowhere = join(folder, 'nowhere', 'witness');
    const other = await open({ witness: nowhere, onEvent: (event) => events.push(event) });
    expect(await begin(other, 'a')).toBeNull();
    await expect.poll(() => events).toMatchObject([{ kind: 'mark-failed', file: nowhere }]);
  });

  test('a witness that cannot be read is the loss of its own process alone, until it can be read', async () => {
    const healthy = await open();
    await begin(healthy, 'a');
    writeFileSync(witness, '');
    const store = await open({ witness });
    await refusal(store);
    expect(await store.find('a', start)).toMatchObject({ state: 'PENDING' });
    expect(await begin(healthy, 'b')).toBeNull();
    await healthy.status(start);
    expect(healthy.loss).toBeNull();
    expect((await open()).loss).toBeNull();
    expect(readFileSync(witness, 'utf8')).toBe('');
    await store.status(start);
    expect(store.loss).toContain('cannot be read');

    // The operator's process, with the same witness.
    const operator = await open({ witness, create: false });
    await operator.acceptLoss('Ada', start);
    const payAgain = () => store.status(start).then(() => begin(store, 'c'));
    await expect.poll(() => payAgain().catch(() => 'not yet')).not.toBe('not yet');
    expect(store.loss).toBeNull();
  });

  test('is nothing to a store that may forget payments', async () => {
    const store = await open({ witness, allowVolatile: true });
    await begin(store, 'a');
    const { secret } = store;
    await redis.command('FLUSHALL');
    await expect.poll(() => begin(store, 'b').catch(() => 'not yet')).toBeNull();
    expect(store.loss).toBeNull();
    expect(store.secret).toBe(secret);
    expect((await open({ witness, allowVolatile: true })).loss).toBeNull();
  });

  test('a newer bankql, and one that may not run all commands, are said at the start', async () => {
    await open();
    await redis.command('HSET', '{bankql}:meta', 'version', '2');
    await expect(open()).rejects.toThrow(/its records are of version 2, .+ run the newer bankql/);
    await redis.command('HSET', '{bankql}:meta', 'version', '1');
    await redis.command('ACL', 'SETUSER', 'app', 'on', '>p', '~{bankql}:*', '+@all', '-zcount');
    const address = { ...redis.address, username: 'app', password: 'p' };
    await expect(open({ address })).rejects.toThrow(/cannot be used: .*can't run this command/);
  });
});
