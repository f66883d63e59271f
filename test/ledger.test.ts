import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { usesTable } from '../bin/print-configuration.ts';
import { readConfig } from '../src/config/config.ts';
import {
  type Account,
  type Counted,
  type Holder,
  heapTotal,
  Ledger,
  overheadBytes,
  resources,
  type ShedReason,
  shedReasons,
  uses,
} from '../src/ledger.ts';
import { type RunningServer, serve } from '../src/server/server.ts';
import { createTelemetry } from '../src/telemetry/metrics.ts';
import { credentials, testOptions } from './support/bankql.ts';
import { documented } from './support/documented.ts';
import { ledgerLimits } from './support/ledger-limits.ts';
import { type RecordingBank, startRecordingBank } from './support/recording-bank.ts';
import { startServerFixture } from './support/server-fixture.ts';
import { lateBy } from './support/waits.ts';

/** A ledger, and requests that hold something of it. */
function open(limits: Parameters<typeof ledgerLimits>[0]) {
  const shed: ShedReason[] = [];
  const ledger = new Ledger(ledgerLimits(limits), (why) => shed.push(why));
  const holders: TestHolder[] = [];
  const ended: string[] = [];
  let looks = 0;
  class TestHolder implements Holder {
    requests = 0;
    arriving = 0;
    values = 0;
    unread = 0;
    mayGiveWay = true;
    previous: Holder | null = null;
    next: Holder | null = null;
    isListed = false;
    readonly account: Account;
    readonly name: string;
    since = holders.length - 1e9;

    constructor(caller: string, group = caller) {
      this.account = ledger.account(caller, group);
      this.name = `${caller} ${holders.length}`;
      holders.push(this);
    }

    get canGiveWay(): boolean {
      looks++;
      return this.mayGiveWay;
    }

    giveWay(resource: Counted): void {
      ended.push(`${resource} of ${this.name}`);
    }
  }
  const holding = (caller: string, resource: Counted, amount: number, group?: string) => {
    const holder = new TestHolder(caller, group);
    return {
      holder,
      why: resource === 'requests' ? ledger.admit(holder) : ledger.take(holder, resource, amount),
    };
  };
  return {
    ledger,
    shed,
    ended,
    holding,
    /** How often it was asked whether a request can give way. */
    looks: () => looks,
    admit: (caller: string, group?: string) => holding(caller, 'requests', 1, group),
    [Symbol.dispose]: () => ledger.close(),
  };
}

test('a caller has a share, and what a request gives back others can take', () => {
  using given = open({ requests: 3, requestsPerCaller: 2 });
  const { admit, ledger } = given;
  const first = admit('noisy');
  expect([first.why, admit('noisy').why, admit('noisy').why]).toEqual([null, null, 'requests of the caller']);
  expect(admit('quiet').why).toBeNull();
  ledger.release(first.holder);
  expect([ledger.requests, admit('quiet').why]).toEqual([2, null]);
  expect(given.shed).toEqual(['requests of the caller']);
});

test('a caller that holds nothing is never refused because others hold everything', () => {
  using given = open({ requests: 80, requestsPerCaller: 40 });
  for (const caller of ['a', 'b']) for (let n = 0; n < 40; n++) given.admit(caller);
  // The reserve is for others; these two get the same of the rest.
  expect(given.ledger.requests).toBe(70);
  expect(given.ended).toHaveLength(5);
  for (let n = 0; n < 40; n++) expect(given.admit(`new ${n}`).why).toBeNull();
  expect(given.ledger.requests).toBe(80);
  // Beyond it the latest request of the caller that holds most gives way.
  expect(given.ended).toHaveLength(35);
  expect(given.ended.slice(0, 2)).toEqual(['requests of a 39', 'requests of a 38']);
  expect(given.ended.filter((name) => name.includes('of b'))).not.toEqual([]);
});

test('among callers that hold the same the one that comes last is refused', () => {
  using given = open({ requests: 4 });
  for (const caller of ['a', 'b', 'c', 'd']) expect(given.admit(caller).why).toBeNull();
  expect(given.admit('e').why).toBe('requests');
  expect(given.ended).toEqual([]);
});

test('a refusal looks at no request of callers that hold too little to give way', () => {
  using given = open({ requests: 800, requestsPerCaller: 400 });
  for (let nth = 0; nth < 2; nth++) for (let n = 0; n < 400; n++) given.admit(`caller ${n}`);
  const before = given.looks();
  for (let n = 0; n < 400; n++) expect(given.admit(`caller ${n}`).why).toBe('requests');
  expect(given.looks() - before).toBe(0);
  // One that holds nothing takes the place of another, among those of one caller after the other.
  expect(given.admit('new').why).toBeNull();
  expect(given.ended).toHaveLength(1);
});

test('a mutation does not give way', () => {
  using given = open({ requests: 3, requestsPerCaller: 3 });
  for (let n = 0; n < 3; n++) given.admit('a').holder.mayGiveWay = false;
  expect(given.admit('b').why).toBe('requests');
  expect(given.ended).toEqual([]);
});

test('however many names a peer claims, it gives way to another peer', () => {
  using given = open({ requests: 16 });
  for (let n = 0; n < 16; n++) expect(given.admit(`name ${n}`, 'attacker').why).toBeNull();
  expect(given.admit('name 17', 'attacker').why).toBe('requests');
  for (let n = 0; n < 7; n++) expect(given.admit(`customer ${n}`, 'customers').why).toBeNull();
  expect(given.ended).toHaveLength(7);
  // Proven names are groups of their own.
  expect(given.admit('subject').why).toBeNull();
});

test('if too much is arriving, what has been arriving longest gives way', () => {
  using given = open({ arriving: 1000 });
  for (let n = 0; n < 8; n++) given.holding('slow', 'arriving', 30);
  expect(given.holding('slow', 'arriving', 30).why).toBe('arriving of the caller');
  for (const caller of ['b', 'c', 'd']) expect(given.holding(caller, 'arriving', 240).why).toBeNull();
  expect(given.holding('quick', 'arriving', 100).why).toBeNull();
  expect(given.ended).toEqual(['arriving of slow 0', 'arriving of b 9']);
});

test('a caller holds an eighth of the bytes that wait to be read, or one answer, and beyond it is refused alone', () => {
  using given = open({ unread: 1000 });
  const { ledger, holding, admit } = given;
  const greedy = holding('greedy', 'unread', 100).holder;
  expect(holding('greedy', 'unread', 26).why).toBe('unread of the caller');
  expect(admit('greedy').why).toBeNull();
  ledger.take(greedy, 'unread', 25);
  expect([admit('greedy').why, admit('other').why]).toEqual(['unread of the caller', null]);
  // One answer may be longer than a share: it would never be given.
  expect(holding('other', 'unread', 800).why).toBeNull();
  ledger.add(greedy, 'unread', -1);
  expect(admit('greedy').why).toBeNull();
});

test('a large answer that nobody reads gives way, to one of its size only if it is stalled', () => {
  using given = open({ unread: 1000 });
  const stalled = given.holding('stalled', 'unread', 800).holder;
  stalled.since = performance.now();
  expect(given.holding('other', 'unread', 500).why).toBe('unread');
  expect(given.holding('other', 'unread', 800).why).toBe('unread');
  stalled.since -= 20_000;
  expect(given.holding('other', 'unread', 800).why).toBeNull();
  expect(given.holding('small', 'unread', 300).why).toBeNull();
  expect(given.ended).toEqual(['unread of stalled 0', 'unread of other 3']);
});

test('an answer that is ready gives its slot and its values back, and waits for its client', () => {
  using given = open({});
  const { holder } = given.admit('a');
  given.ledger.take(holder, 'values', 5000);
  given.ledger.release(holder, 100);
  expect(given.ledger).toMatchObject({ requests: 0, values: 0, unread: 100 + overheadBytes });
  given.ledger.release(holder);
  expect(given.ledger).toMatchObject({ requests: 0, values: 0, unread: 0 });
});

test('while the event loop is late only the reserve is given, and soon after it is all given again', async () => {
  using given = open({ requests: 16, requestsPerCaller: 8, eventLoopLagMs: 200 });
  given.admit('a');
  const until = performance.now() + 600;
  while (performance.now() < until);
  // The timer that measures the lag is due before this one.
  await lateBy(1);
  expect([given.admit('a').why, given.admit('b').why, given.admit('b').why]).toEqual([
    'event loop lag',
    null,
    'event loop lag',
  ]);
  expect([given.admit('c').why, given.admit('d').why]).toEqual([null, 'event loop lag']);
  await expect.poll(() => given.admit('a').why).toBeNull();
});

test('while the event loop is late, callers that hold nothing get the reserve, whatever others hold', async () => {
  using given = open({ requests: 16, requestsPerCaller: 16, eventLoopLagMs: 200 });
  for (let n = 0; n < 14; n++) given.admit('a');
  const until = performance.now() + 600;
  while (performance.now() < until);
  // The timer that measures the lag is due before this one.
  await lateBy(1);
  expect([given.admit('b').why, given.admit('c').why]).toEqual([null, null]);
  expect(given.ended).toEqual([]);
  // Others displace what a caller that holds more than they do asked for last.
  expect([given.admit('d').why, given.admit('b').why]).toEqual([null, null]);
  expect(given.ended).toEqual(['requests of a 13', 'requests of a 12']);
  expect(given.admit('a').why).toBe('event loop lag');
  expect(given.ledger.requests).toBe(16);
});

test('docs/hardening.md shows the table of uses', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/hardening.md'), 'utf8');
  expect(page).toContain(`\n${usesTable()}\n\n`);
});

test('the totals, their defaults and the metrics come from the table of uses', async () => {
  const heap = getHeapStatistics().heap_size_limit;
  const documented = readFileSync(join(import.meta.dirname, '../docs/configuration.md'), 'utf8');
  for (const resource of resources) {
    const { variable } = uses[resource];
    const given =
      variable === null
        ? {}
        : {
            [variable]: '4096',
            WORKERS: '2',
            BANK_BASE_URL: 'https://bank.example',
            STATE_URL: 'sqlite:state.db',
          };
    const total = readConfig(given).server.ledger.totals[resource];
    expect([resource, total]).toEqual([resource, variable === null ? heapTotal(resource, heap) : 2048]);
    if (variable !== null) expect(documented).toContain(`\`${variable}\``);
  }
  const { requests, unread } = readConfig({}).server.ledger.totals;
  expect([requests, unread]).toEqual([heapTotal('requests'), heapTotal('unread')]);
  const { registry, watchHeld, onShed } = createTelemetry(pino({ enabled: false }), pino({ enabled: false }));
  watchHeld((resource) => resource.length, readConfig({}).server.ledger.totals);
  onShed('connections');
  const text = await registry.metrics();
  const labels = (metric: string, label: string) =>
    [...text.matchAll(new RegExp(`^${metric}\\{${label}="(.*)"\\} `, 'gm'))].map(([, value]) => value);
  expect(labels('bankql_held', 'resource')).toEqual(resources);
  expect(labels('bankql_held_max', 'resource')).toEqual(resources);
  expect(labels('bankql_requests_shed_total', 'why')).toEqual(shedReasons);
  expect(text).toContain('bankql_requests_shed_total{why="connections"} 1');
});

describe('over a socket', () => {
  let bank: RecordingBank;
  let server: RunningServer;
  const shed: ShedReason[] = [];
  beforeEach(async () => {
    bank = await startRecordingBank();
    shed.length = 0;
    server = await serve({
      ...(await testOptions({ bankUrl: bank.url })),
      host: '127.0.0.1',
      http: { corsOrigins: new Set(), onlyLocalNames: false },
      port: 0,
      ledger: ledgerLimits({ requests: 2, requestsPerCaller: 1 }),
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
    await expect.poll(() => server.held.requests).toBe(2);
    const refused = await ask('three');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    // Those who have a connection keep it: another would be one more thing to do.
    expect(refused.headers.get('connection')).toBe('keep-alive');
    expect(await refused.json()).toEqual({
      errors: [
        expect.objectContaining({
          extensions: documented({ code: 'OVERLOADED', retryable: true, retryAfter: 1 }),
        }),
      ],
    });
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect((await fetch(`${server.url}/ready`)).status).toBe(200);
    resolve();
    for (const answer of await Promise.all([first, second])) expect(answer.status).toBe(200);
    await expect.poll(() => server.held.requests).toBe(0);
    expect((await ask('three')).status).toBe(200);
    expect(shed).toEqual(['requests']);
  });

  test('where readiness needs room, /ready is 503 as long as there is none, and not for one caller’s own limit', async () => {
    await using fixture = await startServerFixture({
      ledger: ledgerLimits({ requests: 2, requestsPerCaller: 1 }),
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
    await expect.poll(() => fixture.server.held.requests).toBe(1);
    expect((await post('one')).status).toBe(503);
    expect(await statusOf('/ready')).toBe(200);
    const second = post('two');
    await expect.poll(() => fixture.server.held.requests).toBe(2);
    expect([await statusOf('/ready'), await statusOf('/health')]).toEqual([503, 200]);
    expect(await (await fetch(`${fixture.server.url}/ready`)).text()).toBe('overloaded\n');
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
    await expect.poll(() => server.held.requests).toBe(1);
    const refused = await ask('noisy');
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain('Too many of your requests are in progress. bankql did nothing');
    const quiet = ask('quiet');
    await expect.poll(() => server.held.requests).toBe(2);
    resolve();
    expect((await quiet).status).toBe(200);
    await noisy;
    expect(shed).toEqual(['requests of the caller']);
  });

  test('names that one peer invents give way to another peer', async () => {
    bank.otherwise(() => 'hang');
    const agents = [new Agent({ localAddress: '127.0.0.2' }), new Agent({ localAddress: '127.0.0.1' })];
    const statuses: number[] = [];
    const post = (agent: Agent | undefined, authId: string) =>
      new Promise<number>((resolve) => {
        const headers = { 'Content-Type': 'application/json', ...credentials, 'Auth-ID': authId };
        const sent = request(`${server.url}/graphql`, { method: 'POST', agent, headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        });
        sent.on('error', () => resolve(0));
        sent.end(JSON.stringify({ query: '{ bank { branches { totalCount } } }' }));
      });
    const [attackers, others] = agents;
    for (const name of ['invented', 'made up'])
      void post(attackers, name).then((status) => statuses.push(status));
    await expect.poll(() => server.held.requests).toBe(2);
    void post(others, 'a customer');
    await expect.poll(() => statuses).toEqual([503]);
    expect(server.held.requests).toBe(2);
    for (const agent of agents) agent.destroy();
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
    await expect.poll(() => server.held.requests).toBe(1);
    leaving.abort();
    expect(await asked).toBe('left');
    await expect.poll(() => server.held.requests).toBe(0);
  });
});
