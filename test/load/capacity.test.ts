import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { nobody } from '../../src/load/callers.ts';
import {
  Capacity,
  type Counted,
  type Holder,
  overheadBytes,
  resources,
  type ShedReason,
  shedReasons,
} from '../../src/load/capacity.ts';
import { createTelemetry } from '../../src/telemetry/metrics.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { credentials, postOf } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** A capacity, and requests that use some of it. `group`: the network address of an unverified caller. */
function open(limits: Parameters<typeof capacityLimits>[0]) {
  const shed: ShedReason[] = [];
  const capacity = new Capacity(capacityLimits(limits), (why) => shed.push(why));
  const holding = (
    caller: string,
    resource: Counted,
    amount: number,
    { group = caller, isMutation = false } = {},
  ) => {
    const holder: Holder = { caller: nobody, requests: 0, arriving: 0, values: 0, unread: 0, isMutation };
    capacity.assign(holder, capacity.callers.find({ name: caller, group }));
    const why = resource === 'requests' ? capacity.admit(holder) : capacity.take(holder, resource, amount);
    return { holder, why };
  };
  const admit = (caller: string, group?: string) =>
    holding(caller, 'requests', 1, group === undefined ? {} : { group });
  /** Sends this number of requests, and returns how many are admitted. */
  const admitted = (count: number, caller: string, group?: string) =>
    Array.from({ length: count }, () => admit(caller, group).why).filter((why) => why === null).length;
  return { capacity, shed, holding, admit, admitted };
}

test('a caller may use free resources up to its cap, and others can use what a request releases', () => {
  const { admit, capacity, shed } = open({ requests: 3, requestsPerCaller: 2 });
  const first = admit('noisy');
  expect([first.why, admit('noisy').why, admit('noisy').why]).toEqual([null, null, 'requests of the caller']);
  expect([admit('quiet').why, admit('another').why]).toEqual([null, 'requests']);
  capacity.leave(first.holder);
  expect([capacity.requests, admit('another').why]).toEqual([2, null]);
  expect(shed).toEqual(['requests of the caller', 'requests']);
});

test('by default one caller has 64 requests at most, and the last 32 of 256 are for callers below 8', () => {
  const { capacity, admitted } = open({
    requests: 256,
    requestsPerCaller: readConfig({}).server.capacity.requestsPerCaller,
  });
  expect(admitted(100, 'a')).toBe(64);
  for (const caller of ['b', 'c', 'd']) admitted(100, caller);
  expect(capacity.requests).toBe(224);
  expect(admitted(100, 'a')).toBe(0);
  expect(admitted(100, 'quiet')).toBe(8);
  expect(admitted(100, 'another')).toBe(8);
  for (const caller of ['e', 'f', 'g']) admitted(100, caller);
  expect(capacity.requests).toBe(256);
});

test('the unproven callers of one peer have half together, and those of others the rest', () => {
  const { admitted, shed } = open({ requests: 80, requestsPerCaller: 40 });
  let peer = 0;
  for (let n = 0; n < 100; n++) peer += admitted(1, `invented ${n}`, 'peer');
  expect([peer, shed.at(-1)]).toEqual([40, 'requests of the peer']);
  // A verified caller has its own share.
  expect(admitted(40, 'proven')).toBe(30);
  expect(admitted(1, 'name', 'another peer')).toBe(1);
});

test.each(['arriving', 'values', 'unread'] as const)(
  'of %s a caller that holds little may take more than its cap at once',
  (resource) => {
    const { holding, capacity } = open({ [resource]: 8000 });
    expect(holding('a', resource, 6000).why).toBeNull();
    expect(holding('a', resource, 1).why).toBe(`${resource} of the caller`);
    expect(holding('b', resource, 2000).why).toBeNull();
    expect(holding('c', resource, 1).why).toBe(resource);
    expect(capacity[resource]).toBe(8000);
  },
);

test('the last eighth of a total is for callers that hold little', () => {
  const { holding } = open({ values: 8000 });
  for (const caller of ['a', 'b']) expect(holding(caller, 'values', 3000).why).toBeNull();
  expect(holding('a', 'values', 1000).why).toBeNull();
  // Both callers are still within their caps of 4,000.
  expect(holding('b', 'values', 1).why).toBe('values');
  expect(holding('c', 'values', 1000).why).toBeNull();
});

test('a mutation is not refused for its values and unread bytes, which count for others', () => {
  const { holding, capacity, shed } = open({ values: 1000, unread: 1000 });
  for (const resource of ['values', 'unread'] as const) {
    expect(holding('a', resource, 3000, { isMutation: true }).why).toBeNull();
    expect(capacity[resource]).toBe(3000);
    expect(holding('b', resource, 1).why).toBe(resource);
  }
  expect(shed).toEqual(['values', 'unread']);
});

test('a caller that leaves too many answers unread gets no more requests, and others do', () => {
  const { capacity, holding, admit } = open({ unread: 1000 });
  const { holder } = holding('greedy', 'unread', 125);
  expect([admit('greedy').why, admit('other').why]).toEqual(['unread of the caller', null]);
  capacity.add(holder, 'unread', -1);
  expect(admit('greedy').why).toBeNull();
});

test('an answer that is ready gives its slot and its values back, and waits for its client', () => {
  const { admit, capacity } = open({});
  const { holder } = admit('a');
  capacity.take(holder, 'values', 5000);
  capacity.release(holder, 100 + overheadBytes);
  expect(capacity).toMatchObject({ requests: 0, values: 0, unread: 100 + overheadBytes });
  capacity.leave(holder);
  expect(capacity).toMatchObject({ requests: 0, values: 0, unread: 0 });
});

test('a caller that holds something stays known, however many others come and go', () => {
  const { admit, capacity } = open({ requestsPerCaller: 1 });
  expect(admit('holds', 'peer').why).toBeNull();
  const { holder } = admit('holds nothing yet', 'peer');
  capacity.release(holder);
  for (let n = 0; n < 5000; n++) capacity.leave(admit(`passes ${n}`, `peer ${n % 2000}`).holder);
  expect(capacity.admit(holder)).toBeNull();
  expect([admit('holds', 'peer').why, admit('holds nothing yet', 'peer').why]).toEqual([
    'requests of the caller',
    'requests of the caller',
  ]);
});

test('each resource has its metrics', async () => {
  const { registry, watchHeld, onShed } = createTelemetry(pino({ enabled: false }), pino({ enabled: false }));
  watchHeld((resource) => resource.length, readConfig({}).server.capacity.totals);
  onShed('connections');
  const text = await registry.metrics();
  const labels = (metric: string, label: string) =>
    [...text.matchAll(new RegExp(`^${metric}\\{${label}="(.*)"\\} `, 'gm'))].map(([, value]) => value);
  expect(labels('bankql_held', 'resource')).toEqual(resources);
  expect(labels('bankql_held_max', 'resource')).toEqual(resources);
  expect(text).toContain(`bankql_graphql_in_flight ${'requests'.length}`);
  expect(labels('bankql_requests_shed_total', 'why')).toEqual(shedReasons);
  expect(text).toContain('bankql_requests_shed_total{why="connections"} 1');
});

describe('over a socket', () => {
  let fixture: ServerFixture;
  const shed: ShedReason[] = [];
  beforeEach(async () => {
    shed.length = 0;
    fixture = await startServerFixture({
      capacity: capacityLimits({ requests: 2, requestsPerCaller: 1 }),
      authenticate: authenticateByHeaders(null, true),
      onShed: (why) => shed.push(why),
    });
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  const query = '{ bank { branches { totalCount } } }';
  const ask = (authId: string) =>
    fetch(fixture.url, postOf({ query }, { ...credentials, 'Auth-ID': authId }));

  /** Holds the bank's answers until the test releases them. */
  function holdBank() {
    const { promise, resolve } = Promise.withResolvers<void>();
    fixture.bank.otherwise(() => promise.then(() => ({ body: { branches: [] } })));
    return resolve;
  }

  test('what is too much is answered 503 with Retry-After at once; health and readiness answer all the same', async () => {
    const release = holdBank();
    const { server } = fixture;
    const [first, second] = [ask('one'), ask('two')];
    await expect.poll(() => server.held.requests).toBe(2);
    const refused = await ask('three');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    // A refused client keeps its connection, because opening another one would be further work.
    expect(refused.headers.get('connection')).toBe('keep-alive');
    expect(await refused.json()).toEqual({
      errors: [
        expect.objectContaining({
          extensions: { code: 'OVERLOADED', retryable: true, retryAfter: 1 },
        }),
      ],
    });
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect((await fetch(`${server.url}/ready`)).status).toBe(200);
    release();
    for (const answer of await Promise.all([first, second])) expect(answer.status).toBe(200);
    await expect.poll(() => server.held.requests).toBe(0);
    expect((await ask('three')).status).toBe(200);
    expect(shed).toEqual(['requests']);
  });

  test('many requests of one caller leave capacity for another’s', async () => {
    const release = holdBank();
    const { server } = fixture;
    const noisy = ask('noisy');
    await expect.poll(() => server.held.requests).toBe(1);
    const refused = await ask('noisy');
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain('Too many of your requests are in progress. bankql did nothing');
    const quiet = ask('quiet');
    await expect.poll(() => server.held.requests).toBe(2);
    release();
    expect((await quiet).status).toBe(200);
    await noisy;
    expect(shed).toEqual(['requests of the caller']);
  });
});
