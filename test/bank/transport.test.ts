import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { BankClient } from '../../src/bank/client.ts';
import { TransportFailure } from '../../src/bank/http-message.ts';
import { OperationDeadline } from '../../src/bank/operation-deadline.ts';
import { operations } from '../../src/contract/operations.ts';
import type { BankqlError } from '../../src/errors.ts';
import { connect, createTestClient, failedCall, readFrom } from '../support/bank-client.ts';
import {
  answer,
  type FaultyBank,
  hang,
  inTurn,
  later,
  reply,
  reset,
  startFaultyBank,
  write,
} from '../support/faulty-bank.ts';
import { letPass } from '../support/let-pass.ts';
import { canaries, type SampleCall, sampleCalls } from '../support/sample-calls.ts';
import { lateBy, quietFor, turns } from '../support/waits.ts';

const payment = sampleCalls.postMakeTransaction;

const prepared = (client: BankClient) =>
  client.prepare(operations.putAccountID, {
    ids: { bankId: 'B', accountId: 'a' },
    body: { balance: {} },
    credentials: canaries,
  });

describe('the start of a request and its end exclude each other', () => {
  test.each([
    ['a read', sampleCalls.getCustomer],
    ['a write', sampleCalls.putCustomerID],
    ['a payment', payment],
  ])('%s whose connection opens after the deadline is not sent', async (_, sample) => {
    const { bank, client } = await connect(reply(200, sample.reply), {
      timeoutMs: 60_000,
      paymentTimeoutMs: 60_000,
    });
    const call = sample.run(client).catch((error: unknown) => error);
    // The timer of the deadline is late, so the deadline is determined by the clock.
    letPass(60_001);
    const failure = await call;
    const { cause } = failure as Error;
    expect(failure instanceof TransportFailure ? failure : cause).toMatchObject({
      reason: 'timeout',
      sent: false,
    });
    expect((await sample.run(client)).answer).toEqual(sample.answer);
    expect(bank.requests).toHaveLength(1);
  });

  test('a write that must not be sent any more when its connection is open is not sent', async () => {
    const { bank, client } = await connect(reply(200, sampleCalls.putAccountID.reply));
    const late = new Error('its lease is over');
    const beforeStart = () => {
      throw late;
    };
    await expect(client.send(prepared(client), { beforeStart })).rejects.toMatchObject({
      name: 'TransportFailure',
      sent: false,
      cause: late,
    });
    const own = new TransportFailure('timeout', false, 'its time is over');
    const throwOwn = () => {
      throw own;
    };
    await expect(client.send(prepared(client), { beforeStart: throwOwn })).rejects.toBe(own);
    const moments: number[] = [];
    const { status } = await client.send(prepared(client), {
      beforeStart: () => void moments.push(bank.requests.length),
    });
    expect([status, moments, bank.requests.length]).toEqual([200, [0], 1]);
  });
});

test('without keep-alive each read has a connection of its own', async () => {
  const read = sampleCalls.getBranches;
  for (const [keepAlive, connections] of [
    [true, 1],
    [false, 3],
  ] as const) {
    const { bank, client } = await connect(reply(200, read.reply), { keepAlive, connections: 1 });
    for (let call = 0; call < 3; call++) expect((await read.run(client)).answer).toEqual(read.answer);
    expect([bank.requests.length, bank.connections()]).toEqual([3, connections]);
  }
});

test('one slow operation and one greedy caller delay nobody else’s reads', async () => {
  const { bank, client } = await connect(hang, { connections: 8 });
  bank.behave((socket) => {
    if (bank.requests.at(-1)?.includes('/customers/')) return;
    reply(200, sampleCalls.getMessagesOwner.reply)(socket);
  });
  const slow = Promise.allSettled(
    Array.from({ length: 20 }, (_, nth) =>
      sampleCalls.getCustomer.run(client, { ...canaries, authId: 'greedy' }, { customerId: `c-${nth}` }),
    ),
  );
  await expect.poll(() => bank.requests.length).toBe(4);
  for (let nth = 0; nth < 5; nth++)
    expect((await sampleCalls.getMessagesOwner.run(client)).answer).toEqual(
      sampleCalls.getMessagesOwner.answer,
    );
  await client.close();
  const codes = (await slow).map((each) => each.status);
  expect(new Set(codes)).toEqual(new Set(['rejected']));
});

const read = sampleCalls.getBranches;
const change = sampleCalls.putCustomerID;

describe('a call of which nothing was sent', () => {
  test.each([
    ['a read', read],
    ['a write', change],
    ['a payment', sampleCalls.postMakeTransaction],
  ])('%s to a refused port says so, and never reaches the bank', async (_, sample) => {
    const { bank, client } = await connect(reply(200, sample.reply));
    await bank.close();
    const failure = await sample.run(client).catch((error: unknown) => error);
    expect(failure).toMatchObject(
      sample.operation.kind === 'payment'
        ? { name: 'TransportFailure', reason: 'unavailable', sent: false }
        : { code: 'BANK_UNAVAILABLE', extensions: { retryable: true, operation: sample.operation.id } },
    );
    await bank.listen();
    await quietFor(100);
    expect(bank.connections()).toBe(0);
    expect((await sample.run(client)).answer).toEqual(sample.answer);
    expect(bank.requests).toHaveLength(1);
  });
});

describe('a caller who leaves', () => {
  const { getBranches } = operations;
  const readInput = { ids: { bankId: 'SNDBCY2N' }, credentials: canaries };

  test('ends a read at once, and frees its connection', async () => {
    const { bank, client } = await connect(hang, { timeoutMs: 10_000 });
    const caller = new AbortController();
    const call = readFrom(client, getBranches, readInput, {
      operationDeadline: new OperationDeadline({ signal: caller.signal }),
    }).catch((error: unknown) => error);
    await expect.poll(() => bank.requests.length).toBe(1);
    caller.abort();
    expect(await call).toMatchObject({ name: 'BankqlError', cause: { reason: 'cancelled' } });
    await expect.poll(bank.open).toBe(0);
    expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
  });

  test('before a read began has no call made', async () => {
    const { bank, client } = await connect(reply(200, read.reply));
    const call = readFrom(client, getBranches, readInput, {
      operationDeadline: new OperationDeadline({ signal: AbortSignal.abort() }),
    });
    await expect(call).rejects.toMatchObject({
      name: 'BankqlError',
      cause: { reason: 'cancelled', sent: false },
    });
    await read.run(client);
    expect(bank.requests).toHaveLength(1);
  });
});

describe('a client that is closed', () => {
  test('sends nothing any more', async () => {
    await using bank = await startFaultyBank(reply(200, read.reply));
    const client = createTestClient(bank.url);
    await client.close();
    for (const sample of [read, change])
      expect((await failedCall(sample, client)).error.code).toBe('BANK_UNAVAILABLE');
    expect(bank.connections()).toBe(0);
  });

  test('ends calls in progress: a read is unavailable, the outcome of a write is unknown', async () => {
    await using bank = await startFaultyBank();
    const client = createTestClient(bank.url, { timeoutMs: 10_000 });
    const failures = Promise.all([failedCall(read, client), failedCall(change, client)]);
    await expect.poll(() => bank.requests.length).toBe(2);
    await client.close();
    expect((await failures).map(({ error }) => error.code)).toEqual(['BANK_UNAVAILABLE', 'OUTCOME_UNKNOWN']);
    await expect.poll(bank.open).toBe(0);
  });
});

describe('a credential that nobody checked', () => {
  test.each(['a\r\nX-Evil: 1', 'a\nb', 'a\rb', 'a\0b'])('%j does not reach the bank', async (authId) => {
    const { bank, client } = await connect(reply(200, sampleCalls.getCustomer.reply));
    const call = sampleCalls.getCustomer.run(client, { ...canaries, authId });
    await expect(call).rejects.toMatchObject({ code: 'BANK_UNAVAILABLE' });
    await expect(call).rejects.not.toMatchObject({ message: expect.stringContaining(authId) });
    expect(bank.requests).toEqual([]);
  });
});

describe('connections', () => {
  test('a write opens a connection and closes it; reads keep theirs', async () => {
    const { bank, client } = await connect();
    const run = async (sample: SampleCall) => {
      // A connection that was just used is free again after one iteration of the event loop.
      await turns();
      bank.behave(reply(200, sample.reply));
      const before = bank.connections();
      expect((await sample.run(client)).answer).toEqual(sample.answer);
      const connection = /\r\nconnection: (.*)\r\n/i.exec(bank.requests.at(-1) ?? '')?.[1];
      return [sample.operation.id, connection, bank.connections() - before];
    };
    const { postBranches, putAccountID, postMakeTransaction, putTransactionsRequestAccount } = sampleCalls;
    expect(await run(read)).toEqual(['getBranches', 'keep-alive', 1]);
    expect(await run(postBranches)).toEqual(['postBranches', 'keep-alive', 0]);
    for (const sample of [change, putAccountID, postMakeTransaction, putTransactionsRequestAccount, change])
      expect(await run(sample)).toEqual([sample.operation.id, 'close', 1]);
    expect(await run(read)).toEqual(['getBranches', 'keep-alive', 0]);
    await expect.poll(bank.open).toBe(1);
  });

  test('that the bank closed while they were idle are not used again', async () => {
    const { bank, client } = await connect((socket) => {
      socket.write(answer(200, read.reply));
      later(10, () => socket.end())(socket);
    });
    for (let turn = 0; turn < 3; turn++) {
      expect((await read.run(client)).answer).toEqual([]);
      await expect.poll(bank.open).toBe(0);
    }
    expect(bank.requests).toHaveLength(3);
  });
});

describe('bytes after an answer', () => {
  const evil = answer(200, '{"branches":[{"acceptsDeposits":true,"name":"of another request"}]}');

  test.each([
    ['in the same packet', 0],
    ['a little later', 30],
  ])('%s are nobody’s answer', async (_, delayMs) => {
    const { bank, client } = await connect(
      (socket) => {
        if (delayMs === 0) return void socket.write(Buffer.concat([answer(200, read.reply), evil]));
        socket.write(answer(200, read.reply));
        later(delayMs, write(evil))(socket);
      },
      { connections: 1 },
    );
    for (let turn = 0; turn < 5; turn++) {
      expect((await read.run(client)).answer).toEqual([]);
      await lateBy(2 * delayMs);
    }
    expect(bank.requests).toHaveLength(5);
  });

  const turnsLater = (turns: number, act: () => void): void =>
    void setImmediate(() => (turns > 1 ? turnsLater(turns - 1, act) : act()));

  test.each([0, 1, 2])(
    'are nobody’s answer, where another call waits for this very connection: %i turns later',
    async (turns) => {
      const { bank, client } = await connect(
        (socket) => {
          if (turns === 0) return void socket.write(Buffer.concat([answer(200, read.reply), evil]));
          socket.write(answer(200, read.reply));
          turnsLater(turns, () => socket.write(evil));
        },
        { connections: 1 },
      );
      const answers = await Promise.all(
        Array.from({ length: 9 }, (_, nth) =>
          read.run(client, { ...canaries, subscriptionKey: `key-${nth}` }),
        ),
      );
      expect(answers.map(({ answer }) => answer)).toEqual(Array(9).fill([]));
      expect(bank.requests).toHaveLength(9);
    },
  );
});

describe('a connection that is handed on', () => {
  const readAs = (client: Parameters<typeof read.run>[0], nth: number) =>
    read.run(client, { ...canaries, subscriptionKey: `key-${nth}` });

  test('is opened again for the next call if the bank has closed it with its answer; that call is sent once', async () => {
    const closing = Buffer.from(
      answer(200, read.reply).toString().replace('\r\n', '\r\nConnection: close\r\n'),
    );
    const { bank, client } = await connect((socket) => void socket.end(closing), { connections: 1 });
    const answers = await Promise.all(Array.from({ length: 5 }, (_, nth) => readAs(client, nth)));
    expect(answers.map(({ answer }) => answer)).toEqual(Array(5).fill([]));
    expect([bank.requests.length, bank.connections()]).toEqual([5, 5]);
  });

  test('after a failure of any kind is as good as new', async () => {
    const acts = [reset, hang, reply(500, '{}'), reply(200, 'x'.repeat(70_000))];
    const { bank, client } = await connect(hang, {
      connections: 1,
      maxBodyBytes: 60_000,
    });
    for (const act of acts) {
      bank.behave(inTurn(act, reply(200, read.reply)));
      const [bad, good] = await Promise.all([
        readFrom(
          client,
          operations.getBranches,
          { ids: { bankId: 'SNDBCY2N' }, credentials: { ...canaries, subscriptionKey: 'first' } },
          {
            operationDeadline: new OperationDeadline({
              deadline: performance.now() + (act === hang ? 2_000 : 60_000),
            }),
          },
        ).catch((error: Error) => error),
        readAs(client, 2),
      ]);
      expect(bad).toBeInstanceOf(Error);
      expect(good.answer).toEqual([]);
    }
    expect(bank.requests).toHaveLength(2 * acts.length);
  });

  test('is not one that is still being made: nobody has it before it is there, or is known not to come', async () => {
    // The TLS handshake gets no answer.
    await using bank = await startFaultyBank();
    bank.behave((socket) => void socket.resume(), 'connection');
    const origin = bank.url.replace('http:', 'https:');
    await using client = createTestClient(origin, {
      connections: 3,
      timeoutMs: 150,
      // The third call comes while both connections are still being opened.
      connectTimeoutMs: 3_000,
    });
    const codes = [];
    for (let nth = 0; nth < 3; nth++)
      codes.push(await readAs(client, nth).catch((error: BankqlError) => [error.code, error.cause]));
    expect(codes).toMatchObject([
      ['BANK_TIMEOUT', { sent: false }],
      ['BANK_TIMEOUT', { sent: false }],
      ['OVERLOADED', { sent: false }],
    ]);
    await expect.poll(bank.open).toBe(0);
    expect(bank.connections()).toBe(2);
    expect((await readAs(client, 4).catch((error: BankqlError) => error)) as BankqlError).toMatchObject({
      code: 'BANK_TIMEOUT',
    });
  });
});

describe('the wait for a connection', () => {
  const read = sampleCalls.getCustomer;
  const change = sampleCalls.putCustomerID;
  const payment = sampleCalls.postMakeTransaction;
  const one = { connections: 1, timeoutMs: 60_000, paymentTimeoutMs: 60_000 };

  /** Keeps incoming requests, so that the test can answer them. */
  function holding(bank: FaultyBank) {
    const held: Socket[] = [];
    bank.behave((socket) => void held.push(socket));
    return held;
  }

  const customer = (id: string) => ({ customerId: id });

  describe.each([
    ['a read', read, read],
    ['a write', change, change],
    ['a write behind a payment', payment, change],
    ['a payment behind a write', change, payment],
  ] as const)('%s that finds no place among the connections', (_, first, second) => {
    test('is OVERLOADED at once if no call may wait, was not sent, and is not sent later', async () => {
      const { bank, client } = await connect(hang, { ...one, waitingCalls: 0 });
      const held = holding(bank);
      const busy = first.run(client, canaries, customer('busy')).catch(() => {});
      await expect.poll(() => held.length).toBe(1);

      const failure = await second.run(client).catch((error: unknown) => error);
      expect(failure).toMatchObject(
        second.operation.kind === 'payment'
          ? { name: 'TransportFailure', reason: 'overloaded', sent: false }
          : {
              code: 'OVERLOADED',
              extensions: { retryable: true, operation: second.operation.id },
              cause: { sent: false },
            },
      );

      for (const socket of held) socket.write(answer(200, first.reply));
      await busy;
      await quietFor(100);
      expect(bank.requests).toHaveLength(1);
      bank.behave(reply(200, second.reply));
      expect((await second.run(client)).answer).toEqual(second.answer);
      expect(bank.requests).toHaveLength(2);
    });
  });

  test('lasts until the deadline of the call, which is then OVERLOADED and not sent later', async () => {
    const { bank, client } = await connect(hang, { ...one, timeoutMs: 100 });
    const held = holding(bank);
    const busy = payment.run(client);
    await expect.poll(() => held.length).toBe(1);
    await expect(change.run(client)).rejects.toMatchObject({ code: 'OVERLOADED', cause: { sent: false } });
    for (const socket of held) socket.write(answer(200, payment.reply));
    await busy;
    await quietFor(100);
    expect(bank.requests).toHaveLength(1);
  });

  test('that ends when the deadline is over is OVERLOADED too: the bank was not asked', async () => {
    const { bank, client } = await connect(hang, one);
    const held = holding(bank);
    const busy = read.run(client, canaries, customer('busy')).catch(() => {});
    await expect.poll(() => held.length).toBe(1);
    const late = read.run(client, canaries, customer('late')).catch((error: unknown) => error);
    await expect.poll(() => client.poolUsage().some(({ waiting }) => waiting === 1)).toBe(true);
    letPass(one.timeoutMs);
    for (const socket of held) socket.write(answer(200, read.reply));
    await busy;
    expect(await late).toMatchObject({ code: 'OVERLOADED', cause: { sent: false } });
    expect(bank.requests).toHaveLength(1);
  });

  describe('a place among the connections', () => {
    test.each([
      ['a write and a payment', [read], [change, payment]],
      ['a read', [change], [read]],
    ] as const)('for %s is another than for the others', async (_, busy, free) => {
      const { bank, client } = await connect(hang, one);
      const held = holding(bank);
      const calls = busy.map((sample) => sample.run(client).catch(() => {}));
      await expect.poll(() => held.length).toBe(busy.length);
      for (const sample of free) {
        bank.behave(reply(200, sample.reply));
        expect((await sample.run(client)).answer).toEqual(sample.answer);
      }
      for (const socket of held) socket.destroy();
      await Promise.all(calls);
    });

    test('is not taken by one who left while he waited', async () => {
      const { bank, client } = await connect(hang, one);
      const held = holding(bank);
      const busy = read.run(client, canaries, customer('busy'));
      await expect.poll(() => held.length).toBe(1);
      const leaving = new AbortController();
      const left = readFrom(
        client,
        operations.getCustomer,
        { ids: { bankId: 'B', customerId: 'left' }, credentials: canaries },
        { operationDeadline: new OperationDeadline({ signal: leaving.signal }) },
      );
      const next = read.run(client, canaries, customer('next'));
      await turns();
      leaving.abort();
      await expect(left).rejects.toMatchObject({ cause: { reason: 'cancelled' } });
      bank.behave(reply(200, read.reply));
      for (const socket of held) socket.write(answer(200, read.reply));
      await Promise.all([busy, next]);
      expect(bank.requests.map((request) => /customers\/(\w+)/.exec(request)?.[1])).toEqual(['busy', 'next']);
    });
  });
});
