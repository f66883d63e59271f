import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { callerKeyByToken } from '../../src/server/auth/bearer-token.ts';
import { callerKeyByHeaders } from '../../src/server/auth/header-credentials.ts';
import { UnreadBytes } from '../../src/server/connection.ts';
import { createLoadShedder, type LoadLimits, type ShedReason } from '../../src/server/ledger.ts';
import { fromNodeRequest } from '../../src/server/request.ts';
import { type RunningServer, serve } from '../../src/server/server.ts';
import { credentials, testOptions } from '../support/bankql.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { startServerFixture } from '../support/server-fixture.ts';

const from = (authId: string) => fromNodeRequest({ url: '/graphql', rawHeaders: ['Auth-ID', authId] });
const guard = (limits: LoadLimits, callerKey = callerKeyByHeaders(null)) =>
  createLoadShedder(limits, callerKey, new UnreadBytes(1000));

test('requests are bounded in all and for each caller, and leaving makes room', () => {
  const load = guard({ inFlight: 3, inFlightPerCaller: 2, eventLoopLagMs: 1000 });
  const first = load.tryAcquire(from('noisy'));
  load.tryAcquire(from('noisy'));
  expect(load.tryAcquire(from('noisy'))).toBe('in flight of the caller');
  expect(load.tryAcquire(from('quiet'))).toBeTypeOf('object');
  expect(load.tryAcquire(from('other'))).toBe('in flight');
  if (typeof first === 'object') first.release();
  expect(load.tryAcquire(from('other'))).toBeTypeOf('object');
  expect(load.inFlight).toBe(3);
  load.close();
});

test('callers are told apart by a key in the URL too', () => {
  const load = guard({ inFlight: 10, inFlightPerCaller: 1, eventLoopLagMs: 1000 });
  const to = (url: string) => fromNodeRequest({ url, rawHeaders: [] });
  expect(load.tryAcquire(to('/graphql?subscription-key=a'))).toBeTypeOf('object');
  expect(load.tryAcquire(to('/graphql?query={a}&subscription%2Dkey=a'))).toBe('in flight of the caller');
  expect(load.tryAcquire(to('/graphql?subscription-key=b'))).toBeTypeOf('object');
  expect(load.tryAcquire(to('/graphql?other=c'))).toBeTypeOf('object');
  expect(load.tryAcquire(to('/graphql?other=d'))).toBe('in flight of the caller');
  load.close();
});

test('callers are told apart by the headers that say who they are', () => {
  const load = guard({ inFlight: 10, inFlightPerCaller: 1, eventLoopLagMs: 1000 }, callerKeyByToken);
  const bearer = (token: string) =>
    fromNodeRequest({
      url: `/graphql?subscription-key=${++asked}`,
      rawHeaders: ['Authorization', token],
    });
  let asked = 0;
  expect(load.tryAcquire(bearer('Bearer e30.YQ.AQ'))).toBeTypeOf('object');
  expect(load.tryAcquire(bearer('Bearer e30.YQ.AQ'))).toBe('in flight of the caller');
  expect(load.tryAcquire(bearer('Bearer e30.YWE.AQ'))).toBeTypeOf('object');
  load.close();
});

test('nothing is accepted while as many bytes as may be wait to be taken', () => {
  const unread = new UnreadBytes(1000);
  const limits = { inFlight: 10, inFlightPerCaller: 10, eventLoopLagMs: 1000 };
  const load = createLoadShedder(limits, callerKeyByHeaders(null), unread);
  unread.total = 999;
  expect(load.tryAcquire(from('a'))).toBeTypeOf('object');
  unread.total = 1000;
  expect(load.tryAcquire(from('a'))).toBe('unread bytes');
  load.close();
});

test('a caller holds an eighth of the bytes that wait to be taken, and beyond it he alone is refused', () => {
  const limits = { inFlight: 10, inFlightPerCaller: 10, eventLoopLagMs: 1000 };
  const unread = new UnreadBytes(1000);
  const load = createLoadShedder(limits, callerKeyByHeaders(null), unread);
  const admission = load.tryAcquire(from('greedy'));
  if (typeof admission === 'string') throw new Error(admission);
  // One answer may be longer than his part: it would never be given.
  expect([admission.unread.hasRoomFor(1000), admission.unread.hasRoomFor(1001)]).toEqual([true, false]);
  admission.unread.add(100);
  expect([admission.unread.hasRoomFor(25), admission.unread.hasRoomFor(26)]).toEqual([true, false]);
  expect(load.tryAcquire(from('greedy'))).toBeTypeOf('object');
  admission.unread.add(25);
  expect(unread.total).toBe(125);
  expect(load.tryAcquire(from('greedy'))).toBe('unread bytes of the caller');
  expect(load.tryAcquire(from('other'))).toBeTypeOf('object');
  admission.unread.add(-1);
  expect(load.tryAcquire(from('greedy'))).toBeTypeOf('object');
  load.close();
});

test('while the event loop is late nothing is accepted, and soon after it is again', async () => {
  const load = guard({ inFlight: 3, inFlightPerCaller: 2, eventLoopLagMs: 200 });
  const until = performance.now() + 600;
  while (performance.now() < until);
  await delay(1);
  expect(load.tryAcquire(from('a'))).toBe('event loop lag');
  await expect.poll(() => load.tryAcquire(from('a'))).toBeTypeOf('object');
  load.close();
});

describe('over a socket', () => {
  let bank: RecordingBank;
  let server: RunningServer;
  const shed: ShedReason[] = [];
  beforeEach(async () => {
    bank = await startRecordingBank();
    shed.length = 0;
    server = await serve({
      ...testOptions({ bankUrl: bank.url }),
      host: '127.0.0.1',
      http: { corsOrigins: new Set(), onlyLocalNames: false },
      port: 0,
      load: { inFlight: 2, inFlightPerCaller: 1, eventLoopLagMs: 10_000 },
      maxUnreadBytes: 1_000_000,
      onShed: (why) => shed.push(why),
    });
  });
  afterEach(async () => {
    await bank.close();
    await server.close();
  });

  const ask = (authId: string) =>
    fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...credentials, 'Auth-ID': authId },
      body: JSON.stringify({ query: '{ bank { branches { totalCount } } }' }),
    });

  test('what is too much is answered 503 with Retry-After at once; health and readiness answer all the same', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    bank.otherwise(async () => {
      await promise;
      return { body: { branches: [] } };
    });
    const [first, second] = [ask('one'), ask('two')];
    await expect.poll(() => server.inFlight).toBe(2);
    const refused = await ask('three');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    // Those who have a connection keep it: another would be one more thing to do.
    expect(refused.headers.get('connection')).toBe('keep-alive');
    expect(await refused.json()).toEqual({
      errors: [
        expect.objectContaining({ extensions: { code: 'OVERLOADED', retryable: true, retryAfter: 1 } }),
      ],
    });
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect((await fetch(`${server.url}/ready`)).status).toBe(200);
    resolve();
    for (const answer of await Promise.all([first, second])) expect(answer.status).toBe(200);
    await expect.poll(() => server.inFlight).toBe(0);
    expect((await ask('three')).status).toBe(200);
    expect(shed).toEqual(['in flight']);
  });

  test('where readiness needs room, /ready is 503 as long as there is none, and not for one caller’s own limit', async () => {
    await using fixture = await startServerFixture({
      load: { inFlight: 2, inFlightPerCaller: 1, eventLoopLagMs: 10_000 },
      readyNeedsRoom: true,
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    fixture.bank.otherwise(async () => {
      await promise;
      return { body: { branches: [] } };
    });
    const post = (authId: string) =>
      fetch(fixture.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...credentials, 'Auth-ID': authId },
        body: JSON.stringify({ query: '{ bank { branches { totalCount } } }' }),
      });
    const statusOf = async (path: string) => (await fetch(`${fixture.server.url}${path}`)).status;
    const first = post('one');
    await expect.poll(() => fixture.server.inFlight).toBe(1);
    expect((await post('one')).status).toBe(503);
    expect(await statusOf('/ready')).toBe(200);
    const second = post('two');
    await expect.poll(() => fixture.server.inFlight).toBe(2);
    expect([await statusOf('/ready'), await statusOf('/health')]).toEqual([503, 200]);
    resolve();
    for (const answer of await Promise.all([first, second])) expect(answer.status).toBe(200);
    await expect.poll(() => statusOf('/ready')).toBe(200);
  });

  test('one caller’s many requests leave room for another’s', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    bank.otherwise(async () => {
      await promise;
      return { body: { branches: [] } };
    });
    const noisy = ask('noisy');
    await expect.poll(() => server.inFlight).toBe(1);
    expect((await ask('noisy')).status).toBe(503);
    const quiet = ask('quiet');
    await expect.poll(() => server.inFlight).toBe(2);
    resolve();
    expect((await quiet).status).toBe(200);
    await noisy;
    expect(shed).toEqual(['in flight of the caller']);
  });

  test('a client that leaves makes room', async () => {
    bank.otherwise(() => 'hang');
    const leaving = new AbortController();
    const asked = fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...credentials },
      body: JSON.stringify({ query: '{ bank { branches { totalCount } } }' }),
      signal: leaving.signal,
    }).catch(() => 'left');
    await expect.poll(() => server.inFlight).toBe(1);
    leaving.abort();
    expect(await asked).toBe('left');
    await expect.poll(() => server.inFlight).toBe(0);
  });
});
