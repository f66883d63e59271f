import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const PaymentPage = graphql(`
  query PaymentPage(
    $states: [PaymentState!]
    $accountId: ID
    $since: DateTime
    $first: Int
    $after: String
    $last: Int
    $before: String
  ) {
    payments(
      states: $states accountId: $accountId since: $since first: $first after: $after last: $last before: $before
    ) {
      edges { cursor node { idempotencyKey } }
      nodes { idempotencyKey state transactionId trackId value { amount currency } description }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
`);

const CountOfPayments = graphql(`
  query CountOfPayments($accountId: ID) {
    payments(first: 1, accountId: $accountId) { totalCount }
  }
`);

const PayForList = graphql(`
  mutation PayForList($input: MakeTransactionInput!) { makeTransaction(input: $input) { payment { trackId } } }
`);

const PaymentOfList = graphql(`
  query PaymentOfList($key: String!) { payment(idempotencyKey: $key) { state } }
`);

const viewer = { customerId: validateViewerTemplate('{auth-id}'), accountId: null };

const globalId = Buffer.from('Account:["BANK","ACC","owner"]').toString('base64url');

/** bankql with a bank, and a clock that advances with each payment. */
async function setUp(given?: PaymentStore) {
  let time = Date.UTC(2026, 0, 15);
  const store = given ?? createMemoryStore({ retentionMs: 86_400_000, now: () => time });
  const fixture = await startBankqlFixture({
    store,
    now: () => time,
    defaults: { bankId: 'BANK', viewId: 'owner', viewer },
  });
  fixture.bank.otherwise({ body: { id: 'TX' } });
  const pay = async (
    key: string,
    headers: Readonly<Record<string, string>> = credentials,
    change: object = {},
  ) => {
    time += 1000;
    const input = {
      accountId: 'ACC',
      to: { accountId: 'x' },
      description: `for ${key}`,
      value: { amount: '1.50', currency: 'EUR' },
      idempotencyKey: key,
      ...change,
    };
    return fixture.ask(PayForList, { input }, headers);
  };
  const keys = async (variables: object = {}, headers: Readonly<Record<string, string>> = credentials) => {
    const { data, errors } = await fixture.ask(PaymentPage, variables, headers);
    expect(errors).toBeUndefined();
    return data?.payments?.nodes?.map((node) => node?.idempotencyKey);
  };
  return { ...fixture, pay, keys, store };
}

describe('payments', () => {
  test("are the caller's own, newest first, with the keys that the app may have lost", async () => {
    await using fixture = await setUp();
    const { pay, keys } = fixture;
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
        description: 'for third',
      },
    ]);
    const found = await fixture.ask(PaymentOfList, { key: 'second "key"' });
    expect(found.data).toEqual({ payment: { state: 'DONE' } });
    expect(fixture.bank.calls).toHaveLength(calls);
  });

  test('are an empty list if none was made', async () => {
    await using fixture = await setUp();
    expect((await fixture.ask(PaymentPage)).data?.payments).toEqual({
      edges: [],
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });

  test('can be filtered by state', async () => {
    await using fixture = await setUp();
    const { pay, keys } = fixture;
    await pay('done');
    fixture.bank.otherwise(() => 'reset');
    await pay('unknown');
    fixture.bank.otherwise({ status: 422, body: { message: 'Insufficient funds' } });
    await pay('rejected');
    expect(await keys({ states: ['UNKNOWN', 'PENDING'] })).toEqual(['unknown']);
    expect(await keys({ states: ['REJECTED', 'DONE'] })).toEqual(['rejected', 'done']);
    expect(await keys({ states: [] })).toEqual([]);
    expect(await keys({ states: null })).toEqual(['rejected', 'unknown', 'done']);
  });

  test('come in pages from the newest or the oldest, and none appears twice when others are made in between', async () => {
    await using fixture = await setUp();
    const { pay, keys } = fixture;
    for (let n = 1; n <= 5; n++) await pay(`key-${n}`);
    const newest = (await fixture.ask(PaymentPage, { first: 2 })).data?.payments ?? expect.unreachable();
    expect(newest.edges?.map((edge) => edge?.node?.idempotencyKey)).toEqual(['key-5', 'key-4']);
    const after = newest.pageInfo.endCursor;
    expect(after).toBe(newest.edges?.[1]?.cursor);
    expect(newest.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    const rest = await fixture.ask(PaymentPage, { first: 3, after });
    expect(rest.data?.payments?.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });

    const oldest = (await fixture.ask(PaymentPage, { last: 2 })).data?.payments ?? expect.unreachable();
    expect(oldest.nodes?.map((node) => node?.idempotencyKey)).toEqual(['key-2', 'key-1']);
    expect(oldest.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    const before = oldest.pageInfo.startCursor;

    await pay('key-6');
    expect(await keys({ last: 2, before })).toEqual(['key-4', 'key-3']);
    for (const page of [{ last: 100, before }, { before }])
      expect(await keys(page)).toEqual(['key-6', 'key-5', 'key-4', 'key-3']);
    expect(await keys({ first: 2, after })).toEqual(['key-3', 'key-2']);
    expect(await keys({ after, before })).toEqual(['key-3']);
    expect(await keys({ last: 1, after, before })).toEqual(['key-3']);
    expect(await keys({ first: 100 })).toHaveLength(6);
  });

  test('can be filtered by account and time, and counted', async () => {
    await using fixture = await setUp();
    const { pay, keys } = fixture;
    await pay('one');
    await pay('from another', credentials, { accountId: 'ACC-2' });
    await pay('to another', credentials, { to: { accountId: 'ACC-2' } });
    await pay('last');
    expect(await keys({ accountId: 'ACC-2' })).toEqual(['to another', 'from another']);
    expect(await keys({ since: '2026-01-15T00:00:03Z' })).toEqual(['last', 'to another']);
    expect(await keys({ since: '2026-01-15T01:00:03+01:00', accountId: 'ACC-2' })).toEqual(['to another']);
    const calls = fixture.bank.calls.length;
    const { data, errors } = await fixture.ask(CountOfPayments, { accountId: 'ACC-2' });
    expect(errors).toBeUndefined();
    expect(data).toEqual({ payments: { totalCount: 2 } });
    expect(fixture.bank.calls).toHaveLength(calls);
  });

  test.each([
    { 'Auth-ID': 'another' },
    { 'Auth-Provider-Name': 'another' },
    { 'Ocp-Apim-Subscription-Key': 'another' },
  ])('are not seen by another caller: %j', async (other) => {
    await using fixture = await setUp();
    const { pay, keys } = fixture;
    for (let n = 0; n < 3; n++) await pay(`key-${n}`);
    const headers = { ...credentials, ...other };
    expect(await keys({}, headers)).toEqual([]);
    await pay('mine', headers);
    await pay('last');
    expect(await keys({ first: 1 }, headers)).toEqual(['mine']);
    expect(await keys({ first: 1 })).toEqual(['last']);
  });

  test('are refused for an invalid page', async () => {
    await using fixture = await setUp();
    const texts = ['nonsense', '["at:980"]', '[1]', '["1","x"]', '[1,2]', '[1,"x","y"]', '{}'];
    const pages: object[] = [
      { first: 0 },
      { first: -1 },
      { first: 101 },
      { last: 0 },
      { last: 101 },
      { first: 1, last: 1 },
      { accountId: globalId },
      ...texts.flatMap((text) => [{ before: text }, { after: Buffer.from(text).toString('base64url') }]),
    ];
    for (const page of pages) {
      const result = await fixture.ask(PaymentPage, page);
      expect([page, result.data]).toEqual([page, { payments: null }]);
      expect(failuresOf(result)).toEqual(['payments BAD_USER_INPUT']);
    }
  });

  test('begin at the start of the list if the cursor is empty', async () => {
    await using fixture = await setUp();
    await fixture.pay('older');
    await fixture.pay('newer');
    for (const page of [
      { after: '', before: '' },
      { last: 2, before: '' },
    ])
      expect(await fixture.keys(page)).toEqual(['newer', 'older']);
    const { data } = await fixture.ask(PaymentPage, { after: '' });
    expect(data?.payments?.pageInfo).toMatchObject({ hasPreviousPage: false, hasNextPage: false });
  });

  test("after a cursor of another caller are the caller's own", async () => {
    await using fixture = await setUp();
    const another = { ...credentials, 'Auth-ID': 'another' };
    await fixture.pay('older');
    await fixture.pay('theirs', another);
    await fixture.pay('newer');
    const cursor = (await fixture.ask(PaymentPage, {}, another)).data?.payments?.edges?.[0]?.cursor;
    expect(await fixture.keys({ after: cursor })).toEqual(['older']);
    expect(await fixture.keys({ before: cursor })).toEqual(['newer']);
  });

  test('end an operation that searches too many of them', async () => {
    await using fixture = await setUp();
    await Promise.all(Array.from({ length: 300 }, (_, n) => fixture.pay(`key-${n}`)));
    const counts = (count: number) =>
      `{${Array.from({ length: count }, (_, n) => `p${n}: payments(first: 1, since: "2020-01-${10 + n}") { totalCount }`).join(' ')}}`;
    expect(await fixture.ask(counts(16))).not.toHaveProperty('errors');
    const { data, errors } = await fixture.ask(counts(17));
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      {
        message: expect.stringContaining('searches more than 100000'),
        extensions: { code: 'LIMIT_EXCEEDED' },
      },
    ]);
  });

  test('need the credentials of the caller', async () => {
    await using fixture = await setUp();
    const result = await fixture.ask(PaymentPage, {}, { 'Ocp-Apim-Subscription-Key': 'key' });
    expect(failuresOf(result)).toEqual(['payments MISSING_CREDENTIALS']);
  });

  test('fail with the message that outcomes are unknown while the store is unavailable', async () => {
    await using fixture = await setUp();
    await fixture.pay('key');
    await fixture.store.close();
    const { data, errors } = await fixture.ask(PaymentPage);
    expect(data).toEqual({ payments: null });
    expect(errors).toMatchObject([
      { extensions: { code: 'STATE_UNAVAILABLE', retryAfter: 2, retryable: true } },
    ]);
    expect(errors?.[0]?.message).toMatch(/outcomes are unknown/);
  });
});
