import { expect, test } from 'vitest';
import { parsePostgresUrl } from '../../../../src/payments/stores/postgres/address.ts';
import type { PostgresConnection } from '../../../../src/payments/stores/postgres/connection.ts';
import { openPool, type PoolOptions } from '../../../../src/payments/stores/postgres/pool.ts';

/** A connection to nothing, which a test ends when it wants. */
function fakeConnection(): PostgresConnection {
  const { promise: lost, resolve } = Promise.withResolvers<{ reason: string; wasBusy: boolean }>();
  return {
    host: { host: 'db', port: 5432 },
    query: async () => ({ rows: [], warning: null }),
    drop: (reason) => resolve({ reason, wasBusy: false }),
    end: () => resolve({ reason: 'it is closed', wasBusy: false }),
    lost,
  };
}

async function open(change: Partial<PoolOptions> = {}) {
  return openPool({
    address: parsePostgresUrl('postgres://bankql@db/bankql') ?? expect.fail(),
    size: 1,
    timeoutMs: 1_000,
    startTimeoutMs: 1_000,
    open: async () => fakeConnection(),
    endLeftBehind: async () => {},
    ...change,
  });
}

test('a pool that is used up makes calls wait, in their order', async () => {
  const pool = await open({ timeoutMs: 60_000 });
  const first = Promise.withResolvers<void>();
  const order: string[] = [];
  const holds = pool.call(() => first.promise);
  const others = ['a', 'b'].map((name) => pool.call(async () => order.push(name)));
  expect(order).toEqual([]);
  first.resolve();
  await Promise.all([holds, ...others]);
  expect(order).toEqual(['a', 'b']);
  await pool.close();
});

test('a call that waits while no connection comes back fails', async () => {
  const pool = await open({ timeoutMs: 20 });
  const first = Promise.withResolvers<void>();
  const holds = pool.call(() => first.promise);
  await expect(pool.call(async () => 'used')).rejects.toThrow('all connections are in use');
  first.resolve();
  await holds;
  expect(await pool.call(async () => 'used')).toBe('used');
  await pool.close();
});

test('a lost connection whose successor is cut while it is set up fails no call', async () => {
  const opened: PostgresConnection[] = [];
  let cuts = 0;
  const pool = await open({
    async open() {
      if (opened.length === 1 && cuts++ === 0) throw new Error('it was cut');
      const connection = fakeConnection();
      opened.push(connection);
      return connection;
    },
  });
  opened[0]?.drop('it was cut');
  await opened[0]?.lost;
  expect(await pool.call(async (connection) => connection === opened[1])).toBe(true);
  expect(cuts).toBe(2);
  await pool.close();
});

test('a server that is away fails calls at once, with the reason, and is used again when it is back', async () => {
  let isAway = false;
  let current = fakeConnection();
  const pool = await open({
    async open() {
      if (isAway) throw new Error('connect ECONNREFUSED');
      current = fakeConnection();
      return current;
    },
  });
  isAway = true;
  current.drop('the server ended the connection');
  await current.lost;
  await expect(pool.call(async () => 'used')).rejects.toThrow('ECONNREFUSED');
  isAway = false;
  await expect.poll(() => pool.call(async () => 'used').catch(() => 'away')).toBe('used');
  await pool.close();
});

test('opens more connections than calls need at the moment, and no more than its size', async () => {
  let count = 0;
  const pool = await open({
    size: 8,
    async open() {
      count++;
      return fakeConnection();
    },
  });
  await expect.poll(() => count).toBe(4);
  const all = Promise.withResolvers<void>();
  const calls = Array.from({ length: 20 }, () => pool.call(() => all.promise));
  await expect.poll(() => count).toBe(8);
  all.resolve();
  await Promise.all(calls);
  expect(count).toBe(8);
  await pool.close();
});

test('close waits for the connection that is being opened, and ends it', async () => {
  const { promise: slow, resolve } = Promise.withResolvers<PostgresConnection>();
  const last = fakeConnection();
  let signal: AbortSignal | undefined;
  let count = 0;
  const pool = await open({
    size: 2,
    async open(closing) {
      signal = closing;
      return count++ === 0 ? fakeConnection() : slow;
    },
  });
  const closed = pool.close().then(() => 'closed');
  await expect.poll(() => signal?.aborted).toBe(true);
  resolve(last);
  expect(await closed).toBe('closed');
  expect(await last.lost).toEqual({ reason: 'it is closed', wasBusy: false });
  await expect(pool.call(async () => 'used')).rejects.toThrow('it is closed');
});
