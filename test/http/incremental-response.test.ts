import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { OperationActivity } from '../../src/graphql/operation-activity.ts';
import { acceptedBy } from '../../src/http/accept.ts';
import { credentials } from '../support/bankql.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { mergedData, payloadsOf, startReading } from '../support/incremental-client.ts';
import { transfer } from '../support/payment-client.ts';
import type { Reply } from '../support/recording-bank.ts';
import { branchesOf } from '../support/records.ts';
import { connectTo, postOf, postText } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

test.each([
  ['multipart/mixed', ['multipart/mixed', '20220824']],
  ['multipart/mixed;deferSpec=20220824, application/json', ['multipart/mixed', '20220824']],
  ['multipart/mixed;incrementalSpec="v0.2", application/json', ['multipart/mixed', 'v0.2']],
  ['multipart/mixed;incrementalSpec=v0.3, text/event-stream;q=0.1', ['text/event-stream', '20220824']],
  ['multipart/mixed;incrementalDeliverySpec=3283f8a', ['multipart/mixed', 'v0.2']],
  ['multipart/mixed; INCREMENTALDELIVERYSPEC="3283F8A", application/json', ['multipart/mixed', 'v0.2']],
  ['Text/Event-Stream; incrementalDeliverySpec=3283f8a', ['text/event-stream', 'v0.2']],
  ['multipart/mixed;incrementalDeliverySpec=0000000, application/json', null],
  ['multipart/mixed;deferSpec=20220824;incrementalSpec=v0.2', ['multipart/mixed', 'v0.2']],
  ['multipart/mixed;DeferSpec="20220824"', ['multipart/mixed', '20220824']],
  ['text/event-stream;q=0.5, multipart/mixed;incrementalSpec=v0.2;q=0.6', ['multipart/mixed', 'v0.2']],
  ['multipart/mixed;q=0, application/json', null],
  ['multipart/mixed;deferSpec=2019', null],
  ['application/json;note="x, multipart/mixed"', null],
  ['multipart/*', null],
  ['text/event-stream', ['text/event-stream', '20220824']],
  ['text/event-stream;q=0', null],
  ['text/event-stream; charset=latin1', null],
  ['application/json', null],
  [undefined, null],
])('a client that accepts %j gets the results of @defer as %j', (accept, stream) => {
  const taken = acceptedBy(accept).stream;
  expect(taken && [taken.type, taken.form]).toEqual(stream);
});

/** @defer over a socket: the time of each result, and the calls to the bank. */

const multipart = 'multipart/mixed;incrementalSpec=v0.2, application/json';
const account = {
  id: 'a',
  label: 'Current',
  owners: [],
  balance: { currency: 'EUR', amount: 5 },
};
const accountCall = 'GET /v1/api/banks/BANK/accounts/a/owner/views';
const othersCall = 'GET /v1/api/banks/BANK/accounts/a/owner/other_accounts';
const others = { other_accounts: ['x', 'y', 'z'].map((id) => ({ id, holder: { name: `Holder ${id}` } })) };

/** A bank's answer that waits until the test releases it. */
function held(reply: Reply) {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  return { answer: () => promise, release: () => resolve(reply) };
}

let fixture: ServerFixture;
let slow: ReturnType<typeof held>;
beforeEach(async () => {
  fixture = await startServerFixture();
  slow = held({ body: { accounts: [account] } });
  fixture.bank.on(accountCall, slow.answer).on(othersCall, { body: others });
});
afterEach(async () => {
  slow.release();
  await fixture[Symbol.asyncDispose]();
});

/** Requests several results, and reads them one by one. */
const readFrom = (url: string, query: string, variables: object = {}, headers: Record<string, string> = {}) =>
  startReading(url, { query, variables }, { ...credentials, Accept: multipart, ...headers });
const read = (query: string, accept = multipart) => readFrom(fixture.url, query, {}, { Accept: accept });

const query = `{ bank { account(accountId: "a", viewId: "owner") {
  accountId ... @defer(label: "slow") { label } otherAccounts { nodes { otherAccountId } } } } }`;

const v02 = 'incrementalSpec=v0.2';
describe.each([
  [multipart, 'multipart/mixed; boundary="-"; incrementalSpec=v0.2'],
  [`text/event-stream;${v02}`, 'text/event-stream; incrementalSpec=v0.2'],
  [
    'multipart/mixed;incrementalDeliverySpec="3283F8A", application/json',
    'multipart/mixed; boundary="-"; incrementalDeliverySpec=3283f8a',
  ],
  [`application/json, text/event-stream; ${v02}`, 'text/event-stream; incrementalSpec=v0.2'],
])('for %s', (accept, contentType) => {
  test('the first result does not wait for the record that only deferred fields need', async () => {
    const reading = await read(query, accept);
    const first = await reading.next();
    expect(first).toEqual({
      data: {
        bank: {
          account: {
            accountId: 'a',
            otherAccounts: { nodes: ['x', 'y', 'z'].map((otherAccountId) => ({ otherAccountId })) },
          },
        },
      },
      pending: [{ id: '0', path: ['bank', 'account'], label: 'slow' }],
      hasNext: true,
    });
    // Although the results come one after the other, the calls are made at the same time.
    await expect.poll(() => fixture.bank.lines().sort()).toEqual([othersCall, accountCall]);
    slow.release();
    expect(await reading.next()).toEqual({
      incremental: [{ id: '0', data: { label: 'Current' } }],
      completed: [{ id: '0' }],
      hasNext: false,
    });
    expect(await reading.next()).toBeNull();
    expect(fixture.bank.calls).toHaveLength(2);
    const { headers } = reading.response;
    expect(headers.get('content-type')).toBe(contentType);
    expect(headers.get('x-accel-buffering')).toBe('no');
  });
});

test.each([
  [
    'multipart/mixed;deferSpec=20220824, application/json',
    'multipart/mixed; boundary="-"; deferSpec=20220824',
  ],
  ['application/json, text/event-stream, multipart/mixed', 'text/event-stream; deferSpec=20220824'],
])(
  'a client that asks for the form of 2022, or for none, gets the form of 2022: %s',
  async (accept, contentType) => {
    slow.release();
    const reading = await read(query, accept);
    expect(reading.response.headers.get('content-type')).toBe(contentType);
    const nodes = ['x', 'y', 'z'].map((otherAccountId) => ({ otherAccountId }));
    expect(await payloadsOf(reading)).toEqual([
      { data: { bank: { account: { accountId: 'a', otherAccounts: { nodes } } } }, hasNext: true },
      {
        incremental: [{ path: ['bank', 'account'], data: { label: 'Current' }, label: 'slow' }],
        hasNext: false,
      },
    ]);
    expect(fixture.bank.lines().sort()).toEqual([othersCall, accountCall]);
  },
);

test('@stream is not in the schema, and is refused before any REST call', async () => {
  const asked = query.replace('nodes', 'nodes @stream');
  const { errors } = JSON.parse(await (await read(asked)).text());
  expect(errors).toMatchObject([
    {
      message: 'Unknown directive "@stream".',
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED', retryable: false },
    },
  ]);
  expect(fixture.bank.calls).toEqual([]);
});

test.each([
  ['it takes no stream', 'application/json', query],
  ['it asks for an older form', 'multipart/mixed;deferSpec=20200101, application/json', query],
  ['it asks for a form to come', 'multipart/mixed;incrementalSpec=v0.3, application/json', query],
  ['the condition says so', multipart, query.replace('label: "slow"', 'if: false')],
])('a client gets one whole answer if %s', async (_why, accept, asked) => {
  slow.release();
  const { response, text } = await read(asked, accept);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(JSON.parse(await text())).toEqual({
    data: {
      bank: {
        account: {
          accountId: 'a',
          label: 'Current',
          otherAccounts: { nodes: ['x', 'y', 'z'].map((otherAccountId) => ({ otherAccountId })) },
        },
      },
    },
  });
  expect(fixture.bank.lines().sort()).toEqual([othersCall, accountCall]);
});

test('a fragment whose record fails is one error, not an object of nulls, in both forms', async () => {
  fixture.bank.on(accountCall, { status: 403, body: { message: 'not yours' } });
  const errors = [
    expect.objectContaining({
      path: ['bank', 'account'],
      extensions: {
        code: 'FORBIDDEN',
        operation: 'getAccountsScope',
        retryable: false,
        status: 403,
      },
    }),
  ];
  const [, second] = await payloadsOf(await read(query));
  expect(second).toEqual({ completed: [{ id: '0', errors }], hasNext: false });
  const [, older] = await payloadsOf(await read(query, 'multipart/mixed'));
  expect(older).toEqual({
    incremental: [{ path: ['bank', 'account'], data: null, label: 'slow', errors }],
    hasNext: false,
  });
});

test('a link whose fields are all deferred is read before it is delivered', async () => {
  fixture.bank.on(accountCall, { status: 404, body: {} });
  const asked = '{ bank { account(accountId: "a", viewId: "owner") { __typename ... @defer { label } } } }';
  expect(JSON.parse(await (await read(asked)).text())).toMatchObject({
    data: { bank: { account: null } },
    errors: [{ path: ['bank', 'account'], extensions: { code: 'NOT_FOUND' } }],
  });
});

test('the work for a client that has left stops, and its calls are cancelled', async () => {
  fixture.bank.on(accountCall, () => 'hang');
  const reading = await read(query);
  await reading.next();
  expect(fixture.server.held.requests).toBe(1);
  await reading.leave();
  await expect.poll(() => fixture.server.held.requests).toBe(0);
  expect(fixture.server.held.unread).toBe(0);
});

test('the first result contains a payment’s outcome, whatever its payload defers', async () => {
  fixture.bank.otherwise(({ path }) =>
    path.endsWith('/make-transaction') ? { body: { id: 'T1' } } : 'hang',
  );
  const input = transfer('key-of-defer');
  const paying = await readFrom(
    fixture.url,
    `mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) {
      payment { transactionId ... @defer { transaction { transactionId uuid } } } } }`,
    { input },
  );
  expect(await paying.next()).toMatchObject({
    data: { makeTransaction: { payment: { transactionId: 'T1' } } },
    hasNext: true,
  });
  await paying.leave();
  expect(fixture.bank.lines().filter((line) => line.startsWith('POST'))).toHaveLength(1);
});

test.each(['... @defer { makeTransaction(input: $input) { payment { transactionId } } }', '...F @defer'])(
  'a payment cannot be deferred: %s',
  async (fields) => {
    const fragment = fields.startsWith('...F')
      ? 'fragment F on Mutation { makeTransaction(input: $input) { payment { transactionId } } }'
      : '';
    const paying = `mutation ($input: MakeTransactionInput!) { ${fields} } ${fragment}`;
    const { text } = await readFrom(fixture.url, paying, { input: transfer('k') });
    expect(JSON.parse(await text()).errors[0]).toMatchObject({
      message: 'Defer directive cannot be used on root mutation type "Mutation".',
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
    expect(fixture.bank.calls).toEqual([]);
  },
);

/** Records which iterators are ended. */
function noting() {
  const ended: OperationActivity[] = [];
  const observer = {
    begin: (requestId: string) => new OperationActivity(requestId),
    end: (activity: OperationActivity) => void ended.push(activity),
  };
  return { ended, observer };
}

test('the log line of an operation counts all its results, codes and bytes', async () => {
  const { ended, observer } = noting();
  await using observed = await startServerFixture({ observer });
  observed.bank.on(accountCall, { status: 403, body: { message: 'no' } }).on(othersCall, { body: others });
  const payloads = await payloadsOf(await readFrom(observed.url, query));
  await expect.poll(() => ended).toHaveLength(1);
  expect(ended[0]).toMatchObject({
    outcome: 'partial',
    status: 200,
    codes: ['FORBIDDEN'],
    bytes: payloads.reduce<number>((sum, payload) => sum + JSON.stringify(payload).length, 0),
  });
});

test.each<[string, (body: ReadableStream, leaving: AbortController) => unknown]>([
  ['cancels its answer', (body) => body.cancel()],
  ['aborts its request', (_body, leaving) => leaving.abort()],
])('a client of a mounted bankql that %s midway is logged as a client that left', async (_how, leave) => {
  const { ended, observer } = noting();
  await using mounted = await startServerFixture({ observer });
  mounted.bank.on(accountCall, () => 'hang').on(othersCall, { body: others });
  const leaving = new AbortController();
  const answer = await mounted.server.fetch(
    new Request(mounted.url, {
      ...postOf({ query }, { ...credentials, Accept: multipart }),
      signal: leaving.signal,
    }),
  );
  const body = answer.body ?? expect.fail('there is no answer');
  const reader = body.getReader();
  for (let text = ''; !text.includes('"accountId"'); ) text += Buffer.from((await reader.read()).value ?? []);
  reader.releaseLock();
  await leave(body, leaving);
  await expect.poll(() => ended).toHaveLength(1);
  expect(ended[0]).toMatchObject({ outcome: 'client left', status: 200, codes: [] });
});

test('all results together have the size limit of one answer', async () => {
  await using bounded = await startServerFixture({ answerLimits: { values: 100_000, bytes: 3000 } });
  const long = held({ body: { accounts: [{ ...account, label: 'x'.repeat(4000) }] } });
  bounded.bank.on(accountCall, long.answer).on(othersCall, { body: others });
  const reading = await readFrom(bounded.url, query);
  const payloads = [await reading.next()];
  long.release();
  payloads.push(...(await payloadsOf(reading)));
  expect(payloads[0]).toMatchObject({ data: expect.anything(), hasNext: true });
  expect(payloads[1]).toEqual({
    completed: [
      {
        id: '0',
        errors: [expect.objectContaining({ extensions: { code: 'LIMIT_EXCEEDED', retryable: false } })],
      },
    ],
    hasNext: false,
  });
  expect(payloads).toHaveLength(2);
});

test('all results together have the value limit of one answer', async () => {
  await using bounded = await startServerFixture({ answerLimits: { values: 600, bytes: 1_000_000 } });
  const branches = Array.from({ length: 150 }, (_, n) => ({ id: `b${n}`, name: 'B', acceptsDeposits: true }));
  bounded.bank.otherwise({ body: { branches } });
  const ask = async (fields: string) =>
    (await readFrom(bounded.url, `{ bank { branches { nodes { ${fields} } } } }`)).text();
  expect(JSON.parse(await ask('a: name b: name')).errors).toBeUndefined();
  expect(await ask('a: name ... @defer { b: name }')).not.toContain('errors');
  for (const fields of ['a: name b: name c: name d: name', 'a: name b: name ... @defer { c: name d: name }'])
    expect(await ask(fields)).toContain('The answer holds more than 600 values');
});

test('a hundred fragments are pending at most: the fields of others are delivered with their object', async () => {
  await using fixture = await startServerFixture();
  const branches = Array.from({ length: 150 }, (_, n) => ({
    id: `b${n}`,
    name: `B${n}`,
    acceptsDeposits: true,
  }));
  fixture.bank.otherwise({ body: { branches } });
  const asked = '{ bank { branches { nodes { branchId ... @defer { name } } } } }';
  const payloads = await payloadsOf(await readFrom(fixture.url, asked));
  const [first] = payloads as [{ pending: object[]; data: { bank: { branches: { nodes: object[] } } } }];
  expect(first.pending).toHaveLength(100);
  expect(first.data.bank.branches.nodes.filter((node) => 'name' in node)).toHaveLength(50);
  expect(mergedData(payloads)).toEqual({
    bank: { branches: { nodes: branches.map(({ id, name }) => ({ branchId: id, name })) } },
  });
});

test.each([
  ['{ bank { bankId ... @defer { branches { nodes { name } } } } }', multipart],
  [
    '{ bank { few: branches(first: 1) { totalCount } ... @defer { bankId branches { nodes { name } } } } }',
    multipart,
  ],
  [
    '{ bank { branches { nodes { name } } ... @defer { bankId } } }',
    multipart.replace('multipart/mixed', 'text/event-stream'),
  ],
])('a long result is written in pieces, between which others are served: %s', async (asked, accept) => {
  const given = branchesOf(6000, (n) => ({ id: `b${n}`, name: `Ω ${n} ${'x'.repeat(60)}` }));
  fixture.bank.otherwise({ body: JSON.stringify(given) });
  const { stringify } = JSON;
  let longest = 0;
  const spy = vi.spyOn(JSON, 'stringify').mockImplementation((...given: Parameters<typeof stringify>) => {
    const json = stringify(...given);
    longest = Math.max(longest, json?.length ?? 0);
    return json;
  });
  onTestFinished(() => spy.mockRestore());
  const payloads = await payloadsOf(await read(asked, accept));
  const nodes = given.branches.map(({ name }) => ({ name }));
  expect(mergedData(payloads)).toMatchObject({ bank: { bankId: 'BANK', branches: { nodes } } });
  expect(longest).toBeLessThan(64 * 1024);
});

test('a result for which no memory is left fails', async () => {
  const { ended, observer } = noting();
  await using crowded = await startServerFixture({ capacity: capacityLimits({ unread: 20_000 }), observer });
  const long = { ...account, label: 'x'.repeat(30_000) };
  crowded.bank.on(accountCall, { body: { accounts: [long] } });
  const ask = async (fields: string) =>
    payloadsOf(
      await readFrom(crowded.url, `{ bank { account(accountId: "a", viewId: "owner") { ${fields} } } }`),
    );
  const errors = [
    expect.objectContaining({
      extensions: { code: 'OVERLOADED', retryAfter: 1, retryable: true },
    }),
  ];
  expect(await ask('accountId ... @defer { label }')).toEqual([
    expect.objectContaining({ data: { bank: { account: { accountId: 'a' } } } }),
    { completed: [{ id: '0', errors }], hasNext: false },
  ]);
  expect(await ask('label ... @defer { balance { currency } }')).toEqual([
    { data: null, errors, hasNext: false },
  ]);
  await expect.poll(() => crowded.server.held.unread).toBe(0);
  await expect
    .poll(() => ended)
    .toMatchObject([
      { outcome: 'partial', codes: ['OVERLOADED'] },
      { outcome: 'failed', codes: ['OVERLOADED'], status: 200 },
    ]);
});

test('the answer breaks off if there is no memory for the error either', async () => {
  const { ended, observer } = noting();
  await using crowded = await startServerFixture({
    capacity: capacityLimits({ unread: 30_000 }),
    observer,
  });
  const branches = Array.from({ length: 100 }, (_, n) => ({
    id: `b${n}`,
    name: 'x'.repeat(600),
    acceptsDeposits: true,
  }));
  crowded.bank.otherwise({ body: { branches } });
  const reading = await readFrom(crowded.url, '{ bank { branches { nodes { ... @defer { name } } } } }');
  expect(await reading.next()).toMatchObject({ hasNext: true });
  await expect(payloadsOf(reading)).rejects.toThrow('terminated');
  await expect.poll(() => crowded.server.held.requests).toBe(0);
  expect(crowded.server.held.unread).toBe(0);
  expect(ended).toMatchObject([{ outcome: 'failed', codes: ['OVERLOADED'], status: 200 }]);
  expect(crowded.log.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
});

test('a client that does not read keeps one result in memory, and is cut off in time', async () => {
  await using unread = await startServerFixture({ writeDeadlineMs: 1000 });
  const branch = { id: 'b', name: 'x'.repeat(10_000) };
  unread.bank.otherwise({ body: { branches: Array.from({ length: 100 }, () => branch) } });
  const body = JSON.stringify({
    query:
      '{ bank { branches { nodes { a: name b: name c: name d: name ... on Branch @defer { e: name f: name g: name h: name } } } } }',
  });
  const socket = connectTo(unread.url).pause();
  socket.write(postText(body, { ...credentials, Accept: multipart }));
  await expect.poll(() => unread.server.held.unread).toBeGreaterThan(0);
  await expect.poll(() => unread.server.held.requests).toBe(0);
  expect(unread.server.held.unread).toBe(0);
  socket.destroy();
});
