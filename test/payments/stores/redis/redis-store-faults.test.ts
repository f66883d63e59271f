import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type PaymentStore, StoreUnavailable } from '../../../../src/payments/store.ts';
import {
  createRedisStore,
  type RedisStoreOptions,
} from '../../../../src/payments/stores/redis/redis-store.ts';
import { inTimeMs } from '../../../support/in-time.ts';
import { durable, freePort, hasRedis, startRedis, type TestRedis } from '../../../support/redis.ts';
import { done, lease, pending, retentionMs, start, stored, unknown } from '../store-conformance.ts';

const { id, trackId } = pending();
const again = pending({ trackId: 'attempt-2' });
const opened: PaymentStore[] = [];
let redis: TestRedis;

async function open(change: Partial<RedisStoreOptions> = {}): Promise<PaymentStore> {
  const options = {
    address: redis.address,
    retentionMs,
    timeoutMs: 500,
    startTimeoutMs: 500,
    clock: 'caller',
    ...change,
  } as const;
  const store = await createRedisStore(options);
  opened.push(store);
  return store;
}

/** What a call fails with, and after how many milliseconds. */
async function failure(call: Promise<unknown>): Promise<{ message: string; took: number }> {
  const began = performance.now();
  const error: unknown = await call.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreUnavailable);
  return { message: String(error), took: performance.now() - began };
}

/** What keeps the store from being opened. */
const refusal = (change: Partial<RedisStoreOptions> = {}) =>
  open(change).then(
    () => 'it was opened',
    (error: unknown) => String(error),
  );

/** Tries until the store answers. */
const answers = (store: PaymentStore) =>
  expect.poll(() => store.find('none', start).catch(() => 'not yet'), { timeout: 10_000, interval: 50 });

afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
  await redis?.stop();
});

describe.skipIf(!hasRedis)('with redis-server (skipped where none is installed)', () => {
  beforeEach(async () => {
    redis = await startRedis();
  });

  describe('a server that is down', () => {
    test('before a payment makes the store unavailable in time, and is used again when it is back', async () => {
      const store = await open();
      await redis.kill();
      const calls = [
        store.begin(pending(), start),
        store.find(id, start),
        store.search({ states: ['DONE'] }, start),
      ];
      for (const { took } of await Promise.all(calls.map(failure))) expect(took).toBeLessThan(inTimeMs);
      const { message } = await failure(store.begin(pending(), start));
      expect(message).toContain(`${redis.url}/0 is not available: `);
      await redis.restart();
      await answers(store).toBeNull();
      expect(await store.begin(pending(), start)).toBeNull();
    });

    test('between begin and finish has kept the record, SIGKILL or not', async () => {
      const store = await open();
      await store.begin(pending(), start);
      await redis.kill('SIGKILL');
      await failure(store.finish(id, trackId, done, start));
      await redis.restart();
      await answers(store).toBeNull();
      expect(await store.begin(again, start)).toEqual(stored());
      expect(await store.finish(id, trackId, done, start)).toBe(true);
      expect(await store.find(id, start)).toEqual(stored(done));
    });

    test('while payments begin stores each of them or nothing', async () => {
      const store = await open();
      const ids = Array.from({ length: 100 }, (_, n) => `p-${n}`);
      const begins = ids.map((other) => store.begin(pending({ id: other }), start));
      const settled = Promise.allSettled(begins);
      await begins[0];
      await redis.kill();
      const results = await settled;
      await redis.restart();
      await answers(store).toBeNull();
      // Those that failed are taken back before anything else.
      const kept = new Set((await store.search({ states: ['PENDING'] }, start)).map((record) => record.id));
      expect([...kept].sort()).toEqual(ids.filter((_, n) => results[n]?.status === 'fulfilled').sort());
    });

    test('does not hold up close', async () => {
      const store = await open({ timeoutMs: 60_000 });
      await redis.kill();
      const began = performance.now();
      await store.close();
      expect(performance.now() - began).toBeLessThan(inTimeMs);
    });

    test('stops the start, with its address and the remedy', async () => {
      await redis.kill();
      expect(await refusal()).toMatch(
        `The payment store ${redis.url}/0 cannot be reached: connect ECONNREFUSED 127.0.0.1:${redis.address.port}. STATE_URL has to name a Redis that runs.`,
      );
    });
  });

  describe('a server that answers nothing', () => {
    test('makes the store unavailable in time, keeps nothing, and is used again when it goes on', async () => {
      const store = await open();
      await store.begin(pending({ id: 'before' }), start);
      redis.pause();
      const begun = [pending(), pending({ id: 'b' })].map((record) => failure(store.begin(record, start)));
      for (const { message, took } of await Promise.all(begun)) {
        expect(took).toBeLessThan(inTimeMs);
        expect(message).toContain('no answer in 500 ms');
      }
      // From here on nothing is sent that would wait behind those.
      const { message } = await failure(store.begin(pending({ id: 'c' }), start));
      expect(message).toContain('it does not answer');
      redis.resume();
      await answers(store).toBeNull();
      await expect
        .poll(async () => (await store.search({ states: ['PENDING'] }, start)).map((record) => record.id))
        .toEqual(['before']);
      expect(await store.begin(again, start)).toBeNull();
    });

    test('for long loses its connection; what was begun is taken back over the next', async () => {
      const store = await open({ timeoutMs: 100 });
      redis.pause();
      await failure(store.begin(pending(), start));
      await expect
        .poll(() => failure(store.find(id, start)))
        .toMatchObject({ message: expect.stringContaining('no answer in 1000 ms') });
      redis.resume();
      await answers(store).toBeNull();
      expect(await store.find(id, start)).toBeNull();
      expect(await redis.command('EXISTS', `{bankql}:payment:${id}`)).toBe(0);
    });

    test('is found out before a payment has to wait for it', async () => {
      const store = await open({ timeoutMs: 50 });
      redis.pause();
      await delay(2_000);
      expect((await failure(store.begin(pending(), start))).message).not.toContain('no answer in 50 ms');
      redis.resume();
      await answers(store).toBeNull();
      expect(await store.begin(pending(), start)).toBeNull();
    });

    test('does not keep close waiting for longer than its calls', async () => {
      const store = await open();
      redis.pause();
      const begun = failure(store.begin(pending(), start));
      const began = performance.now();
      await store.close();
      expect(performance.now() - began).toBeLessThan(inTimeMs);
      await begun;
    });

    test('stops the start', async () => {
      redis.pause();
      expect(await refusal()).toContain('cannot be reached: no answer in 2000 ms');
    });
  });

  describe('a server that would forget payments', () => {
    const cases: [string, readonly string[], RegExp][] = [
      ['as it comes, without an append-only file', [], /no append-only file.+set "appendonly yes"/],
      [
        'with an eviction policy',
        [...durable, '--maxmemory-policy', 'volatile-lru'],
        /maxmemory-policy is volatile-lru.+set "maxmemory-policy noeviction"/,
      ],
      [
        'that writes its file once a second',
        ['--appendonly', 'yes'],
        /appendfsync is everysec.+set "appendfsync always"/,
      ],
    ];

    test.each(cases)('%s stops the start, unless that is accepted', async (_, args, reason) => {
      await redis.kill();
      await redis.restart(args);
      const began = performance.now();
      const message = await refusal({ startTimeoutMs: 60_000 });
      expect(performance.now() - began).toBeLessThan(inTimeMs);
      expect(message).toMatch(`The payment store ${redis.url}/0 cannot be used: `);
      expect(message).toMatch(reason);
      expect(message).toContain('STATE_ALLOW_VOLATILE=1');
      const store = await open({ allowVolatile: true });
      expect(await store.begin(pending(), start)).toBeNull();
    });

    test('is refused when it takes the place of another', async () => {
      const store = await open();
      await store.begin(pending(), start);
      await redis.kill();
      await redis.restart([...durable, '--maxmemory-policy', 'allkeys-lru']);
      await expect
        .poll(() => failure(store.begin(again, start)))
        .toMatchObject({ message: expect.stringContaining('maxmemory-policy is allkeys-lru') });
      await redis.kill();
      await redis.restart(durable);
      await answers(store).toBeNull();
      expect(await store.begin(again, start)).toEqual(stored());
    });

    test('and has, is refused until that is accepted, also after a restart, so that no payment is sent twice', async () => {
      const store = await open();
      await store.begin(pending(), start);
      await redis.command('FLUSHALL');
      for (let attempt = 0; attempt < 3; attempt++) {
        expect((await failure(store.begin(again, start))).message).toContain('it has lost its records');
        await answers(store).toBeNull();
        const lost =
          'this process knows of 1 payment until 2026-01-15T00:00:00.000Z, and it is new and holds none';
        expect((await failure(store.begin(again, start))).message).toContain(lost);
        const restarted = await open();
        expect((await failure(restarted.begin(again, start))).message).toContain(lost);
        expect(restarted.secret).toBe(store.secret);
        await redis.command('FLUSHALL');
      }
      await failure(store.begin(again, start));
      await answers(store).toBeNull();
      const other = await open();
      await other.acceptLoss('Ada', start);
      expect(await other.begin(again, start)).toBeNull();
      expect(await store.begin(again, start)).toMatchObject({ trackId: again.trackId });
      expect(store.loss).toBeNull();
    });

    test('and has, goes on where that was accepted', async () => {
      const store = await open({ allowVolatile: true });
      await store.begin(pending(), start);
      await redis.command('FLUSHALL');
      await failure(store.begin(again, start));
      await answers(store).toBeNull();
      expect(await store.begin(again, start)).toBeNull();
    });

    test('is judged by INFO where CONFIG is forbidden', async () => {
      // The commands that docs/payments.md names, and no other.
      const page = readFileSync(join(import.meta.dirname, '../../../../docs/payments.md'), 'utf8');
      const named = /A user needs ([^;]+);/.exec(page)?.[1] ?? '';
      const allowed = [...named.matchAll(/`([A-Z]+)`/g)].map(([, command]) => `+${command}`);
      const user = ['ACL', 'SETUSER', 'app', 'on', '>p', '~{bankql}:*', '-@all', ...allowed];
      await redis.command(...user);
      const address = { ...redis.address, username: 'app', password: 'p' };
      const store = await open({ address });
      expect(await store.begin(pending(), start)).toBeNull();
      expect(await store.finish(id, trackId, unknown, start)).toBe(true);
      expect(await store.settle(id, 'DONE', 'ops', start)).toBe(true);
      expect(await store.search({ states: ['DONE'] }, start)).toHaveLength(1);
      await store.begin(pending({ id: 'b' }), start);
      expect(await store.search({ states: ['UNKNOWN'] }, start + lease)).toHaveLength(1);
      await store.begin(pending({ id: 'c' }), start + 2 * retentionMs);
      expect(await store.release('c', trackId)).toBe(true);
      await redis.kill();
      await redis.restart([]);
      await redis.command(...user);
      expect(await refusal({ address })).toContain('no append-only file');
    });

    test('and does not say so, is refused', async () => {
      await redis.command('ACL', 'SETUSER', 'app', 'on', '>p', '~{bankql}:*', '+@all', '-info');
      const address = { ...redis.address, username: 'app', password: 'p' };
      expect(await refusal({ address })).toContain('may not run INFO');
      expect(await (await open({ address, allowVolatile: true })).begin(pending(), start)).toBeNull();
    });
  });

  describe('replicas', () => {
    test('cannot be asked by a user who may not WAIT; what was stored is taken back', async () => {
      await redis.command('ACL', 'SETUSER', 'app', 'on', '>p', '~{bankql}:*', '+@all', '-wait');
      const address = { ...redis.address, username: 'app', password: 'p' };
      const store = await open({ address, waitReplicas: 1 });
      const { message } = await failure(store.begin(pending(), start));
      expect(message).toMatch(/NOPERM.*wait/i);
      await expect.poll(() => redis.command('EXISTS', `{bankql}:payment:${id}`)).toBe(0);
    });

    test('have to confirm a payment; where they do not, it is taken back', async () => {
      const store = await open({ waitReplicas: 1 });
      const { message, took } = await failure(store.begin(pending(), start));
      expect(message).toContain('0 of 1 replicas confirmed it');
      expect(took).toBeLessThan(inTimeMs);
      await expect.poll(() => store.find(id, start)).toBeNull();

      await using replica = await startRedis([...durable, '--replicaof', `127.0.0.1 ${redis.address.port}`]);
      await expect
        .poll(() => replica.command('INFO', 'replication'), { timeout: 15_000 })
        .toContain('master_link_status:up');
      await expect
        .poll(() => store.begin(pending(), start).catch(() => 'not yet'), { timeout: 10_000 })
        .toBeNull();
      const begins = Array.from({ length: 50 }, (_, n) => store.begin(pending({ id: `p-${n}` }), start));
      expect(new Set(await Promise.all(begins))).toEqual(new Set([null]));
      expect(await replica.command('EXISTS', `{bankql}:payment:${id}`)).toBe(1);
      expect(await refusal({ address: replica.address })).toContain('it is a replica: name the primary');

      await replica.kill();
      await failure(store.begin(pending({ id: 'late' }), start));
      // How a payment ended is written all the same.
      expect(await store.finish(id, trackId, done, start)).toBe(true);
    });

    test('that are missing do not let calls pile up', async () => {
      const store = await open({ waitReplicas: 1 });
      const begins = Array.from({ length: 100 }, (_, n) =>
        failure(store.begin(pending({ id: `p-${n}` }), start)),
      );
      for (const { took } of await Promise.all(begins)) expect(took).toBeLessThan(inTimeMs);
      await expect
        .poll(() => store.search({ states: ['PENDING'] }, start).catch(() => 'not yet'))
        .toEqual([]);
    });
  });

  test('a primary that becomes a replica is left', async () => {
    const store = await open();
    await store.begin(pending(), start);
    await redis.command('REPLICAOF', '127.0.0.1', String(await freePort()));
    expect((await failure(store.begin(pending({ id: 'b' }), start))).message).toContain('READONLY');
    await expect
      .poll(() => failure(store.find(id, start)))
      .toMatchObject({ message: expect.stringContaining('it is a replica') });
    await redis.command('REPLICAOF', 'NO', 'ONE');
    await answers(store).toBeNull();
    expect(await store.begin(again, start)).toEqual(stored());
  });

  test('a begin whose answer came too late is taken back', async () => {
    const store = await open();
    await redis.command('CONFIG', 'RESETSTAT');
    await redis.command('CLIENT', 'PAUSE', '800');
    expect((await failure(store.begin(pending(), start))).message).toContain('no answer in 500 ms');
    await expect.poll(() => redis.command('INFO', 'commandstats')).toContain('cmdstat_zadd:');
    await expect.poll(() => redis.command('EXISTS', `{bankql}:payment:${id}`)).toBe(0);
    expect(await store.begin(again, start)).toBeNull();
  });

  test.each([
    [1, 'is followed by another'],
    [Number.POSITIVE_INFINITY, 'again and again ends the start with an error that names the server'],
  ])('a connection that is cut while old records are migrated (%d times) %s', async (times) => {
    let cut = 0;
    const proxy = createServer((client) => {
      const server = connect(redis.address);
      client.on('error', () => {}).on('close', () => server.destroy());
      server
        .on('error', () => {})
        .on('close', () => client.destroy())
        .pipe(client);
      client.on('data', (sent) => {
        if (cut >= times || !sent.includes('migratedAt')) return void server.write(sent);
        cut++;
        return void client.resetAndDestroy();
      });
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = z.object({ port: z.number() }).parse(proxy.address());
      const result = await refusal({ address: { ...redis.address, port } });
      expect(cut).toBeGreaterThanOrEqual(1);
      expect(result).toBe(
        times === 1
          ? 'it was opened'
          : `Error: The payment store redis://127.0.0.1:${port}/0 cannot be reached: read ECONNRESET. STATE_URL has to name a Redis that runs.`,
      );
    } finally {
      proxy.close();
    }
  });

  test('a connection that is cut is followed by another', async () => {
    const store = await open();
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await answers(store).toBeNull();
    expect(await store.begin(pending(), start)).toBeNull();
  });

  test('passwords are used, and not shown', async () => {
    await redis.command('CONFIG', 'SET', 'requirepass', 's3cret p@ss');
    const secret = { ...redis.address, password: 's3cret p@ss' };
    expect(await (await open({ address: secret })).begin(pending(), start)).toBeNull();
    expect(await refusal()).toMatch(/cannot be used: NOAUTH/);
    const wrong = await refusal({ address: { ...secret, password: 'wr0ng' } });
    expect(wrong).toMatch(/cannot be used: WRONGPASS/);
    expect(wrong).not.toContain('wr0ng');
  });

  test('a store that is not made where there is none refuses an empty server', async () => {
    expect(await refusal({ create: false })).toContain('it holds no payments of bankql');
    expect(await redis.command('DBSIZE')).toBe(0);
    await open();
    expect(await (await open({ create: false })).search({ states: ['UNKNOWN'] }, start)).toEqual([]);
  });
});
