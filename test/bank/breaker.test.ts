import type { Socket } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BreakerReason, CircuitBreaker, type CircuitBreakerOptions } from '../../src/bank/breaker.ts';
import type { BankOptions } from '../../src/bank/client.ts';
import { TransportFailure } from '../../src/bank/http-message.ts';
import { OperationDeadline } from '../../src/bank/operation-deadline.ts';
import { operations } from '../../src/contract/operations.ts';
import { createTestClient, failedCall, readFrom } from '../support/bank-client.ts';
import { createTestBankql } from '../support/bankql.ts';
import {
  type Act,
  answer,
  type FaultyBank,
  hang,
  lineOf,
  reply,
  reset,
  startFaultyBank,
} from '../support/faulty-bank.ts';
import { letPass } from '../support/let-pass.ts';
import { canaries, type SampleCall, sampleCalls } from '../support/sample-calls.ts';

/** A time that is longer than any test, so that a breaker stays open until the test changes the clock. */
const openMs = 60_000;
/** The deadline of a call. */
const timeoutMs = 30_000;
/** The minimum number of calls that can open a breaker. */
const least = 20;
const read = sampleCalls.getCustomer;
const other = sampleCalls.getMessagesOwner;
const change = sampleCalls.putCustomerID;
const payment = sampleCalls.postMakeTransaction;

/** A client with breakers, and the events that it reports. */
function clientOf(bank: FaultyBank, options: Partial<BankOptions> = {}) {
  const told: string[] = [];
  const reasons: (BreakerReason | null)[] = [];
  const client = createTestClient(bank.url, {
    timeoutMs,
    connections: 64,
    breakerThreshold: 0.5,
    breakerOpenMs: openMs,
    onBreaker(operation, isOpen, reason) {
      told.push(`${operation} ${isOpen ? 'opens' : 'closes'}`);
      reasons.push(reason);
    },
    ...options,
  });
  return { client, told, reasons };
}

/** A bank with this behaviour, and a client of it with breakers. Both end with the test. */
async function start(act: Act, options: Partial<BankOptions> = {}) {
  const bank = await startFaultyBank(act);
  const made = clientOf(bank, options);
  onTestFinished(async () => {
    await made.client.close();
    await bank.close();
  });
  return { bank, ...made };
}

type Client = ReturnType<typeof clientOf>['client'];

let asked = 0;
/**
 * Makes calls of an operation, all at once, each for another caller. Returns the error code of each; `good` if it
 * succeeded.
 */
const ask = (sample: SampleCall, client: Client, count = 1): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, () =>
      sample.run(client, { ...canaries, authId: `caller-${++asked}` }).then(
        () => 'good',
        (error: { readonly code?: string; readonly reason?: string }) =>
          error.code ?? error.reason ?? String(error),
      ),
    ),
  );

/** Makes the number of calls that opens a breaker. */
const open = (sample: SampleCall, client: Client) => ask(sample, client, least);

const away: readonly (readonly [string, Act])[] = [
  ['resets connections', reset],
  ['answers with 502', reply(502, '{}')],
  ['answers with 503', reply(503, '{}')],
  ['answers with 504', reply(504, '{}')],
];

/** Expects that the next call is refused at once, and does not reach the bank. */
async function expectPaused(bank: FaultyBank, client: Client, sample: SampleCall = read) {
  const before = [bank.connections(), bank.requests.length];
  const { error } = await failedCall(sample, client);
  expect(error.extensions).toMatchObject({ code: 'BANK_UNAVAILABLE', retryable: true });
  expect(error.extensions.status).toBeUndefined();
  expect(error.message).toMatch(
    /^The bank is not called for \w+: most calls failed or were slow lately, and it is given time to recover\.$/,
  );
  expect(error.cause).toMatchObject({ reason: 'paused', sent: false });
  expect([bank.connections(), bank.requests.length]).toEqual(before);
}

describe('a breaker opens, for its operation only, where the bank', () => {
  test.each(away)('%s', async (_, act) => {
    const { bank, client, told } = await start(act);
    expect(new Set(await open(read, client))).toEqual(new Set(['BANK_UNAVAILABLE']));
    expect(told).toEqual(['getCustomer opens']);
    await expectPaused(bank, client);
    bank.behave(reply(200, other.reply));
    expect(await ask(other, client)).toEqual(['good']);
    expect(told).toEqual(['getCustomer opens']);
  });

  test('refuses connections', async () => {
    const { bank, client, told } = await start(hang);
    await bank.close();
    await open(read, client);
    await bank.listen();
    await expectPaused(bank, client);
    expect(told).toEqual(['getCustomer opens']);
  });

  test.each([
    ['a read', read, 'BANK_TIMEOUT'],
    ['a write', change, 'OUTCOME_UNKNOWN'],
  ])('does not answer %s in time', async (_, sample, code) => {
    const arrived = Promise.withResolvers<void>();
    const { bank, client, told } = await start(() => bank.requests.length === least && arrived.resolve());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asked = open(sample, client);
    await arrived.promise;
    // Both clocks are advanced, because a timer that fires too early is set again.
    letPass(timeoutMs);
    vi.advanceTimersByTime(timeoutMs);
    vi.useRealTimers();
    expect(new Set(await asked)).toEqual(new Set([code]));
    expect(told).toEqual([`${sample.operation.id} opens`]);
    await expectPaused(bank, client, sample);
  });
});

describe('a breaker opens where the bank answers slowly', () => {
  // The deadlines are longer than any machine needs. The tests set the clock, so a call is slow only if a test makes it slow.
  const patient = { timeoutMs: 600_000, paymentTimeoutMs: 600_000 };
  const slowCallMs = 0.8 * patient.timeoutMs;

  /** Holds this number of calls, lets this time pass, and then answers all of them. */
  function togetherAfter(milliseconds: number, count: number, status: number, body: string): Act {
    const held: Socket[] = [];
    return (socket) => {
      held.push(socket);
      if (held.length < count) return;
      letPass(milliseconds);
      for (const each of held.splice(0)) each.write(answer(status, body));
    };
  }
  const slowly = ({ reply: body }: SampleCall, count = least) => togetherAfter(slowCallMs, count, 200, body);

  test.each([
    ['a read', read],
    ['a write', change],
  ])('(%s), and says so', async (_, sample) => {
    const { bank, client, reasons } = await start(slowly(sample), patient);
    expect(new Set(await open(sample, client))).toEqual(new Set(['good']));
    expect(reasons).toEqual(['slow']);
    await expectPaused(bank, client, sample);
    bank.behave(reply(200, other.reply));
    expect(await ask(other, client)).toEqual(['good']);
  });

  test('but not where calls waited for a connection', async () => {
    // One call is made at a time. The last call waits for longer than a slow call takes.
    const { client, told } = await start(togetherAfter(slowCallMs / 36, 1, 200, read.reply), {
      ...patient,
      connections: 1,
    });
    const started = performance.now();
    expect(new Set(await ask(read, client, 2 * least))).toEqual(new Set(['good']));
    expect(performance.now() - started).toBeGreaterThan(slowCallMs);
    expect(told).toEqual([]);
  });

  test('to payments only where it takes as great a part of their own, longer deadline', async () => {
    await using bank = await startFaultyBank(togetherAfter(slowCallMs, least, 200, ''));
    for (const [paymentTimeoutMs, reasons] of [
      [2 * patient.timeoutMs, []],
      [patient.timeoutMs, ['slow']],
    ] as const) {
      const client = clientOf(bank, { ...patient, paymentTimeoutMs });
      await using _client = client.client;
      expect(new Set(await open(payment, client.client))).toEqual(new Set(['good']));
      expect(client.reasons).toEqual(reasons);
    }
  });
});

describe('a breaker stays closed', () => {
  test('where less than half of the calls failed', async () => {
    const { bank, client, told } = await start(reply(200, read.reply));
    await ask(read, client, 30);
    bank.behave(reply(503, '{}'));
    await ask(read, client, 25);
    expect(told).toEqual([]);
    await ask(read, client, 10);
    expect(told).toEqual(['getCustomer opens']);
  });

  test('where clients leave before the bank answers', async () => {
    const { bank, client, told } = await start(hang, { connections: 4 * least });
    const leaving = new AbortController();
    const calls = Array.from({ length: 2 * least }, (_, nth) =>
      readFrom(
        client,
        operations.getCustomer,
        { ids: { bankId: 'B', customerId: `c-${nth}` }, credentials: canaries },
        { operationDeadline: new OperationDeadline({ signal: leaving.signal }) },
      ),
    );
    await expect.poll(() => bank.requests.length).toBe(2 * least);
    leaving.abort();
    await Promise.allSettled(calls);
    bank.behave(reply(200, read.reply));
    expect(await ask(read, client)).toEqual(['good']);
    expect(told).toEqual([]);
  });

  test.each([true, false])(
    'where the bank is not late, but callers had little time (alone: %s)',
    async (unshared) => {
      const held: Socket[] = [];
      const { bank, client, told } = await start((socket) => void held.push(socket));
      const hasty = Array.from({ length: 2 * least }, (_, nth) =>
        readFrom(
          client,
          operations.getCustomer,
          { ids: { bankId: 'B', customerId: `c-${nth}` }, credentials: canaries },
          { operationDeadline: new OperationDeadline({ deadline: performance.now() + 50 }), unshared },
        ),
      );
      for (const outcome of await Promise.allSettled(hasty)) expect(outcome.status).toBe('rejected');
      for (const socket of held) socket.write(answer(200, read.reply));
      expect(told).toEqual([]);
      bank.behave(reply(200, read.reply));
      expect(await ask(read, client)).toEqual(['good']);
    },
  );

  test('where the threshold is 0: there is none', async () => {
    const { bank, client, told } = await start(reply(503, '{}'), { breakerThreshold: 0 });
    await ask(read, client, 2 * least);
    await ask(read, client);
    expect(bank.requests).toHaveLength(2 * least + 1);
    expect(told).toEqual([]);
  });
});

describe('an open breaker', () => {
  test('lets one call at a time try, however many ask; its success lets all through', async () => {
    const { bank, client, told } = await start(reply(503, '{}'), { timeoutMs: 10 * openMs });
    await open(read, client);
    letPass(openMs);
    const held: Socket[] = [];
    bank.behave((socket) => void held.push(socket));
    bank.requests.length = 0;

    const probe = ask(read, client, 50);
    await expect.poll(() => held.length).toBe(1);
    const more = await ask(read, client, 10);
    expect(new Set(more)).toEqual(new Set(['BANK_UNAVAILABLE']));
    letPass(2 * openMs);
    await expectPaused(bank, client);
    expect(bank.requests).toHaveLength(1);

    for (const socket of held) socket.write(answer(200, read.reply));
    expect((await probe).toSorted()).toEqual([...Array(49).fill('BANK_UNAVAILABLE'), 'good']);
    expect(told).toEqual(['getCustomer opens', 'getCustomer closes']);
    bank.behave(reply(200, read.reply));
    expect(new Set(await ask(read, client, 10))).toEqual(new Set(['good']));
  });

  test('opens again where the one that tries fails, and recovers later', async () => {
    const { bank, client, told } = await start(reply(503, '{}'));
    await open(read, client);
    for (let round = 1; round <= 3; round++) {
      letPass(openMs);
      bank.requests.length = 0;
      await ask(read, client);
      await expectPaused(bank, client);
      expect(bank.requests).toHaveLength(1);
    }
    letPass(openMs);
    bank.behave(reply(200, read.reply));
    expect(await ask(read, client)).toEqual(['good']);
    expect(told.at(-1)).toBe('getCustomer closes');
    // Earlier failures of the bank do not count any more.
    bank.behave(reply(503, '{}'));
    await ask(read, client, 5);
    expect(told.at(-1)).toBe('getCustomer closes');
  });

  test('of a second attempt does not hide what the first met, and costs no further call', async () => {
    const { bank, client } = await start(reply(503, '{}'), { retryShare: 0.1 });
    await open(read, client);
    const before = bank.requests.length;
    await ask(read, client, 50);
    expect(bank.requests).toHaveLength(before);
  });
});

describe('behind an open breaker nothing is sent, and nothing is in doubt', () => {
  test.each([
    ['a write', change],
    ['a payment', sampleCalls.postMakeTransaction],
  ])('of %s', async (_, sample) => {
    const { bank, client, told } = await start(reply(503, '{}'));
    await open(sample, client);
    // To the breaker, the answer to a payment is like the answer to a write: what it means for the payment
    // does not matter.
    expect(told).toEqual([`${sample.operation.id} opens`]);
    const before = bank.connections();
    const failure = await sample.run(client).catch((error: unknown) => error);
    expect(failure).toMatchObject(
      sample.operation.kind === 'payment'
        ? { name: 'TransportFailure', reason: 'paused', sent: false }
        : { code: 'BANK_UNAVAILABLE', extensions: { retryable: true } },
    );
    expect(bank.connections()).toBe(before);
  });

  test('a payment’s key stays free: the same one is sent when the bank is back, once', async () => {
    await using bank = await startFaultyBank(reply(503, '{}'));
    await using bankql = await createTestBankql({
      bankUrl: bank.url,
      bankOptions: { breakerThreshold: 0.5, breakerOpenMs: openMs },
    });
    const pay = async (key: string) => {
      const result = await bankql.ask<{ makeTransaction: { replayed: boolean } | null }, object>(
        `mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }`,
        {
          input: {
            accountId: key,
            to: { accountId: 'to' },
            value: { amount: '1.00', currency: 'EUR' },
            idempotencyKey: key,
          },
        },
      );
      const replayed = result.data?.makeTransaction?.replayed;
      return result.errors?.[0]?.extensions.code ?? (replayed ? 'replayed' : 'paid');
    };
    const first = await Promise.all(Array.from({ length: least }, (_, nth) => pay(`key-${nth}`)));
    expect(new Set(first)).toEqual(new Set(['OUTCOME_UNKNOWN']));
    expect(await pay('free')).toBe('BANK_UNAVAILABLE');
    expect(await pay('key-0')).toBe('OUTCOME_UNKNOWN');
    expect(bankql.audit.filter(({ accountId }) => accountId === 'free').map(({ state }) => state)).toEqual([
      'PENDING',
      'NOT_SENT',
    ]);
    letPass(openMs);
    bank.behave(reply(200, ''));
    expect(await pay('free')).toBe('paid');
    expect(await pay('free')).toBe('replayed');
    expect(await pay('key-0')).toBe('OUTCOME_UNKNOWN');
    expect(bank.requests.filter((request) => lineOf(request).includes('/accounts/free/'))).toHaveLength(1);
  });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('what a breaker judges by', () => {
  const away = new TransportFailure('unavailable', true, 'away');
  const answered = { status: 200, headers: {}, body: Buffer.alloc(0), milliseconds: 5 };
  /** A breaker with a clock that the test sets. */
  function breaker(options: Partial<CircuitBreakerOptions> = {}) {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const told: boolean[] = [];
    const reasons: (BreakerReason | null)[] = [];
    const tested = new CircuitBreaker(operations.getCustomer, {
      threshold: 0.5,
      openMs,
      onChange(_, isOpen, reason) {
        told.push(isOpen);
        reasons.push(reason);
      },
      ...options,
    });
    /** Begins a call that is let through. Its end is reported later. */
    const begin = () => {
      const pass = tested.tryAcquire();
      if (pass === null) throw new Error('paused');
      return (reply: Parameters<typeof tested.record>[1]) => tested.record(pass, reply, performance.now());
    };
    const fail = (count: number) => {
      for (let call = 0; call < count; call++) begin()(away);
    };
    return { told, reasons, begin, fail, isPaused: () => tested.tryAcquire() === null };
  }

  test('is the last ten seconds', () => {
    const { told, fail } = breaker();
    fail(10);
    vi.advanceTimersByTime(5000);
    fail(9);
    expect(told).toEqual([]);
    fail(1);
    expect(told).toEqual([true]);
  });

  test('is not what was long ago', () => {
    const { told, fail } = breaker();
    fail(least - 1);
    vi.advanceTimersByTime(60_000);
    fail(least - 1);
    expect(told).toEqual([]);
  });

  test('is forgotten as it grows old, second by second', () => {
    const { told, begin, fail } = breaker();
    for (let second = 0; second < 40; second++) {
      begin()(answered);
      fail(1);
      begin()(answered);
      vi.advanceTimersByTime(1000);
    }
    expect(told).toEqual([]);
    vi.advanceTimersByTime(10_000);
    fail(least - 1);
    expect(told).toEqual([]);
    fail(1);
    expect(told).toEqual([true]);
  });

  test.each([
    ...[200, 400, 401, 403, 404, 409, 422, 429, 500, 501].map((status) => ({ ...answered, status })),
    new TransportFailure('refused', true, 'the answer is encoded'),
  ])('is no answer that came in time, and none that bankql did not read: %j', (end) => {
    const { told, begin } = breaker();
    for (let call = 0; call < 2 * least; call++) begin()(end);
    expect(told).toEqual([]);
  });

  test('counts failed and slow calls together, whatever the status, and reports the more frequent kind', () => {
    for (const [failures, slow, reason] of [
      [6, 4, 'failed'],
      [4, 6, 'slow'],
    ] as const) {
      const { reasons, begin, fail } = breaker({
        slowMs: { read: 100, write: 1000, payment: 1000 },
      });
      for (let call = 0; call < 10; call++) begin()({ ...answered, milliseconds: 99 });
      fail(failures);
      for (let call = 0; call < slow - 1; call++) begin()({ ...answered, milliseconds: 100 });
      expect(reasons).toEqual([]);
      begin()({ ...answered, status: 404, milliseconds: 100 });
      expect(reasons).toEqual([reason]);
    }
  });

  test('is the trial alone while one tries: a slow one opens it again, one that is not closes it', () => {
    const { reasons, begin, fail, isPaused } = breaker({ slowMs: { read: 100, write: 1000, payment: 1000 } });
    fail(least);
    for (const milliseconds of [100, 99]) {
      vi.advanceTimersByTime(openMs);
      const trial = begin();
      expect(isPaused()).toBe(true);
      trial({ ...answered, milliseconds });
    }
    expect([reasons, isPaused()]).toEqual([['failed', 'slow', null], false]);
  });

  test('is no call of before it opened: neither while it is open, nor while one tries, nor after', () => {
    const { told, begin, fail, isPaused } = breaker();
    const slow = Array.from({ length: 2 * least }, () => begin());
    const late = (reply: typeof answered | typeof away) => slow.pop()?.(reply);
    fail(least);
    expect(told).toEqual([true]);
    late(answered);
    late(away);
    expect([isPaused(), told]).toEqual([true, [true]]);

    vi.advanceTimersByTime(openMs);
    const trial = begin();
    late(answered);
    expect([isPaused(), told]).toEqual([true, [true]]);
    late(away);
    trial(answered);
    expect(told).toEqual([true, false]);

    while (slow.length > 0) late(away);
    expect([isPaused(), told]).toEqual([false, [true, false]]);
  });

  test.each([
    ['is given up by its caller', new TransportFailure('cancelled', true, 'the caller left')],
    ['bankql refuses for its own load', new TransportFailure('overloaded', false, 'no place')],
    ['bankql has no room for', new TransportFailure('no room', true, 'no room')],
  ])('is no trial that %s: the next call tries', (_, end) => {
    const { told, begin, fail, isPaused } = breaker();
    fail(least);
    vi.advanceTimersByTime(openMs);
    begin()(end);
    begin()(answered);
    expect([isPaused(), told]).toEqual([false, [true, false]]);
  });
});
