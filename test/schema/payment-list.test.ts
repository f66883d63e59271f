import { describe, expect, test } from 'vitest';
import type { PaymentStore } from '../../src/payments/store.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const PaymentPage = graphql(`
  query PaymentPage($states: [PaymentState!], $first: Int! = 20, $after: String) {
    payments(states: $states, first: $first, after: $after) {
      edges { cursor node { idempotencyKey } }
      nodes { idempotencyKey state transactionId trackId value { amount currency } }
      pageInfo { hasNextPage hasPreviousPage endCursor }
    }
  }
`);

const PayForList = graphql(`
  mutation PayForList($input: MakeTransactionInput!) { makeTransaction(input: $input) { trackId } }
`);

const PaymentOfList = graphql(`
  query PaymentOfList($key: String!) { payment(idempotencyKey: $key) { state } }
`);

/** bankql in front of a bank, with a clock that goes on with each payment. */
async function setUp(store: PaymentStore = createMemoryStore({ retentionMs: 86_400_000 })) {
  let time = Date.UTC(2026, 0, 15);
  const fixture = await startBankqlFixture({ store, now: () => time });
  fixture.bank.otherwise({ body: { id: 'TX' } });
  const pay = async (key: string, headers: Readonly<Record<string, string>> = credentials) => {
    time += 1000;
    const input = {
      accountId: 'ACC',
      to: {},
      value: { amount: '1.50', currency: 'EUR' },
      idempotencyKey: key,
    };
    return fixture.ask(PayForList, { input }, headers);
  };
  const keys = async (variables: object = {}, headers: Readonly<Record<string, string>> = credentials) => {
    const { data, errors } = await fixture.ask(PaymentPage, { first: 20, ...variables }, headers);
    expect(errors).toBeUndefined();
    return data?.payments?.nodes?.map((node) => node?.idempotencyKey);
  };
  return { facade: fixture, pay, keys, store, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

describe('payments', () => {
  test("are the caller's own, newest first, with the keys that the app may have lost", async () => {
    await using each = await setUp();
    const { facade: fixture, pay, keys } = each;
    for (const key of ['first', 'second "key"', 'third']) await pay(key);
    const calls = fixture.bank.calls.length;
    expect(await keys()).toEqual(['third', 'second "key"', 'first']);
    const { data } = await fixture.ask(PaymentPage, { first: 1 });
    expect(data?.payments?.nodes).toEqual([
      {
        idempotencyKey: 'third',
        state: 'DONE',
        transactionId: 'TX',
        trackId: fixture.bank.calls[2]?.headers['track-id'],
        value: { amount: '1.50', currency: 'EUR' },
      },
    ]);
    const found = await fixture.ask(PaymentOfList, { key: 'second "key"' });
    expect(found.data).toEqual({ payment: { state: 'DONE' } });
    expect(fixture.bank.calls).toHaveLength(calls);
  });

  test('are none where none was made', async () => {
    await using each = await setUp();
    expect((await each.facade.ask(PaymentPage)).data?.payments).toEqual({
      edges: [],
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, endCursor: null },
    });
  });

  test('may be those in some states alone', async () => {
    await using each = await setUp();
    const { facade: fixture, pay, keys } = each;
    await pay('done');
    fixture.bank.otherwise(() => 'reset');
    await pay('unknown');
    fixture.bank.otherwise({ status: 422, body: {} });
    await pay('rejected');
    expect(await keys({ states: ['UNKNOWN', 'PENDING'] })).toEqual(['unknown']);
    expect(await keys({ states: ['REJECTED', 'DONE'] })).toEqual(['rejected', 'done']);
    expect(await keys({ states: [] })).toEqual([]);
    expect(await keys({ states: null })).toEqual(['rejected', 'unknown', 'done']);
  });

  test('come in pages that leave none out', async () => {
    await using each = await setUp();
    const { facade: fixture, pay, keys } = each;
    for (let n = 1; n <= 5; n++) await pay(`key-${n}`);
    const { data } = await fixture.ask(PaymentPage, { first: 2 });
    expect(data?.payments?.edges?.map((edge) => edge?.node?.idempotencyKey)).toEqual(['key-5', 'key-4']);
    const { hasNextPage, hasPreviousPage, endCursor } = data?.payments?.pageInfo ?? expect.unreachable();
    expect([hasNextPage, hasPreviousPage, endCursor]).toEqual([
      true,
      false,
      data?.payments?.edges?.[1]?.cursor,
    ]);
    expect(await keys({ first: 2, after: endCursor })).toEqual(['key-3', 'key-2']);
    const last = await fixture.ask(PaymentPage, { first: 3, after: endCursor });
    expect(last.data?.payments?.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect(await keys({ first: 100 })).toHaveLength(5);
  });

  test.each([
    { 'Auth-ID': 'another' },
    { 'Auth-Provider-Name': 'another' },
    { 'Ocp-Apim-Subscription-Key': 'another' },
  ])('are seen by nobody else: with %j there are none, however many there are', async (other) => {
    await using each = await setUp();
    const { pay, keys } = each;
    for (let n = 0; n < 10; n++) await pay(`key-${n}`);
    const headers = { ...credentials, ...other };
    expect(await keys({}, headers)).toEqual([]);
    await pay('mine', headers);
    for (let n = 10; n < 20; n++) await pay(`key-${n}`);
    expect(await keys({ first: 1 }, headers)).toEqual(['mine']);
    expect(await keys({ first: 1 })).toEqual(['key-19']);
  });

  test.each([0, -1, 101])('are refused by the number of %i', async (first) => {
    await using each = await setUp();
    const result = await each.facade.ask(PaymentPage, { first });
    expect(result.data).toEqual({ payments: null });
    expect(failuresOf(result)).toEqual(['payments BAD_USER_INPUT']);
  });

  test.each(['nonsense', Buffer.from('at:980').toString('base64url')])(
    'are refused behind the cursor %s, which is none or too far from the newest',
    async (after) => {
      await using each = await setUp();
      expect(failuresOf(await each.facade.ask(PaymentPage, { after }))).toEqual(['payments BAD_USER_INPUT']);
    },
  );

  test('need their caller', async () => {
    await using each = await setUp();
    const result = await each.facade.ask(PaymentPage, {}, { 'Ocp-Apim-Subscription-Key': 'key' });
    expect(failuresOf(result)).toEqual(['payments MISSING_CREDENTIALS']);
  });

  test('say that their outcomes are unknown where the store is away', async () => {
    await using each = await setUp();
    await each.pay('key');
    await each.store.close();
    const { data, errors } = await each.facade.ask(PaymentPage);
    expect(data).toEqual({ payments: null });
    expect(errors).toMatchObject([
      { extensions: { code: 'STATE_UNAVAILABLE', retryAfter: 2, retryable: true } },
    ]);
    expect(errors?.[0]?.message).toMatch(/outcomes are unknown/);
  });

  test('from before keys were kept have an empty one', async () => {
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    await using each = await setUp({
      ...store,
      begin: (record, now) => store.begin({ ...record, sealedKey: null }, now),
    });
    await each.pay('old');
    expect(await each.keys()).toEqual(['']);
  });
});
