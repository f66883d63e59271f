import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { WriteUncertain } from '../../../../src/payments/driver.ts';
import { StoreUnavailable } from '../../../../src/payments/store.ts';
import { parsePostgresUrl } from '../../../../src/payments/stores/postgres/address.ts';
import {
  ConnectionLost,
  type PostgresConnection,
  ServerNotReady,
  ServerRefused,
} from '../../../../src/payments/stores/postgres/connection.ts';
import { type LineOptions, openLine } from '../../../../src/payments/stores/postgres/line.ts';

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

async function open(change: Partial<LineOptions> = {}) {
  return openLine({
    address: parsePostgresUrl('postgres://bankql@db/bankql') ?? expect.fail(),
    timeoutMs: 1_000,
    startTimeoutMs: 1_000,
    open: async () => fakeConnection(),
    ...change,
  });
}

/** What the server says of a statement that it does not execute. */
const refusal = (code: string) => Object.assign(new DatabaseError(code, 0, 'error'), { code });

describe('a start', () => {
  const failAt = (ms: number, error: Error) => {
    const times = [0, ms];
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => times.shift() ?? ms);
    let isFirst = true;
    const connection = fakeConnection();
    const opened = open({
      startTimeoutMs: undefined,
      async open() {
        if (!isFirst) return connection;
        isFirst = false;
        throw error;
      },
    });
    return opened.finally(() => clock.mockRestore());
  };

  test('gives up after 5 s if no server is reached', async () => {
    const unreachable = new Error('connect ECONNREFUSED');
    await (await failAt(4_999, unreachable)).close();
    await expect(failAt(5_000, unreachable)).rejects.toThrow(
      'The payment store postgres://db:5432/bankql cannot be reached: connect ECONNREFUSED. STATE_URL has to name a PostgreSQL that runs.',
    );
  });

  test('gives up after 30 s if a server is reached, and is not ready', async () => {
    const slow = new ServerNotReady('no answer in 10000 ms');
    await (await failAt(29_999, slow)).close();
    await expect(failAt(30_000, slow)).rejects.toThrow(
      'The payment store postgres://db:5432/bankql was reached, and is not ready: no answer in 10000 ms. Try again when the server answers.',
    );
  });

  test('gives up at once if the server cannot be used', async () => {
    await expect(failAt(0, new ServerRefused('it is a standby'))).rejects.toThrow(
      'cannot be used: it is a standby.',
    );
  });
});

test('calls wait for their turn, and keep their order', async () => {
  const line = await open({ timeoutMs: 60_000 });
  const first = Promise.withResolvers<void>();
  const order: string[] = [];
  const holds = line.ask(() => first.promise);
  const others = ['a', 'b'].map((name) => line.ask(async () => order.push(name)));
  expect(order).toEqual([]);
  first.resolve();
  await Promise.all([holds, ...others]);
  expect(order).toEqual(['a', 'b']);
  await line.close();
});

test('a call fails if no connection is found in time', async () => {
  const first = fakeConnection();
  let count = 0;
  const line = await open({
    timeoutMs: 20,
    open: async (closing) =>
      count++ === 0
        ? first
        : new Promise((_, reject) => closing.addEventListener('abort', () => reject(new Error('closed')))),
  });
  first.drop('it was cut');
  await expect(line.ask(async () => 'used')).rejects.toThrow('is not available: no connection in 20 ms.');
  await line.close();
});

test('a lost connection whose successor is cut while it is set up fails no call', async () => {
  const opened: PostgresConnection[] = [];
  let cuts = 0;
  const line = await open({
    async open() {
      if (opened.length === 1 && cuts++ === 0) throw new Error('it was cut');
      const connection = fakeConnection();
      opened.push(connection);
      return connection;
    },
  });
  opened[0]?.drop('it was cut');
  await opened[0]?.lost;
  expect(await line.ask(async (connection) => connection === opened[1])).toBe(true);
  expect(cuts).toBe(2);
  await line.close();
});

test('a server that is away fails calls at once, with the reason, and is used again when it is back', async () => {
  let isAway = false;
  let current = fakeConnection();
  const line = await open({
    async open() {
      if (isAway) throw new Error('connect ECONNREFUSED');
      current = fakeConnection();
      return current;
    },
  });
  isAway = true;
  current.drop('the server ended the connection');
  await current.lost;
  await expect(line.ask(async () => 'used')).rejects.toThrow('ECONNREFUSED');
  isAway = false;
  await expect.poll(() => line.ask(async () => 'used').catch(() => 'away')).toBe('used');
  await line.close();
});

test('a line that pauses goes on at once if another one has found the server, and its calls wait', async () => {
  let isAway = false;
  const opened: PostgresConnection[] = [];
  const line = await open({
    timeoutMs: 60_000,
    async open() {
      if (isAway) throw new Error('connect ECONNREFUSED');
      const connection = fakeConnection();
      opened.push(connection);
      return connection;
    },
  });
  isAway = true;
  opened[0]?.drop('the server ended the connection');
  await opened[0]?.lost;
  await expect(line.ask(async () => 'used')).rejects.toThrow('ECONNREFUSED');
  isAway = false;
  line.hurry();
  await nextTurn();
  expect(await line.ask(async () => 'used')).toBe('used');
  await line.close();
});

test('a call whose connection is lost is made again over the next one', async () => {
  const opened: PostgresConnection[] = [];
  const line = await open({
    async open() {
      const connection = fakeConnection();
      opened.push(connection);
      return connection;
    },
  });
  const used: number[] = [];
  const answer = await line.ask(async (connection) => {
    used.push(opened.indexOf(connection));
    if (used.length > 1) return 'done';
    connection.drop('it was cut');
    throw new ConnectionLost('it was cut');
  });
  expect({ answer, used }).toEqual({ answer: 'done', used: [0, 1] });
  await line.close();
});

test('jobs that come while others are done are done together', async () => {
  const line = await open({ timeoutMs: 60_000 });
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begun = Promise.withResolvers<void>();
  const batches: (readonly number[])[] = [];
  const double = line.together(async (_, jobs: readonly number[]) => {
    const gate = gates[batches.push(jobs) - 1];
    begun.resolve();
    await gate?.promise;
    return (job) => job * 2;
  });
  const first = [double(1), double(2)];
  await begun.promise;
  const later = [double(3), double(4), double(5)];
  for (const gate of gates) gate.resolve();
  expect(await Promise.all([...first, ...later])).toEqual([2, 4, 6, 8, 10]);
  expect(batches).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  await line.close();
});

test('a job that the server cannot store fails alone', async () => {
  const line = await open();
  const batches: (readonly string[])[] = [];
  const store = line.together(async (_, jobs: readonly string[]) => {
    batches.push(jobs);
    if (jobs.includes('too long')) throw refusal('54000');
    return (job) => `${job} is stored`;
  });
  const settled = await Promise.allSettled(['a', 'too long', 'b'].map(store));
  expect(settled).toEqual([
    { status: 'fulfilled', value: 'a is stored' },
    { status: 'rejected', reason: expect.any(StoreUnavailable) },
    { status: 'fulfilled', value: 'b is stored' },
  ]);
  expect(batches).toEqual([['a', 'too long', 'b'], ['a'], ['too long'], ['b']]);
  await line.close();
});

test('jobs that a lost connection may have stored are uncertain, and those that the server refused are not', async () => {
  const line = await open({ timeoutMs: 0 });
  const fail = (error: Error) =>
    line.together(async () => {
      throw error;
    })('job');
  await expect(fail(new ConnectionLost('it was cut'))).rejects.toThrow(WriteUncertain);
  const refused: unknown = await fail(refusal('55P03')).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreUnavailable);
  expect(refused).not.toBeInstanceOf(WriteUncertain);
  await line.close();
});

test('close waits for the calls that are under way, and ends the connection', async () => {
  const connection = fakeConnection();
  const line = await open({ open: async () => connection });
  const work = Promise.withResolvers<string>();
  const call = line.ask(() => work.promise);
  const closed = line.close().then(() => 'closed');
  work.resolve('done');
  expect(await call).toBe('done');
  expect(await closed).toBe('closed');
  expect(await connection.lost).toEqual({ reason: 'it is closed', wasBusy: false });
  await expect(line.ask(async () => 'used')).rejects.toThrow('it is closed');
});

/** A line whose connection was lost, while the next one is being opened. */
async function openReconnecting(next: (closing: AbortSignal) => Promise<PostgresConnection>) {
  const first = fakeConnection();
  const asked = Promise.withResolvers<AbortSignal>();
  let isFirst = true;
  const line = await open({
    async open(closing) {
      if (!isFirst) {
        asked.resolve(closing);
        return next(closing);
      }
      isFirst = false;
      return first;
    },
  });
  first.drop('it was cut');
  return { line, closing: await asked.promise };
}

test('close waits for the connection that is being opened, and ends it', async () => {
  const { promise: slow, resolve } = Promise.withResolvers<PostgresConnection>();
  const second = fakeConnection();
  const { line, closing } = await openReconnecting(() => slow);
  const closed = line.close().then(() => 'closed');
  await expect.poll(() => closing.aborted).toBe(true);
  resolve(second);
  expect(await closed).toBe('closed');
  expect(await second.lost).toEqual({ reason: 'it is closed', wasBusy: false });
});

test('close ends at once if the connection that is being opened fails: a pause would not keep the process alive', async () => {
  const { line } = await openReconnecting(async (closing) => {
    await new Promise((resolve) => closing.addEventListener('abort', resolve));
    throw new Error('it is closed');
  });
  let isClosed = false;
  void line.close().then(() => {
    isClosed = true;
  });
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect(isClosed).toBe(true);
});
