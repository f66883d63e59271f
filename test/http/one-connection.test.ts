import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { authenticateByToken } from '../../src/http/auth/jwt.ts';
import { claims, createKey, sign, startIssuer } from '../support/issuer.ts';
import { connectTo, postText } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** Requests over one connection have nothing in common except the connection. */

const query = JSON.stringify({ query: '{ bank { messages { totalCount } } }' });
const named = (authId: string, key = 'key-1') => ({
  'Ocp-Apim-Subscription-Key': key,
  'Auth-Provider-Name': 'provider',
  'Auth-ID': authId,
});

/** One connection, and the answers to its requests. */
function openConnection({ url }: ServerFixture) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  return {
    ports,
    async send(headers: Readonly<Record<string, string>>) {
      const length = String(query.length);
      const sent = request(url, {
        agent,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Length': length, ...headers },
      });
      sent.end(query);
      const [answer]: IncomingMessage[] = await once(sent, 'response');
      if (answer === undefined) throw new Error('no answer');
      ports.add(sent.socket?.localPort);
      return { status: answer.statusCode, text: await text(answer) };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

test('each request is made with its own credentials', async () => {
  await using fixture = await startServerFixture();
  fixture.bank.otherwise({ body: { messages: [] } });
  using connection = openConnection(fixture);
  const callers = ['alice', 'alice', 'bob', 'alice', 'bob', 'bob'].map((name, n) =>
    named(name, n === 3 ? 'key-2' : 'key-1'),
  );
  for (const headers of callers) expect((await connection.send(headers)).status).toBe(200);
  expect((await connection.send({})).text).toContain('MISSING_CREDENTIALS');
  expect(connection.ports.size).toBe(1);
  expect(
    fixture.bank.calls.map(({ headers }) => [headers['auth-id'], headers['ocp-apim-subscription-key']]),
  ).toEqual(callers.map((headers) => [headers['Auth-ID'], headers['Ocp-Apim-Subscription-Key']]));
});

test('two pipelined payments are two requests, answered in their order', async () => {
  await using fixture = await startServerFixture();
  // The first request is answered last.
  const first = Promise.withResolvers<void>();
  fixture.bank.otherwise(async ({ path }) => {
    if (path.includes('/first/')) await first.promise;
    return { body: { id: path.includes('/first/') ? 'tx-1' : 'tx-2' } };
  });
  const payment = (account: string) =>
    postText(
      JSON.stringify({
        query: `mutation { makeTransaction(input: { accountId: "${account}", to: { accountId: "x" }, value: { amount: 1 }, idempotencyKey: "key-${account}" }) { payment { transactionId } } }`,
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

describe('on a kept connection, a token', () => {
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

  test('is refused when it has expired', async () => {
    await using given = await open();
    const token = await sign(given.first, claims({}, 300));
    expect([await given.ask(token), await given.ask(token)]).toEqual([200, 200]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 361_000 });
    expect(await given.ask(token)).toBe(401);
    expect(given.fixture.bank.calls).toHaveLength(2);
  });

  test('is refused when its key has been removed, even without a reload of the keys', async () => {
    await using given = await open();
    const token = await sign(given.first);
    expect([await given.ask(token), await given.ask(token)]).toEqual([200, 200]);
    given.issuer.keys = [given.second.jwk];
    expect(await given.ask(token)).toBe(200);
    await given.authenticate.keys.reload();
    // The key is unknown now. It may be new, so the set is fetched, and does not contain it.
    expect(await given.ask(token)).toBe(401);

    const other = await sign(given.second);
    expect([await given.ask(other), await given.ask(other)]).toEqual([200, 200]);
    given.issuer.keys = [given.first.jwk];
    given.time.now += 10 * 60_000 + 1;
    expect(await given.ask(other)).toBe(401);
    expect(given.fixture.bank.calls).toHaveLength(5);
  });

  test('with another subject is another caller', async () => {
    await using given = await open();
    for (const sub of ['alice', 'alice', 'bob', 'alice'])
      expect(await given.ask(await sign(given.first, claims({ sub })))).toBe(200);
    expect(given.fixture.bank.calls.map(({ headers }) => headers['auth-id'])).toEqual([
      ...['alice', 'alice', 'bob', 'alice'],
    ]);
  });
});
