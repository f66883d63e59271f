import { getIntrospectionQuery } from 'graphql';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestBankql, type TestBankql } from '../support/bankql.ts';
import { documented } from '../support/documented.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';

let bank: RecordingBank;
let bankql: TestBankql;
beforeEach(async () => {
  bank = await startRecordingBank();
  bankql = await createTestBankql({ bankUrl: bank.url });
});
afterEach(async () => {
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
      extensions: documented({ code: 'INTERNAL', retryable: false }),
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
