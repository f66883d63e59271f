import { once } from 'node:events';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { RequestCredentials } from '../../src/bank/credentials.ts';
import { createBankqlYoga } from '../../src/graphql/yoga.ts';
import { slices } from '../../src/load/slices.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { AttackedProcess } from '../support/attacked-process.ts';
import { bankDefaults, createTestHolder } from '../support/bankql.ts';
import { createCallers } from '../support/callers.ts';
import { answer, lineOf, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { claims, createKey, type Issuer, sign, startIssuer } from '../support/issuer.ts';
import { branchOf } from '../support/records.ts';
import { connectTo, postText } from '../support/requests.ts';

/**
 * Even in a process with a small heap, callers that use all that the limits allow do not end the process, and other callers
 * are served.
 */

const many = JSON.stringify({
  branches: Array.from({ length: 1000 }, (_, n) => ({
    branch_id: `branch-${n}`,
    bank_id: 'many',
    ...branchOf({ id: `branch-${n}`, name: `Branch number ${n}` }),
    address: { city: `City ${n}`, line_1: `${n} Main Street` },
  })),
});
const few = JSON.stringify({ branches: [branchOf({ id: 'b', name: 'B' })] });
/** The calls for the bank `held`, which the test answers, and their paths in the order of arrival. */
const held: Socket[] = [];
const arrived: string[] = [];
const bank = await startFaultyBank((socket) => {
  const line = lineOf(bank.requests.pop() ?? '');
  if (line.includes('/held/')) {
    arrived.push(line);
    held.push(socket);
  } else reply(200, line.includes('/few/') ? few : many)(socket);
});
const answerOne = () => held.shift()?.write(answer(200, '{"email":"somebody@bank.example"}'));
const key = await createKey('ES256', 'key-1');
let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer(key);
});
afterAll(async () => {
  await bank.close();
  await issuer[Symbol.asyncDispose]();
});
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const socket of held.splice(0)) socket.destroy();
  arrived.length = 0;
});

const start = (environment: Readonly<Record<string, string>> = {}) =>
  AttackedProcess.start({
    BANK_BASE_URL: bank.url,
    BANK_ID: 'many',
    STATE_URL: 'memory:',
    NODE_OPTIONS: '--max-old-space-size=256',
    BANK_SUBSCRIPTION_KEY: 'the-operators-key',
    METRICS_PORT: '0',
    // The deadline is longer than the test, because the test decides when the bank `held` answers.
    BANK_TIMEOUT_MS: '540000',
    ...environment,
  });
const withTokens = () => issuer.variables;
const withHeaders = () => ({ IDENTITY: 'headers' });
/** The tokens differ, but are of one login. */
const tokensOf = (sub: string, count: number) =>
  Promise.all(Array.from({ length: count }, (_, n) => sign(key, claims({ sub, jti: `${sub}-${n}` }))));
const byToken = (token: string) => ({ Authorization: `Bearer ${token}` });
const byHeader = (authId: string) => ({ 'Auth-Provider-Name': 'provider', 'Auth-ID': authId });

const small = JSON.stringify({ query: '{ bank(bankId: "few") { branches { totalCount } } }' });

/** A client that sends a request, or a part of it, and reads nothing. */
function send(process: AttackedProcess, headers: Record<string, string>, body: string, sent: number): void {
  const socket = connectTo(process.url).pause();
  socket.write(postText(body, headers, body.slice(0, sent)));
  sockets.push(socket);
}

/** Waits until this number of connections has been made, and their data has been read. */
async function settled(process: AttackedProcess): Promise<void> {
  await Promise.all(sockets.map((socket) => (socket.connecting ? once(socket, 'connect') : null)));
  for (let n = 0; n < 3; n++) await fetch(`${process.url}/health`);
}

test.each([
  [
    'ten tokens of one login',
    withTokens,
    async () => (await tokensOf('greedy', 10)).map(byToken),
    async () => byToken(await sign(key, claims({ sub: 'good' }))),
  ],
  [
    'ten invented names',
    withHeaders,
    async () => Array.from({ length: 10 }, (_, n) => byHeader(`greedy-${n}`)),
    async () => byHeader('good'),
  ],
])(
  '1,000 requests with %s, whose bodies stop after one byte, keep nobody from being served',
  async (_what, environment, attackers, good) => {
    await using bankql = await start(environment());
    const [greedy, caller] = [await attackers(), await good()];
    for (const headers of greedy) for (let n = 0; n < 100; n++) send(bankql, headers, small, 1);
    await settled(bankql);
    for (let n = 0; n < 10; n++) expect((await bankql.ask(small, caller)).status).toBe(200);
    expect(await bankql.metric('bankql_graphql_in_flight')).toBe(0);
  },
);

test('100 requests for large answers at the same time do not end the process, and others are served meanwhile', async () => {
  await using bankql = await start(withTokens());
  const tokens = await tokensOf('greedy', 2);
  const good = byToken(await sign(key, claims({ sub: 'good' })));
  const large = JSON.stringify({
    query: '{bank{branches(first:11){nodes{bank{branches{nodes{id branchId name address{city line1}}}}}}}}',
  });
  const statuses: number[] = [];
  const { refused } = await bankql.during(
    () =>
      Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          const { status } = await bankql.ask(large, byToken(tokens[n % 2] ?? ''));
          statuses.push(status);
        }),
      ),
    good,
  );
  expect(bankql.isAlive).toBe(true);
  expect(refused).toBe(0);
  // Requests above a caller's share are refused. All other requests are answered, some perhaps with the error that there is too
  // much to do.
  expect(statuses).toHaveLength(100);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(10);
});

/** A request that reads this number of customers of the bank `held`. */
const readsOf = (name: string, count: number) => {
  const fields = Array.from(
    { length: count },
    (_, n) => `c${n}: customer(customerId: "${name}-${n}") { email }`,
  );
  return JSON.stringify({ query: `{ bank(bankId: "held") { ${fields.join(' ')} } }` });
};
/** Waits for a result while the bank answers every call. */
async function answeringAll<Result>(result: Promise<Result>): Promise<Result> {
  const answering = setInterval(() => {
    while (held.length > 0) answerOne();
  }, 10);
  return result.finally(() => clearInterval(answering));
}

test('100 names that one address invents do not keep the calls of another address waiting', async () => {
  await using bankql = await start({ BANK_CONNECTIONS: '8' });
  const inventing = Array.from({ length: 100 }, (_, n) =>
    bankql.ask(readsOf('i', 1), byHeader(`invented-${n}`)),
  );
  await expect.poll(() => arrived.length).toBe(3);
  const elsewhere = new Agent({ localAddress: '127.0.0.2' });
  const victims = ['victim-a', 'victim-b'].map((name) =>
    bankql.ask(readsOf(name, 1), byHeader('victim'), elsewhere),
  );
  await expect.poll(() => arrived.filter((path) => path.includes('victim')).length).toBe(2);
  const answers = await answeringAll(Promise.all([...victims, ...inventing]));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  elsewhere.destroy();
});

test('a burst of 100 logins, each with an operation of 20 calls, is answered, and so are single reads beside it', async () => {
  // Each call of the burst has to wait for one of 8 connections, of which one caller may have 4.
  await using bankql = await start({ BANK_CONNECTIONS: '8', ...withHeaders() });
  const burst = Array.from({ length: 100 }, (_, n) =>
    bankql.ask(readsOf(`burst-${n}`, 20), byHeader(`login-${n}`)),
  );
  await expect.poll(() => arrived.length).toBe(6);
  const single = Array.from({ length: 24 }, (_, n) =>
    bankql.ask(readsOf(`single-${n}`, 1), byHeader(`quiet-${n}`)),
  );
  const answers = await answeringAll(Promise.all([...single, ...burst]));
  expect(new Set(answers.map(({ status, start }) => `${status} ${start.slice(0, 8)}`))).toEqual(
    new Set(['200 {"data":']),
  );
  expect(arrived).toHaveLength(2024);
});

describe('operations that wait', () => {
  const callerOf = createCallers();
  const credentialsOf = (name: string) =>
    new RequestCredentials({ subscriptionKey: 'k', authProviderName: 'p', authId: 'a' }, callerOf(name));

  async function createFixture() {
    const bank = createBankClient({ ...bankDefaults, baseUrl: 'http://bank.test' });
    const store = await createMemoryStore({ retentionMs: 1000 });
    const services = {
      bank,
      payments: createPaymentService({ bank, store, leaseMs: 1000, audit: () => {} }),
      defaults: { bankId: 'BANK', viewId: 'owner' },
      limits: { timeoutMs: 1000, restCalls: 50 },
      answerLimits: { values: 100_000, bytes: 16 * 1024 * 1024 },
    };
    const engine = createBankqlYoga({
      ...services,
      documentCacheBytes: 64 * 1024 * 1024,
      documentLimits: { tokens: 2000, depth: 15, aliases: 30, rootFields: 50, directives: 20, fields: 500 },
      introspection: true,
      unexpected: () => {},
    });
    return { engine, bank };
  }

  test('a query whose client has left ends when it waits for time, though it reads nothing of the bank', async () => {
    const { engine, bank } = await createFixture();
    const credentials = credentialsOf('a');
    const ask = async (hasLeft: boolean) => {
      const holder = createTestHolder();
      const asked = engine.execute({ query: getIntrospectionQuery() }, { credentials, holder });
      holder.isAbandoned = hasLeft;
      // The operation has begun, and continues only in later slices of time.
      while (slices.hasTime);
      return asked;
    };
    const long = vi.spyOn(slices, 'hasTime', 'get').mockReturnValueOnce(true).mockReturnValueOnce(false);
    const wait = vi.spyOn(slices, 'wait');
    onTestFinished(() => long.mockRestore());
    expect((await ask(false)).errors).toBeUndefined();
    long.mockReturnValueOnce(true).mockReturnValueOnce(false);
    expect(await ask(true)).toMatchObject({ data: null, errors: [{}] });
    // Each part of the work waits for a slice of time as an operation of its own caller.
    const waiting = wait.mock.calls.map(([operation]) => operation);
    expect([...new Set(waiting)].map(({ caller }) => caller)).toEqual([
      credentials.caller,
      credentials.caller,
    ]);
    wait.mockRestore();
    await bank.close();
  });

  test('an operation waits while the time of an iteration is used up, and begins in the order of the callers', async () => {
    const { engine, bank } = await createFixture();
    const read = vi.spyOn(bank.reads, 'read').mockRejectedValue(new Error('no bank'));
    const ask = (name: string) =>
      engine.execute(
        { query: `{ bank { customer(customerId: "${name}") { email } } }` },
        { credentials: credentialsOf(name) },
      );
    while (slices.hasTime);
    const asked = ['greedy', 'greedy', 'greedy', 'quiet'].map(ask);
    await Promise.resolve();
    expect(read).not.toHaveBeenCalled();
    await Promise.all(asked);
    const order = read.mock.calls.map(([{ path }]) => path.split('/').at(-1));
    expect(order.slice(0, 2)).toEqual(['greedy', 'quiet']);
    expect(order).toHaveLength(4);
    await bank.close();
  });

  test('an operation whose client leaves before it begins makes no call', async () => {
    const { engine, bank } = await createFixture();
    const read = vi.spyOn(bank.reads, 'read');
    const holder = createTestHolder();
    while (slices.hasTime);
    const query = '{ bank { customer(customerId: "A") { email } } }';
    const asked = engine.execute({ query }, { credentials: credentialsOf('a'), holder });
    holder.isAbandoned = true;
    expect(await asked).toEqual({ data: null });
    expect(read).not.toHaveBeenCalled();
    await bank.close();
  });
});
