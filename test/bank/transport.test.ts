import { describe, expect, test } from 'vitest';
import type { BankClient } from '../../src/bank/client.ts';
import { TransportFailure } from '../../src/bank/http-message.ts';
import { operations } from '../../src/contract/operations.ts';
import { createTestClient } from '../support/bank-client.ts';
import { reply, startFaultyBank } from '../support/faulty-bank.ts';
import { letPass } from '../support/let-pass.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';

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
    await using bank = await startFaultyBank(reply(200, sample.reply));
    await using client = createTestClient(bank.url, { timeoutMs: 60_000, paymentTimeoutMs: 60_000 });
    const call = sample.run(client).catch((error: unknown) => error);
    // The timer of the deadline is late: the clock decides.
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
    await using bank = await startFaultyBank(reply(200, sampleCalls.putAccountID.reply));
    await using client = createTestClient(bank.url);
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
    await using bank = await startFaultyBank(reply(200, read.reply));
    await using client = createTestClient(bank.url, { keepAlive, connections: 1 });
    for (let call = 0; call < 3; call++) expect((await read.run(client)).answer).toEqual(read.answer);
    expect([bank.requests.length, bank.connections()]).toEqual([3, connections]);
  }
});

test('one slow operation and one greedy caller delay nobody else’s reads', async () => {
  await using bank = await startFaultyBank();
  await using client = createTestClient(bank.url, { connections: 8, waitMs: 50 });
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
