import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { postMakeTransaction } from '../../src/contract/transaction.ts';
import { BankqlError, type ErrorCode, type ErrorDetails } from '../../src/errors.ts';
import { MutationEffects } from '../../src/graphql/mutation-effects.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { bankDefaults, createTestBankql, type TestBankql } from '../support/bankql.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';

let bank: RecordingBank;
let bankql: TestBankql;
beforeEach(async () => {
  bank = (await startRecordingBank()).otherwise({ body: {} });
  bankql = await createTestBankql({ bankUrl: bank.url });
});
afterEach(async () => {
  await bankql[Symbol.asyncDispose]();
  await bank.close();
});

const pay = (key: string) =>
  `makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: "${key}" }) { payment { trackId } }`;
const ask = `putTransactionRequest(input: { accountId: "a", transactionRequestType: "t", to: { accountId: "b" }, idempotencyKey: "k" }) { payment { trackId } }`;

test.each([
  ['aliases', `mutation { a: ${pay('1')} b: ${pay('2')} }`],
  ['aliases with one key', `mutation { a: ${pay('1')} b: ${pay('1')} }`],
  ['payments of both kinds', `mutation { ${pay('1')} ${ask} }`],
  ['an inline fragment', `mutation { a: ${pay('1')} ... { b: ${pay('2')} } }`],
  ['a named fragment', `mutation { ...A b: ${pay('2')} } fragment A on Mutation { a: ${pay('1')} }`],
  [
    'fragments in fragments',
    `mutation { ...A } fragment A on Mutation { ...B b: ${pay('2')} } fragment B on Mutation { a: ${pay('1')} }`,
  ],
  [
    '@include',
    `mutation ($yes: Boolean = true) { a: ${pay('1')} ... @include(if: $yes) { b: ${pay('2')} } }`,
  ],
  ['@skip', `mutation ($no: Boolean = false) { a: ${pay('1')} ... @skip(if: $no) { b: ${pay('2')} } }`],
  ['a third', `mutation { a: ${pay('1')} b: ${pay('2')} c: ${pay('3')} }`],
])('two payments by %s are refused before any call', async (_how, document) => {
  const result = await bankql.ask(document);
  expect(result.data).toBeUndefined();
  expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['LIMIT_EXCEEDED']);
  expect(bank.calls).toEqual([]);
  expect((await bankql.ask('{ payment(idempotencyKey: "1") { state } }')).data).toEqual({ payment: null });
});

describe('the first result of a payment shows whether it failed', () => {
  const paid = (payload: string, fragments = '') =>
    `mutation ${/\$yes/.test(payload) ? '($yes: Boolean! = true)' : ''} { makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: "k" }) { ${payload} } } ${fragments}`;
  const errors = 'userErrors { code }';

  test.each([
    ['userErrors', `replayed ... @defer { ${errors} }`],
    ['the state', 'replayed ... @defer { payment { state } }'],
    ['a state below a payment that is not deferred', 'payment { trackId ... @defer { state } }'],
    ['both', `... @defer { ${errors} payment { state } }`],
    ['by an enclosing fragment', `... @defer { replayed ... { ${errors} } }`],
    ['by a named fragment', '...F @defer', `fragment F on MakeTransactionPayload { ${errors} }`],
    ['perhaps', `... @defer(if: $yes) { ${errors} }`],
    [
      'with another that a condition leaves out',
      `... @defer { ${errors} } ${errors.replace(' ', ' @skip(if: $yes) ')}`,
    ],
    [
      'and selects it twice',
      `... @defer { ${errors} } ...F @defer`,
      `fragment F on MakeTransactionPayload { ${errors} }`,
    ],
  ])(
    'a document that defers it is refused before any call: %s',
    async (_what, payload, fragments?: string) => {
      const result = await bankql.ask(paid(payload, fragments));
      expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['GRAPHQL_VALIDATION_FAILED']);
      expect(bank.calls).toEqual([]);
    },
  );

  test.each([
    ['one of them first', `${errors} ... @defer { payment { state } }`],
    ['the other first', `payment { state } ... @defer { ${errors} }`],
    ['in a fragment that is not deferred', `... @defer(if: false) { ${errors} }`],
    [
      'by a fragment that is also deferred',
      '...F @defer ...F',
      `fragment F on MakeTransactionPayload { ${errors} }`,
    ],
    ['none at all: it fails as an error', 'replayed ... @defer { payment { trackId } }'],
    ['by a condition alone', `replayed ${errors.replace(' ', ' @include(if: $yes) ')}`],
  ])('others are executed: %s', async (_what, payload, fragments?: string) => {
    const result = await bankql.ask(paid(payload, fragments));
    expect(result.errors).toBeUndefined();
    expect(bank.calls).toHaveLength(1);
  });
});

test('the refusal is a 400, whatever the client accepts', async () => {
  const answer = await bankql.fetch(
    new Request('http://bankql.test/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify({ query: `mutation { a: ${pay('1')} b: ${pay('2')} }` }),
    }),
  );
  expect(answer.status).toBe(400);
});

test('one payment beside other mutations is made, whatever becomes of the others', async () => {
  bank.on('PUT /v1/api/banks/BANK/products', { status: 500, body: 'down' });
  const result = await bankql.ask(`mutation { before: putProduct(input: { product: {} }) { trackId }
    ${pay('1')} after: putProduct(input: { product: {} }) { trackId } }`);
  expect(result.data).toEqual({
    before: null,
    makeTransaction: { payment: { trackId: expect.any(String) } },
    after: null,
  });
  expect(bank.calls.map(({ method }) => method)).toEqual(['PUT', 'POST', 'PUT']);
});

test('the same payment selected twice under one name is one payment', async () => {
  const result = await bankql.ask(`mutation { ${pay('1')} ... { ${pay('1')} } }`);
  expect(result.errors).toBeUndefined();
  expect(bank.calls).toHaveLength(1);
});

describe('effects of mutations', () => {
  const credentials = { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' };
  const payment = {
    idempotencyKey: 'key-1',
    input: {
      ids: { bankId: 'BANK', accountId: 'A' },
      body: { from: {}, to: { account_id: 'x' } },
      credentials,
    },
  };

  /** What an answer without data says about a failed payment. If it says that the key is free, a client may pay again. */

  async function toldAfter(error: Error) {
    const bank = createBankClient({ ...bankDefaults, baseUrl: 'http://bank.test' });
    const store = await createMemoryStore({ retentionMs: 1000 });
    const service = createPaymentService({ bank, store, leaseMs: 1000, audit: () => {} });
    const effects = new MutationEffects();
    const payments = effects.payments({ ...service, pay: () => Promise.reject(error) });
    const paying = payments.pay(postMakeTransaction, payment);
    await expect(paying).rejects.toBe(error);
    await effects.settled();
    await bank.close();
    return effects.extensions;
  }

  const known = { operation: 'postMakeTransaction', idempotencyKey: 'key-1' };

  test.each<[ErrorCode, string, ErrorDetails?]>([
    ['BANK_UNAVAILABLE', 'NOT_SENT'],
    ['BANK_TIMEOUT', 'NOT_SENT'],
    ['UNAUTHENTICATED', 'NOT_SENT', { status: 401 }],
    ['RATE_LIMITED', 'NOT_SENT', { status: 429 }],
    ['IDEMPOTENCY_IN_PROGRESS', 'PENDING'],
    ['OUTCOME_UNKNOWN', 'UNKNOWN', { status: 503 }],
    ['BANK_REJECTED', 'REJECTED'],
    ['FORBIDDEN', 'REJECTED', { status: 403 }],
  ])('%s: %s', async (code, state, details) => {
    const told = await toldAfter(new BankqlError(code, 'It failed.', details));
    expect(told).toEqual({ ...known, state, paymentCode: code });
  });

  test.each<[ErrorCode]>([
    ['STATE_UNAVAILABLE'],
    ['OVERLOADED'],
    ['RATE_LIMITED'],
    ['IDEMPOTENCY_KEY_REUSED'],
    ['BAD_USER_INPUT'],
  ])(
    '%s: the answer says nothing about the key, because an earlier request may have paid with it',
    async (code) => {
      expect(await toldAfter(new BankqlError(code, 'It failed.'))).toEqual({ ...known, paymentCode: code });
    },
  );

  test('what should not happen leaves it unknown', async () => {
    expect(await toldAfter(new Error('bug'))).toEqual({
      ...known,
      state: 'UNKNOWN',
      paymentCode: 'INTERNAL',
    });
  });
});
