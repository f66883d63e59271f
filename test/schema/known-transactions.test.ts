import { describe, expect, test } from 'vitest';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { exact, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const Known = graphql(`
  query Known($since: DateTime, $until: DateTime, $first: Int, $after: String) {
    bank {
      account(accountId: "A") {
        knownTransactions(since: $since, until: $until, first: $first, after: $after) {
          totalCount
          nodes { transactionId }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
`);

const KnownWithRecords = graphql(`
  query KnownWithRecords($first: Int) {
    bank {
      account(accountId: "A") {
        knownTransactions(first: $first) { edges { cursor node { transactionId uuid } } }
      }
    }
  }
`);

const Requests = graphql(`
  query Requests($status: [String!], $since: DateTime) {
    bank { account(accountId: "A") {
      transactionRequests(status: $status, since: $since) { totalCount nodes { id description } }
    } }
  }
`);

const PayKnown = graphql(`
  mutation PayKnown($key: String!) {
    makeTransaction(input: {
      accountId: "A" to: { accountId: "B" } value: { amount: "1", currency: "EUR" } idempotencyKey: $key
    }) { userErrors { code } }
  }
`);

const list = 'GET /v1/api/banks/BANK/accounts/A/owner/transaction-requests';
const transaction = (id: string) => `GET /v1/api/banks/BANK/accounts/A/owner/transactions/${id}/transaction`;

const request = (description: string, change: object = {}) => ({
  description,
  status: 'COMPLETED',
  start_date: '2026-01-10T00:00:00Z',
  ...change,
});

/** A bank with these requests. A payment at this bank becomes the transaction PAID. */
async function start(requests: readonly object[], store?: PaymentStore) {
  const fixture = await startBankqlFixture({ store, now: () => Date.UTC(2026, 0, 20) });
  fixture.bank
    .otherwise(anyAnswer)
    .on(list, { body: { 'transaction-requests': requests } })
    .on('POST /v1/api/banks/BANK/accounts/A/make-transaction', { body: { id: 'PAID', status: 'BOOKED' } });
  const idsOf = async (variables: object = {}) => {
    const { data, errors } = await fixture.ask(Known, variables);
    expect(errors).toBeUndefined();
    return data?.bank?.account?.knownTransactions?.nodes?.map((node) => node?.transactionId);
  };
  return { ...fixture, idsOf };
}

describe('the known transactions of an account', () => {
  test('are those of its transaction requests and of own payments, each once, newest first, without a call for each', async () => {
    await using fixture = await start([
      request('old', { transaction_ids: 'OLD-1, OLD-2' }),
      request('new', { transaction_ids: 'NEW,OLD-1', start_date: '2026-01-15' }),
      request('undated', { transaction_ids: 'UNDATED', start_date: 'soon' }),
      request('broken', { transaction_ids: true }),
    ]);
    await fixture.ask(PayKnown, { key: 'key' });
    const calls = fixture.bank.calls.length;
    expect(await fixture.idsOf()).toEqual(['PAID', 'NEW', 'OLD-2', 'OLD-1', 'UNDATED']);
    expect(fixture.bank.lines().slice(calls)).toEqual([list]);
    expect(await fixture.idsOf({ since: '2026-01-12T00:00:00Z' })).toEqual(['PAID', 'NEW']);
    // A period does not include its end, so the next period may begin there.
    const [first, end] = ['2026-01-10T00:00:00Z', '2026-01-15T00:00:00Z'];
    expect(await fixture.idsOf({ since: first, until: end })).toEqual(['OLD-2', 'OLD-1']);
    expect(await fixture.idsOf({ since: end })).toEqual(['PAID', 'NEW']);
    expect(await fixture.idsOf({ until: first })).toEqual([]);
    expect(await fixture.idsOf({ until: end })).toEqual(['OLD-2', 'OLD-1']);
  });

  test('have the end time of their request; if times are equal, the last in the list of the bank is the newest', async () => {
    await using fixture = await start([
      request('standing order', { transaction_ids: 'S1,S2', end_date: '2026-01-17T00:00:00Z' }),
      request('statement', { transaction_ids: 'B1,B2', end_date: '2026-01-18T00:00:00Z', body: null }),
      request('open', { transaction_ids: 'O1', start_date: '2026-01-16', end_date: 'later' }),
      request('same time', { transaction_ids: 'O2', start_date: '2026-01-16' }),
      request('old', { transaction_ids: 'S2,OLD', start_date: '2025-12-01', end_date: '2026-01-09' }),
    ]);
    expect(await fixture.idsOf()).toEqual(['B2', 'B1', 'S2', 'S1', 'O2', 'O1', 'OLD']);
    expect(await fixture.idsOf({ since: '2026-01-16T12:00:00Z' })).toEqual(['B2', 'B1', 'S2', 'S1']);
    expect(fixture.bank.lines()).toEqual([list, list]);
  });

  test('have the time of the request that names them, or the time at which an own payment began', async () => {
    await using fixture = await start([
      request('statement', { transaction_ids: 'B1,B2,PAID,B3', end_date: '2026-01-25T00:00:00Z' }),
      request('later', { transaction_ids: 'L1', start_date: '2026-01-22' }),
    ]);
    await fixture.ask(PayKnown, { key: 'key' });
    expect(await fixture.idsOf()).toEqual(['B3', 'B2', 'B1', 'L1', 'PAID']);
    expect(await fixture.idsOf({ since: '2026-01-21T00:00:00Z' })).toEqual(['B3', 'B2', 'B1', 'L1']);
  });

  test('come in pages; the next page follows the last entry although others were added', async () => {
    await using fixture = await start([request('r', { transaction_ids: 'T1,T2,T3' })]);
    const { data } = await fixture.ask(Known, { first: 1 });
    const { totalCount, pageInfo } = data?.bank?.account?.knownTransactions ?? expect.unreachable();
    expect({ totalCount, hasNextPage: pageInfo.hasNextPage }).toEqual({ totalCount: 3, hasNextPage: true });
    await fixture.ask(PayKnown, { key: 'key' });
    expect(await fixture.idsOf({ first: 2, after: pageInfo.endCursor })).toEqual(['T2', 'T1']);
  });

  test('are read one by one if more than the id is selected; if one fails, the others are answered', async () => {
    await using fixture = await start([request('r', { transaction_ids: 'T3,a/b,T1' })]);
    const result = await fixture.ask(KnownWithRecords, { first: 2 });
    expect(failuresOf(result)).toEqual(['bank.account.knownTransactions.edges.1.node BANK_BAD_RESPONSE']);
    expect(result.data?.bank?.account?.knownTransactions?.edges?.[0]?.node?.transactionId).toBe('T1');
    expect(fixture.bank.lines()).toEqual([list, transaction('T1')]);
  });

  test('need the credentials of the caller, because they include the payments of the caller', async () => {
    await using fixture = await start([]);
    const result = await fixture.ask(Known, {}, { 'Ocp-Apim-Subscription-Key': 'key' });
    expect(failuresOf(result)).toEqual(['bank.account.knownTransactions MISSING_CREDENTIALS']);
  });
});

describe('the requests of an account', () => {
  test('can be filtered by status and start time, and keep their ids', async () => {
    await using fixture = await start([
      request('first', { status: 'INITIATED' }),
      request('second', { start_date: '2026-01-15', resource_url: 'url' }),
      request('third', { start_date: null, body: { value: { amount: exact('1') } } }),
      request('fourth', { resource_url: 'url' }),
    ]);
    const ask = async (variables: object) => {
      const { data, errors } = await fixture.ask(Requests, variables);
      expect(errors).toBeUndefined();
      return data?.bank?.account?.transactionRequests?.nodes ?? expect.unreachable();
    };
    const all = await ask({});
    const named = (nodes: typeof all) => nodes.map((node) => node?.description);
    expect(named(await ask({ status: ['initiated', 'PENDING'] }))).toEqual(['first']);
    expect(named(await ask({ status: ['completed'] }))).toEqual(['second', 'third', 'fourth']);
    const late = await ask({ since: '2026-01-12T00:00:00Z' });
    expect(named(late)).toEqual(['second']);
    expect(late).toEqual([all[1]]);
    expect(await ask({ status: ['COMPLETED'], since: '2026-01-01T00:00:00Z' })).toEqual([all[1], all[3]]);
    expect(new Set(all.map((node) => node?.id)).size).toBe(4);
  });
});
