import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { OperationDeadline } from '../../src/bank/deadline.ts';
import { operations } from '../../src/contract/operations.ts';
import { createTestClient } from '../support/bank-client.ts';
import { answer, type FaultyBank, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { inTimeMs } from '../support/in-time.ts';
import { readFrom } from '../support/read-from.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';
import { quietFor, turns } from '../support/waits.ts';

const read = sampleCalls.getCustomer;
const change = sampleCalls.putCustomerID;
const payment = sampleCalls.postMakeTransaction;
const one = { connections: 1, waitMs: 150, timeoutMs: 60_000, paymentTimeoutMs: 60_000 };

/** Keeps what arrives, to be answered by the test. */
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
  test('is OVERLOADED after the wait, was not sent, and is not sent later', async () => {
    await using bank = await startFaultyBank();
    await using client = createTestClient(bank.url, one);
    const held = holding(bank);
    const busy = first.run(client, canaries, customer('busy')).catch(() => {});
    await expect.poll(() => held.length).toBe(1);

    const started = performance.now();
    const failure = await second.run(client).catch((error: unknown) => error);
    const elapsedMs = performance.now() - started;
    expect(failure).toMatchObject(
      second.operation.kind === 'payment'
        ? { name: 'TransportFailure', reason: 'overloaded', sent: false }
        : {
            code: 'OVERLOADED',
            extensions: { retryable: true, operation: second.operation.id },
            cause: { sent: false },
          },
    );
    expect(elapsedMs).toBeGreaterThan(one.waitMs - 20);
    expect(elapsedMs).toBeLessThan(inTimeMs);

    for (const socket of held) socket.write(answer(200, first.reply));
    await busy;
    await quietFor(100);
    expect(bank.requests).toHaveLength(1);
    bank.behave(reply(200, second.reply));
    expect((await second.run(client)).answer).toEqual(second.answer);
    expect(bank.requests).toHaveLength(2);
  });
});

describe('a place among the connections', () => {
  test.each([
    ['a write and a payment', [read], [change, payment]],
    ['a read', [change], [read]],
  ] as const)('for %s is another than for the others', async (_, busy, free) => {
    await using bank = await startFaultyBank();
    await using client = createTestClient(bank.url, one);
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
    await using bank = await startFaultyBank();
    await using client = createTestClient(bank.url, { ...one, waitMs: 60_000 });
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
