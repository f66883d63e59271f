import { beforeEach, expect, test } from 'vitest';
import { authenticateByHeaders } from '../../../src/http/auth/header-credentials.ts';
import { createTestBankql } from '../../support/bankql.ts';
import { shareBankqlFixture } from '../../support/bankql-fixture.ts';
import { postOf } from '../../support/requests.ts';

const { bank, bankql } = await shareBankqlFixture();
beforeEach(() => void bank.otherwise({ body: { branches: [], messages: [] } }));

const query = '{ bank { messages { totalCount } } }';
const complete = {
  'Ocp-Apim-Subscription-Key': 'key-1',
  'Auth-Provider-Name': 'provider-1',
  'Auth-ID': 'caller-1',
};

function post(headers: Record<string, string>, search = '') {
  return bankql.fetch(new Request(`http://bankql.test/graphql${search}`, postOf({ query }, headers)));
}

test('the three credentials are forwarded to the bank unchanged, and nothing else of the request', async () => {
  const answer = await post({
    ...complete,
    'Track-ID': '00000000-0000-4000-8000-000000000000',
    'X-Forwarded-For': '10.0.0.1',
    Cookie: 'session=1',
    Authorization: 'Bearer token',
    'User-Agent': 'a phone',
    'Accept-Language': 'el',
  });
  expect(await answer.json()).toEqual({ data: { bank: { messages: { totalCount: 0 } } } });
  expect(bank.lines()).toEqual(['GET /v1/api/banks/BANK/customer/messages']);
  const { host, connection, ...sent } = bank.calls[0]?.headers ?? {};
  expect(sent).toEqual({
    'ocp-apim-subscription-key': 'key-1',
    'auth-provider-name': 'provider-1',
    'auth-id': 'caller-1',
    accept: 'application/json',
    'accept-encoding': 'identity',
  });
  expect([host, connection]).toEqual([bank.url.slice('http://'.length), 'keep-alive']);
});

test('the key may be in the query string, and is sent to the bank as a header only', async () => {
  const { 'Ocp-Apim-Subscription-Key': key, ...others } = complete;
  await post(others, `?subscription-key=${key}`);
  expect(bank.calls[0]?.headers['ocp-apim-subscription-key']).toBe('key-1');
  expect(bank.lines().join()).not.toContain('key-1');
  expect(bankql.log.join()).not.toContain('key-1');
});

test.each([
  ['two keys in the query string', {}, '?subscription-key=a&subscription-key=b'],
  ['a credential with a tab inside', { ...complete, 'Auth-Provider-Name': 'a\tb' }, ''],
  ['a key with a line break in the query string', {}, '?subscription-key=a%0d%0aX-Evil:%201'],
])('a request is refused before any call: %s', async (_what, headers, search) => {
  const answer = await post(headers, search);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toEqual({
    errors: [expect.objectContaining({ extensions: { code: 'BAD_USER_INPUT', retryable: false } })],
  });
  expect(bank.calls).toEqual([]);
});

test('an operation that needs the caller names the missing headers, and makes no call', async () => {
  const result = await bankql.ask(query, undefined, { 'Ocp-Apim-Subscription-Key': 'key-1' });
  expect(result.data).toEqual({ bank: { messages: null } });
  expect(result.errors).toEqual([
    expect.objectContaining({
      message: 'getMessagesOwner needs the request headers Auth-Provider-Name, Auth-ID.',
      path: ['bank', 'messages'],
      extensions: {
        code: 'MISSING_CREDENTIALS',
        operation: 'getMessagesOwner',
        retryable: false,
      },
    }),
  ]);
  expect(bank.calls).toEqual([]);
});

test('a header without a value counts as absent', async () => {
  const result = await bankql.ask(query, undefined, { ...complete, 'Auth-ID': '' });
  expect(result.errors).toEqual([
    expect.objectContaining({
      message: 'getMessagesOwner needs the request header Auth-ID.',
      extensions: expect.objectContaining({ code: 'MISSING_CREDENTIALS' }),
    }),
  ]);
  expect(bank.calls).toEqual([]);
});

test("the operator's key replaces the key that a caller sends", async () => {
  await using own = await createTestBankql({
    bankUrl: bank.url,
    authenticate: authenticateByHeaders('operator-key'),
  });
  await own.ask('{ bank { branches { totalCount } } }', undefined, {});
  await own.ask('{ bank { branches { totalCount } } }', undefined, complete);
  expect(bank.calls.map(({ headers }) => headers['ocp-apim-subscription-key'])).toEqual([
    'operator-key',
    'operator-key',
  ]);
});
