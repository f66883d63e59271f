import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { authenticateByToken } from '../../src/server/auth/jwt.ts';
import { claims, createKey, sign, startIssuer } from '../support/issuer.ts';
import { connectTo, postText } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** Requests of one connection have nothing in common but the connection. */

const query = JSON.stringify({ query: '{ bank { messages { totalCount } } }' });
const named = (authId: string, key = 'key-1') => ({
  'Ocp-Apim-Subscription-Key': key,
  'Auth-Provider-Name': 'provider',
  'Auth-ID': authId,
});

/** One connection, and the answers to requests on it. */
function openConnection({ url }: ServerFixture) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  return {
    ports,
    async send(
      headers: Readonly<Record<string, string>>,
      { body = query, path = '/graphql', method = 'POST' } = {},
    ) {
      const sent = request(new URL(path, url), {
        agent,
        method,
        headers: { 'Content-Type': 'application/json', 'Content-Length': String(body.length), ...headers },
      });
      sent.end(body);
      const [answer]: IncomingMessage[] = await once(sent, 'response');
      if (answer === undefined) throw new Error('no answer');
      ports.add(sent.socket?.localPort);
      let text = '';
      for await (const chunk of answer.setEncoding('utf8')) text += chunk;
      return { status: answer.statusCode, headers: answer.headers, text };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

describe('with credentials in headers', () => {
  let fixture: ServerFixture;
  beforeEach(async () => {
    fixture = await startServerFixture({ maxRequestBytes: 200 });
    fixture.bank.otherwise({ body: { messages: [] } });
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  test('each request is made for the caller that it names itself', async () => {
    using connection = openConnection(fixture);
    const callers = [
      named('alice'),
      named('alice'),
      named('bob'),
      named('alice', 'key-2'),
      named('bob'),
      named('bob'),
    ];
    for (const headers of callers) expect((await connection.send(headers)).status).toBe(200);
    expect((await connection.send({})).text).toContain('MISSING_CREDENTIALS');
    expect(connection.ports.size).toBe(1);
    expect(
      fixture.bank.calls.map(({ headers }) => [headers['auth-id'], headers['ocp-apim-subscription-key']]),
    ).toEqual(callers.map((headers) => [headers['Auth-ID'], headers['Ocp-Apim-Subscription-Key']]));
  });

  test('each request has its own id, and is refused if it is too long or asks for something else', async () => {
    using connection = openConnection(fixture);
    const headers = named('alice');
    const ids: unknown[] = [];
    const owns: Record<string, string>[] = [
      {},
      {},
      { 'X-Request-Id': 'mine-1' },
      { 'X-Request-Id': 'mine-2' },
      { 'X-Request-Id': 'not plain' },
    ];
    for (const own of owns) ids.push((await connection.send({ ...headers, ...own })).headers['x-request-id']);
    expect(ids.slice(2, 4)).toEqual(['mine-1', 'mine-2']);
    expect(new Set(ids).size).toBe(5);
    expect(ids).not.toContain('not plain');
    const longer = await connection.send(headers, { body: query.padEnd(190) });
    expect([longer.status, connection.ports.size]).toEqual([200, 1]);
    expect((await connection.send(headers, { path: '/graphql?other' })).status).toBe(200);
    expect((await connection.send(headers, { path: '/elsewhere' })).status).toBe(404);
    expect((await connection.send({ ...headers, Accept: 'text/html' })).status).toBe(406);
    const plain = await connection.send({ ...headers, Accept: 'application/json' });
    expect(plain.headers['content-type']).toBe('application/json; charset=utf-8');
    expect((await connection.send({ ...headers, 'Content-Type': 'text/plain' })).status).toBe(415);
    expect((await connection.send(headers, { body: query.padEnd(201) })).status).toBe(413);
  });
});

test('a caller that has no REST call left is refused on a connection that was served before', async () => {
  let left = 2;
  const rateLimiter = { secondsUntilNext: async () => (left-- > 0 ? 0 : 7), take: async () => 0 };
  await using fixture = await startServerFixture({ rateLimiter: rateLimiter as never });
  fixture.bank.otherwise({ body: { messages: [] } });
  using connection = openConnection(fixture);
  const statuses: unknown[] = [];
  for (let n = 0; n < 3; n++) statuses.push((await connection.send(named('alice'))).status);
  expect(statuses).toEqual([200, 200, 429]);
});

test('two payments that are sent without waiting for an answer are two requests, answered in their order', async () => {
  await using fixture = await startServerFixture();
  // The first one is answered last.
  const first = Promise.withResolvers<void>();
  fixture.bank.otherwise(async ({ path }) => {
    if (path.includes('/first/')) await first.promise;
    return { body: { id: path.includes('/first/') ? 'tx-1' : 'tx-2' } };
  });
  const payment = (account: string) =>
    postText(
      JSON.stringify({
        query: `mutation { makeTransaction(input: { accountId: "${account}", to: {}, value: { amount: 1 }, idempotencyKey: "key-${account}" }) { payment { transactionId } } }`,
      }),
      named('alice'),
    );
  const socket = connectTo(fixture.url);
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.write(payment('first') + payment('second'));
  await expect.poll(() => fixture.bank.calls.length).toBe(2);
  expect(received).toBe('');
  first.resolve();
  await expect.poll(() => received.match(/tx-\d/g)).toEqual(['tx-1', 'tx-2']);
  expect(fixture.bank.calls).toHaveLength(2);
  socket.destroy();
});

describe('with a token', () => {
  afterEach(() => void vi.useRealTimers());

  async function open() {
    const [first, second] = await Promise.all([createKey('ES256', 'first'), createKey('ES256', 'second')]);
    const issuer = await startIssuer(first);
    const time = { now: 0 };
    const authenticate = authenticateByToken(
      { ...issuer.options, keyTimes: { now: () => time.now } },
      pino({ enabled: false }),
    );
    const fixture = await startServerFixture({ authenticate });
    fixture.bank.otherwise({ body: { messages: [] } });
    const connection = openConnection(fixture);
    const ask = async (token: string) => (await connection.send({ Authorization: `Bearer ${token}` })).status;
    return {
      ...{ first, second, issuer, authenticate, fixture, ask, time },
      async [Symbol.asyncDispose]() {
        connection[Symbol.dispose]();
        await fixture[Symbol.asyncDispose]();
        await issuer[Symbol.asyncDispose]();
      },
    };
  }

  test('it is refused once it has expired', async () => {
    await using given = await open();
    const token = await sign(given.first, claims({}, 300));
    expect([await given.ask(token), await given.ask(token)]).toEqual([200, 200]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 361_000 });
    expect(await given.ask(token)).toBe(401);
    expect(given.fixture.bank.calls).toHaveLength(2);
  });

  test('it is refused once its key is gone, also if nobody reloads the keys', async () => {
    await using given = await open();
    const token = await sign(given.first);
    expect([await given.ask(token), await given.ask(token)]).toEqual([200, 200]);
    given.issuer.keys = [given.second.jwk];
    expect(await given.ask(token)).toBe(200);
    await given.authenticate.reloadKeys();
    // The key may be a new one: whether it is can be found out.
    expect(await given.ask(token)).toBe(401);

    const other = await sign(given.second);
    expect([await given.ask(other), await given.ask(other)]).toEqual([200, 200]);
    given.issuer.keys = [given.first.jwk];
    given.time.now += 10 * 60_000 + 1;
    expect(await given.ask(other)).toBe(401);
    expect(given.fixture.bank.calls).toHaveLength(5);
  });

  test('another subject on the same connection is another caller', async () => {
    await using given = await open();
    for (const sub of ['alice', 'alice', 'bob', 'alice'])
      expect(await given.ask(await sign(given.first, claims({ sub })))).toBe(200);
    expect(given.fixture.bank.calls.map(({ headers }) => headers['auth-id'])).toEqual([
      ...['alice', 'alice', 'bob', 'alice'],
    ]);
  });
});
