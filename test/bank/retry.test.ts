import { describe, expect, test } from 'vitest';
import { OperationDeadline } from '../../src/bank/operation-deadline.ts';
import type { CallReport } from '../../src/bank/report.ts';
import { operations } from '../../src/contract/operations.ts';
import { connect, createTestClient, failedCall, readFrom } from '../support/bank-client.ts';
import { head } from '../support/faults.ts';
import {
  type Act,
  type FaultyBank,
  hang,
  inTurn,
  later,
  reply,
  reset,
  startFaultyBank,
  writeThen,
} from '../support/faulty-bank.ts';
import { inTimeMs } from '../support/in-time.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';
import { quietFor } from '../support/waits.ts';

const retrying = { retryShare: 0.1, timeoutMs: 60_000, connectTimeoutMs: 60_000, maxBodyBytes: 64 * 1024 };
/** A time that is longer than the wait before a second attempt. */
const longestWaitMs = 120;
const reads = [
  ['a GET', sampleCalls.getCustomer],
  ['a POST query', sampleCalls.postOtherAccounts],
] as const;
const noReads = [
  ['a write', sampleCalls.putCustomerID],
  ['a payment', sampleCalls.postMakeTransaction],
] as const;

const trackIdsAt = ({ requests }: FaultyBank) =>
  requests.flatMap((request) => /\r\ntrack-id: ([0-9a-f-]{36})\r\n/i.exec(request)?.[1] ?? []);

const moments: readonly (readonly [string, Act])[] = [
  ['resets before it answers', reset],
  ['ends the connection before it answers', (socket) => void socket.end()],
  ['resets within the headers', writeThen('reset', `${head}Content-Le`)],
  ['resets after the headers', writeThen('reset', `${head}Content-Length: 100\r\n\r\n{"bran`)],
  ['answers with 502', reply(502, '')],
  ['answers with 503', reply(503, '{}')],
  ['answers with 503 and lets ask again at once', reply(503, '{}', { 'Retry-After': '0' })],
  ['answers with 503 and an invalid time', reply(503, '{}', { 'Retry-After': '-5' })],
  ['answers with 504', reply(504, '<html>', { 'Content-Type': 'text/html' })],
];

describe.each(reads)('%s is made once more, where the bank', (_, sample) => {
  test.each(moments)('%s: the second answer is the answer', async (_, act) => {
    await using bank = await startFaultyBank(inTurn(act, reply(200, sample.reply)));
    const reports: CallReport[] = [];
    await using client = createTestClient(bank.url, {
      ...retrying,
      onCall: (report) => reports.push(report),
    });
    const { answer, trackId } = await sample.run(client);
    expect(answer).toEqual(sample.answer);
    expect(bank.requests).toHaveLength(2);
    const trackIds = trackIdsAt(bank);
    expect(new Set(trackIds).size).toBe(sample.operation.tracked ? 2 : 0);
    expect(trackId).toBe(trackIds[1] ?? null);
    // Each attempt is reported with its own Track-ID.
    expect(reports.map((report) => report.trackId)).toEqual(
      sample.operation.tracked ? trackIds : [null, null],
    );
    expect(reports[1]?.status).toBe(200);
  });

  test('refuses the connection', async () => {
    await using bank = await startFaultyBank(reply(200, sample.reply));
    const reports: CallReport[] = [];
    await using client = createTestClient(bank.url, {
      ...retrying,
      onCall(report) {
        reports.push(report);
        if (reports.length === 1) void bank.listen();
      },
    });
    await bank.close();
    expect((await sample.run(client)).answer).toEqual(sample.answer);
    expect(reports.map(({ status, reason }) => status ?? reason)).toEqual(['unavailable', 200]);
    expect(bank.requests).toHaveLength(1);
  });

  test('fails twice: the second failure is the failure, and there is no third attempt', async () => {
    const { bank, client } = await connect(inTurn(reset, reply(503, '{}')), retrying);
    const { error } = await failedCall(sample, client);
    expect(error).toMatchObject({ code: 'BANK_UNAVAILABLE', extensions: { status: 503 } });
    expect(error.extensions.trackId).toBe(trackIdsAt(bank)[1]);
    await quietFor(longestWaitMs);
    expect(bank.requests).toHaveLength(2);
  });
});

const words: readonly (readonly [string, Act])[] = [
  ...[301, 400, 401, 403, 404, 409, 422, 429, 500, 501, 505].map(
    (status) => [`answers with ${status}`, reply(status, '{}')] as const,
  ),
  ['answers with 503 and says when to ask again', reply(503, '{}', { 'Retry-After': '1' })],
  ['answers with 502 and names a day', reply(502, '', { 'Retry-After': 'Fri, 31 Dec 9999 23:59:59 GMT' })],
  ['answers with what is no JSON', reply(200, 'no')],
  ['answers with nothing', reply(200, '')],
  ['answers in another type', reply(200, '{}', { 'Content-Type': 'text/xml' })],
  ['answers in an encoding', reply(200, '{}', { 'Content-Encoding': 'br' })],
  ['answers with more than the limit', reply(200, ' '.repeat(retrying.maxBodyBytes + 1))],
];

describe('a read is made once, where the bank', () => {
  const sample = sampleCalls.getCustomer;

  test.each(words)('%s', async (_, act) => {
    const { bank, client } = await connect(act, retrying);
    await failedCall(sample, client);
    expect(bank.requests).toHaveLength(1);
  });

  test('does not answer in time', async () => {
    const { bank, client } = await connect(hang, { ...retrying, timeoutMs: 150 });
    expect((await failedCall(sample, client)).error.code).toBe('BANK_TIMEOUT');
    await quietFor(longestWaitMs);
    // On a busy machine, the time may be over before the request is sent.
    expect(bank.requests.length).toBeLessThanOrEqual(1);
  });
});

describe.each(noReads)('%s is never made again', (_, sample) => {
  test.concurrent.each(moments)('where the bank %s', async (_, act) => {
    await using bank = await startFaultyBank(act);
    await using client = createTestClient(bank.url, retrying);
    await sample.run(client).catch(() => {});
    await quietFor(longestWaitMs + 50);
    expect(bank.requests).toHaveLength(1);
    expect(bank.connections()).toBe(1);
  });
});

describe('a second attempt', () => {
  const sample = sampleCalls.getCustomer;

  test('is not made when the time is nearly over', async () => {
    const timeoutMs = 400;
    const { bank, client } = await connect(later(timeoutMs - 15, reply(503, '{}')), {
      ...retrying,
      timeoutMs,
    });
    const { error, elapsedMs } = await failedCall(sample, client);
    expect(['BANK_UNAVAILABLE', 'BANK_TIMEOUT']).toContain(error.code);
    expect(elapsedMs).toBeLessThan(inTimeMs);
    await quietFor(longestWaitMs);
    expect(bank.requests).toHaveLength(1);
  });

  test('is not made when its time ran out while it waited', async () => {
    const timeoutMs = 300;
    await using bank = await startFaultyBank(reply(503, '{}'));
    const onCall = () =>
      setImmediate(() => {
        // Blocks the event loop.
        for (const until = performance.now() + timeoutMs + 50; performance.now() < until; );
      });
    await using client = createTestClient(bank.url, { ...retrying, timeoutMs, onCall });
    await failedCall(sample, client);
    await quietFor(100);
    expect(bank.requests).toHaveLength(1);
  });

  test('shares the time of the first', async () => {
    const timeoutMs = 2_000;
    const { bank, client } = await connect(inTurn(later(200, reply(503, '{}')), hang), {
      ...retrying,
      timeoutMs,
    });
    const { error, elapsedMs } = await failedCall(sample, client);
    expect(error.code).toBe('BANK_TIMEOUT');
    expect(elapsedMs).toBeGreaterThan(timeoutMs - 20);
    expect(elapsedMs).toBeLessThan(inTimeMs);
    expect(bank.requests).toHaveLength(2);
    await expect.poll(bank.open).toBe(0);
  });

  test('is not made for a caller who left meanwhile', async () => {
    const caller = new AbortController();
    const { bank, client } = await connect(reply(503, '{}'), { ...retrying, onCall: () => caller.abort() });
    const { getCustomer } = operations;
    const ids = { bankId: 'B', customerId: 'c' };
    for (const unshared of [true, false]) {
      bank.requests.length = 0;
      const call = readFrom(
        client,
        getCustomer,
        { ids, credentials: canaries },
        { operationDeadline: new OperationDeadline({ signal: caller.signal }), unshared },
      );
      await call.catch(() => {});
      await quietFor(longestWaitMs + 30);
      expect(bank.requests.length).toBeLessThanOrEqual(1);
    }
  });
});

describe('the budget of second attempts', () => {
  const sample = sampleCalls.getCustomer;
  const many = (client: ReturnType<typeof createTestClient>, count: number, from = 0) =>
    Promise.allSettled(
      Array.from({ length: count }, (_, nth) =>
        sample.run(client, canaries, { customerId: `c-${from + nth}` }),
      ),
    );

  test.each([
    ['answers with 503', reply(503, '{}')],
    ['resets', reset],
  ])('for a bank that %s is ten at once and a tenth of the calls', async (_, act) => {
    const { bank, client } = await connect(act, {
      ...retrying,
      timeoutMs: 60_000,
    });
    await many(client, 10);
    expect(bank.requests.length).toBeGreaterThanOrEqual(18);
    for (let round = 0; round < 10; round++) await many(client, 20, 10 + 20 * round);
    const extra = bank.requests.length - 210;
    expect(extra).toBeLessThanOrEqual(10 + 21);
    // Most of the retry budget is used.
    expect(extra).toBeGreaterThanOrEqual(10 + 15);
  });

  test('is not saved up while all is well', async () => {
    const { bank, client } = await connect(reply(200, sample.reply), {
      ...retrying,
      timeoutMs: 60_000,
    });
    await many(client, 300);
    bank.requests.length = 0;
    bank.behave(reply(503, '{}'));
    await many(client, 60, 300);
    expect(bank.requests.length).toBeLessThanOrEqual(60 + 10 + 6);
  });

  test('is none where the share is 0', async () => {
    const { bank, client } = await connect(reply(503, '{}'), { ...retrying, retryShare: 0 });
    await many(client, 20);
    expect(bank.requests).toHaveLength(20);
  });
});
