import { AsyncLocalStorage } from 'node:async_hooks';
import type { Dispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { Call } from '../../src/bank/call.ts';
import { noCredentials, requestCredentials } from '../../src/bank/credentials.ts';
import { OperationDeadline } from '../../src/bank/operation-deadline.ts';
import type { CallReport, TraceCall } from '../../src/bank/report.ts';
import { SharedReads } from '../../src/bank/shared-reads.ts';
import { operations } from '../../src/contract/operations.ts';
import { Callers } from '../../src/load/callers.ts';
import { connect, createTestClient, readFrom } from '../support/bank-client.ts';
import { controllerOf, targetOver } from '../support/call-target.ts';
import { answer, hang, inTurn, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';
import { quietFor, turns, until } from '../support/waits.ts';

const { getCustomer } = operations;
const read = sampleCalls.getCustomer;
const customer = (customerId: string) => ({ ids: { bankId: 'B', customerId }, credentials: canaries });

describe('a place at the gate', () => {
  test('is free as soon as its call is cancelled, although the bank has not answered', async () => {
    const { bank, client } = await connect(hang, { connections: 1 });
    const leaving = new AbortController();
    const left = readFrom(client, getCustomer, customer('left'), {
      operationDeadline: new OperationDeadline({ signal: leaving.signal }),
    });
    await until(() => bank.requests.length === 1);
    const next = readFrom(client, getCustomer, customer('next'));
    await turns();
    bank.behave(reply(200, read.reply));
    leaving.abort();
    await expect(left).rejects.toMatchObject({ cause: { reason: 'cancelled', sent: true } });
    expect((await next).answer).toEqual(read.answer);
    expect([bank.requests.length, client.held()]).toEqual([2, 0]);
  });
});

describe('a client that is closed', () => {
  test('sends neither a second attempt, nor the calls that wait for a place', async () => {
    await using bank = await startFaultyBank(inTurn(reply(503, '{}'), hang));
    const reports: CallReport[] = [];
    const onCall = (report: CallReport) => void reports.push(report);
    const client = createTestClient(bank.url, { connections: 1, retryShare: 1, onCall });
    const tried = readFrom(client, getCustomer, customer('tried')).catch(({ code }) => code);
    await until(() => reports.length === 1);
    // The retry of `tried` is delayed. One of the other two calls uses the only connection, and the other waits for it.
    const others = ['sent', 'waiting'].map((id) => readFrom(client, getCustomer, customer(id)));
    const ends = Promise.all([tried, ...others.map((each) => each.catch(({ code }) => code))]);
    await until(() => bank.requests.length === 2);
    await client.close();
    expect(await ends).toEqual(Array(3).fill('BANK_UNAVAILABLE'));
    expect(bank.requests).toHaveLength(2);
    await quietFor(50);
    expect(bank.requests).toHaveLength(2);
  });
});

test.each([
  ['traced', true],
  ['not traced', false],
])(
  'each attempt is reported in the context of its own operation, whoever opened the connection: %s',
  async (_, isTraced) => {
    const request = new AsyncLocalStorage<string>();
    const reported: unknown[] = [];
    const report = (what: unknown) => void reported.push([request.getStore(), what]);
    const traceCall: TraceCall = (_call, resendCount) => {
      report(`attempt ${resendCount}`);
      return { callId: '', end: () => report('ended') };
    };
    const { bank, client } = await connect(hang, {
      connections: 1,
      retryShare: 1,
      onCall: ({ status }) => report(status),
      traceCall: isTraced ? traceCall : undefined,
    });
    bank.behave(inTurn(reply(200, read.reply), reply(503, '{}'), reply(200, read.reply)));
    const readAs = (name: string) => request.run(name, () => readFrom(client, getCustomer, customer(name)));
    await readAs('opens');
    await readAs('reuses');
    expect(bank.connections()).toBe(1);
    const attempt = (name: string, count: number, status: number) => [
      ...(isTraced ? [[name, `attempt ${count}`]] : []),
      [name, status],
      ...(isTraced ? [[name, 'ended']] : []),
    ];
    expect(reported).toEqual([
      ...attempt('opens', 0, 200),
      ...attempt('reuses', 0, 503),
      ...attempt('reuses', 1, 200),
    ]);
  },
);

test('callers with one subject and other credentials at the same time have calls of their own', async () => {
  const { bank, client } = await connect(hang);
  const others = [
    canaries,
    { ...canaries, authId: `${canaries.authId}2` },
    { ...canaries, subscriptionKey: 'key-2' },
  ];
  const reads = others.map((credentials) => {
    const identity = { name: 'subject', group: 'subject' };
    return readFrom(client, getCustomer, {
      ...customer('c'),
      credentials: { ...credentials, ...{ identity } },
    });
  });
  await until(() => bank.requests.length === 3);
  for (const { subscriptionKey, authId } of others)
    expect(
      bank.requests.filter(
        (text) => text.includes(`Key: ${subscriptionKey}\r\n`) && text.includes(`ID: ${authId}\r\n`),
      ),
    ).toHaveLength(1);
  const ended = Promise.allSettled(reads);
  await client.close();
  await ended;
});

test('the bytes of a broken first attempt make no room scarce for the second', async () => {
  const long = JSON.stringify({ legal_name: 'n'.repeat(600_000) });
  const whole = answer(200, long);
  const { bank, client } = await connect(hang, { retryShare: 1, arrivingBytes: 1_300_000 });
  bank.behave(
    inTurn(
      (socket) => void socket.write(whole.subarray(0, -10), () => socket.destroy()),
      (socket) => void socket.write(whole),
    ),
  );
  expect((await readFrom(client, getCustomer, customer('c'))).bytes).toBe(long.length);
  expect(bank.requests).toHaveLength(2);
});

/** A call over a dispatcher; the test makes the dispatcher's callbacks. */
function handled() {
  const dispatched: Dispatcher.DispatchHandler[] = [];
  const reports: CallReport[] = [];
  const reads = new SharedReads({ publicCacheTtlMs: 0, publicCacheBytes: 0, timeoutMs: 60_000 });
  const dispatch = (handler: Dispatcher.DispatchHandler) => void dispatched.push(handler);
  const target = targetOver(getCustomer, reads, dispatch, (report) => void reports.push(report));
  const call = new Call(target, requestCredentials(canaries, new Callers()), '/', null, false);
  const result = reads.read(call, {}, 'answer');
  return { call, gate: target.lane.gate, reports, result, dispatched };
}

const json = { 'content-type': 'application/json' };

test('callbacks of an earlier attempt say nothing of the next one', async () => {
  const { call, gate, reports, result, dispatched } = handled();
  const [first, second] = [controllerOf(), controllerOf()];
  call.onRequestStart(first);
  call.onResponseStart(first, 502, { ...json, 'content-encoding': 'br' });
  // The status has ended the attempt, so the attempt has been reported. The connection is closed only now.
  await until(() => reports.length === 1);
  call.onResponseError(first, new Error('aborted'));
  await until(() => dispatched.length === 2);
  // A late callback of the first attempt is not the answer to the second attempt, which was not sent yet.
  call.onResponseStart(first, 200, json);
  call.onResponseData(first, Buffer.from('{"email":"of the first"}'));
  call.onResponseEnd(first);
  call.onResponseError(first, new Error('late'));
  expect([gate.held, reports.length]).toEqual([1, 1]);
  call.onRequestStart(second);
  call.onResponseStart(second, 200, json);
  call.onResponseData(first, Buffer.from('{"email":"of the first"}'));
  call.onResponseData(second, Buffer.from('{"email":"of the second"}'));
  call.onResponseEnd(second);
  expect(await result).toEqual({ email: 'of the second' });
  await turns();
  expect(gate.held).toBe(0);
  expect(reports.map(({ status }) => status)).toEqual([502, 200]);
});

test('a second attempt that was not sent is not reported as sent, although the first one was', async () => {
  const { call, reports, result, dispatched } = handled();
  const first = controllerOf();
  call.onRequestStart(first);
  call.onResponseError(first, new Error('reset'));
  await until(() => dispatched.length === 2);
  call.onResponseError(null, new Error('refused'));
  await expect(result).rejects.toMatchObject({ code: 'BANK_UNAVAILABLE', cause: { sent: false } });
  expect(reports.map(({ failure }) => failure)).toEqual([
    'the connection broke (reset)',
    'no connection (refused)',
  ]);
});

test('a call that is over refers to nothing of its caller or its operation', async () => {
  const { call, result } = handled();
  const controller = controllerOf();
  call.onRequestStart(controller);
  call.onResponseStart(controller, 200, json);
  call.onResponseData(controller, Buffer.from('{"email":"a@b"}'));
  call.onResponseEnd(controller);
  await result;
  expect(call.credentials).toBe(noCredentials);
  expect(call.request.headers).toEqual([]);
});
