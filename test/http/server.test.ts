import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { createTestBankql, credentials, type TestBankql, testOptions } from '../support/bankql.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { connectTo, postOf, postText } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';
import { lateBy } from '../support/waits.ts';

const statusFor = async (url: string, host: string, setHost = true) => {
  const { hostname, port } = new URL(url);
  const outgoing = httpRequest({
    host: hostname,
    port,
    path: '/graphql?query={__typename}',
    headers: setHost ? { Host: host } : {},
  });
  outgoing.end();
  const [incoming] = await once(outgoing, 'response');
  return { status: incoming.statusCode, text: (await incoming.toArray()).join('') };
};

test.each(['a b', '[', 'x:999999'])(
  'a Host that is none (%s) is refused, and no stack is told',
  async (host) => {
    await using fixture = await startServerFixture();
    const { status, text } = await statusFor(fixture.url, host);
    expect(status).toBe(400);
    expect(text).not.toMatch(/node_modules|TypeError/);
  },
);

test('where the operator’s key serves whoever connects, only names of this machine are answered to', async () => {
  await using fixture = await startServerFixture({ http: { corsOrigins: new Set(), onlyLocalNames: true } });
  expect((await statusFor(fixture.url, 'evil.example:4000')).status).toBe(421);
  for (const host of ['localhost:4000', '127.0.0.1', '[::1]:4000'])
    expect((await statusFor(fixture.url, host)).status).toBe(200);
});

test('an answer that is still being written when the server stops arrives whole', async () => {
  await using fixture = await startServerFixture({ bankOptions: { maxBodyBytes: 20_000_000 } });
  const name = 'x'.repeat(1000);
  fixture.bank.otherwise({
    body: { branches: Array.from({ length: 8000 }, () => ({ acceptsDeposits: true, name })) },
  });
  const socket = connectTo(fixture.url);
  socket.write(postText(JSON.stringify({ query: '{ bank { branches { nodes { name } } } }' })));
  await once(socket, 'readable');
  const stopped = fixture.server.close();
  await lateBy(200);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  const answer = Buffer.concat(chunks).toString();
  const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
  expect(answer.length - answer.indexOf('\r\n\r\n') - 4).toBe(length);
  expect(length).toBeGreaterThan(8_000_000);
  await stopped;
});

test('the address of closed connections is in the log, once a minute', async () => {
  await using fixture = await startServerFixture({ capacity: capacityLimits({ sockets: 1 }) });
  const first = connectTo(fixture.url);
  await once(first, 'connect');
  for (const socket of [connectTo(fixture.url), connectTo(fixture.url)]) await once(socket, 'close');
  const logged = fixture.log.filter((line) => line.includes('a connection was closed'));
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, address: '127.0.0.1', connections: 2 },
  ]);
  first.destroy();
});

test('/ready says so before the server stops to listen', async () => {
  await using fixture = await startServerFixture({ drainDelayMs: 2000 });
  const stopped = fixture.server.close();
  const refused = await fetch(`${fixture.server.url}/ready`);
  expect([refused.status, await refused.text()]).toEqual([503, 'leaving\n']);
  expect(refused.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect((await fetch(`${fixture.server.url}/health`)).status).toBe(200);
  expect(fixture.bank.calls).toEqual([]);
  await stopped;
  await expect(fetch(`${fixture.server.url}/ready`)).rejects.toThrow();
});

describe('a list that is broken throughout', () => {
  test.each([
    ['entries that are no objects', { branches: Array.from({ length: 300_000 }, () => 1) }],
    [
      'entries with a broken value each',
      { branches: Array.from({ length: 50_000 }, () => ({ acceptsDeposits: 1 })) },
    ],
    [
      'a list without end in a record',
      { branches: [{ acceptsDeposits: true, lobby: {}, name: 'n', more: Array(20_000).fill(1) }] },
    ],
  ])('is given up before it costs more than it is worth: %s', async (_what, body) => {
    await using bank = await startRecordingBank();
    await using bankql = await createTestBankql({
      bankUrl: bank.url,
      bankOptions: { maxBodyBytes: 20_000_000 },
    });
    bank.otherwise({ body });
    const result = await bankql.ask('{ bank { branches { totalCount } } }');
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['BANK_BAD_RESPONSE']);
    expect(JSON.stringify(result).length).toBeLessThan(1000);
  });
});

describe('a payment', () => {
  const pay =
    'mutation { makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: "k" }) { replayed } }';
  const find = '{ payment(idempotencyKey: "k") { state } }';

  test('is shown to its caller with the same subscription key alone', async () => {
    await using bank = await startRecordingBank();
    await using bankql = await createTestBankql({ bankUrl: bank.url });
    bank.otherwise({ body: {} });
    await bankql.ask(pay);
    expect((await bankql.ask(find)).data).toEqual({ payment: { state: 'DONE' } });
    const other = { ...credentials, 'Ocp-Apim-Subscription-Key': 'garbage' };
    expect((await bankql.ask(find, undefined, other)).data).toEqual({ payment: null });
    const { 'Ocp-Apim-Subscription-Key': _key, ...without } = credentials;
    expect((await bankql.ask(find, undefined, without)).errors?.[0]?.extensions.code).toBe(
      'MISSING_CREDENTIALS',
    );
  });

  const withLog = async (failing: (state: string) => boolean) => {
    const bank = (await startRecordingBank()).otherwise({ body: { id: 'tx' } });
    const { bank: client } = await testOptions({ bankUrl: bank.url });
    const payments = createPaymentService({
      bank: client,
      store: await createMemoryStore({ retentionMs: 1e9 }),
      leaseMs: 10_000,
      audit: ({ state }) => {
        if (failing(state)) throw new Error('ENOSPC');
      },
    });
    return { bank, bankql: await createTestBankql({ bankUrl: bank.url, payments }) };
  };

  test('that cannot be logged before it is sent is not sent, and its key is free', async () => {
    let full = true;
    const { bank, bankql } = await withLog((state) => full && state === 'PENDING');
    expect((await bankql.ask(pay)).errors?.[0]?.extensions.code).toBe('STATE_UNAVAILABLE');
    expect(bank.calls).toEqual([]);
    full = false;
    expect((await bankql.ask(pay)).data).toEqual({ makeTransaction: { replayed: false } });
    await bank.close();
  });

  test('that cannot be logged after it was sent ends as it ended', async () => {
    const { bank, bankql } = await withLog((state) => state === 'DONE');
    expect((await bankql.ask(pay)).data).toEqual({ makeTransaction: { replayed: false } });
    expect((await bankql.ask(find)).data).toEqual({ payment: { state: 'DONE' } });
    expect(bank.calls).toHaveLength(1);
    await bank.close();
  });
});

describe('what cannot be answered', () => {
  let bank: RecordingBank;
  let bankql: TestBankql;
  beforeAll(async () => {
    bank = await startRecordingBank();
    bankql = await createTestBankql({ bankUrl: bank.url });
  });
  afterAll(async () => {
    await bankql[Symbol.asyncDispose]();
    await bank.close();
  });

  const post = (body: string, headers: Record<string, string> = {}) =>
    bankql.fetch(new Request('http://bankql.test/graphql', postOf(body, headers)));

  test.each([
    ['{"query":"query A { __typename } query B { __typename }"}', 'name one in "operationName"'],
    ['{"query":"{ __typename }","operationName":"X"}', 'no operation with the name in "operationName"'],
    ['{"documentId":"8f0c"}', 'this server has no manifest'],
  ])('what is refused says what is missing: %s', async (body, message) => {
    expect(await (await post(body)).text()).toContain(JSON.stringify(message).slice(1, -1));
  });

  describe('an empty selection is a syntax error with its place, and makes no call', () => {
    test.each([
      ['of the operation', '{ }', 3],
      ['of a field', '{ bank { } }', 10],
      ['of an inline fragment', '{ ... { } }', 9],
      ['of a fragment', '{ bank { ...F } } fragment F on Bank { }', 40],
      ['of a mutation', 'mutation { putProduct(input: { product: {} }) { } }', 49],
    ])('%s', async (_what, query, column) => {
      const answer = await post(JSON.stringify({ query }), { Accept: 'application/graphql-response+json' });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toEqual({
        errors: [
          {
            message: 'Syntax Error: Expected Name, found "}".',
            locations: [{ line: 1, column }],
            extensions: expect.objectContaining({ code: 'GRAPHQL_PARSE_FAILED' }),
          },
        ],
      });
      expect(bank.calls).toEqual([]);
    });
  });

  test('an invalid body is not echoed', async () => {
    const text = await (await post('{"query": secret-in-the-body')).text();
    expect(text).not.toContain('secret-in-the-body');
  });

  test('what goes wrong inside is INTERNAL: the answer says nothing of it, the log everything', async () => {
    const fail = () => Promise.reject(new Error('the secret of the inside'));
    await using other = await createTestBankql({
      bankUrl: bank.url,
      payments: {
        pay: fail,
        preview() {
          throw new Error('not asked');
        },
        find: fail,
        findByTrackId: () => Promise.reject(new Error('not asked')),
        search: fail,
        idle: async () => {},
      },
    });
    const result = await other.ask('{ payment(idempotencyKey: "k") { state } bank { bankId } }');
    expect(result.data).toEqual({ payment: null, bank: { bankId: 'BANK' } });
    expect(result.errors).toEqual([
      {
        message: 'Something went wrong inside bankql.',
        locations: expect.anything(),
        path: ['payment'],
        extensions: { code: 'INTERNAL', retryable: false },
      },
    ]);
    expect(other.log.join()).toContain('the secret of the inside');
  });

  test('introspection is refused where it is off; __typename is not', async () => {
    await using closed = await createTestBankql({ bankUrl: bank.url, introspection: false });
    for (const document of [
      '{ __schema { queryType { name } } }',
      '{ __type(name: "Query") { name } }',
      getIntrospectionQuery(),
    ]) {
      const result = await closed.ask(document);
      expect(result.data).toBeUndefined();
      expect(result.errors?.map(({ message, extensions }) => [extensions.code, message])).toEqual([
        [
          'GRAPHQL_VALIDATION_FAILED',
          'Introspection is switched off here; the operator switches it on with EXPLORE=on.',
        ],
      ]);
    }
    expect((await closed.ask('{ __typename }')).data).toEqual({ __typename: 'Query' });
  });
});
