import { readFileSync } from 'node:fs';
import { Client, fetchExchange, gql } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { alice } from '../../src/app/announcements.ts';
import { paymentQuery } from '../../src/client/index.ts';
import { type RecordedSandbox, startRecordedSandbox } from '../support/recorded-sandbox.ts';

/** urql with graphcache, set up as in docs/clients.md. */

const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
/** The types without a key, as the page lists them. */
const [, list = ''] = /const keys = Object\.fromEntries\(\s*\[([^\]]+)\]/.exec(page) ?? [];
const keys = Object.fromEntries([...list.matchAll(/'(\w+)'/g)].map(([, name = '']) => [name, () => null]));

let fixture: RecordedSandbox;
beforeAll(async () => {
  fixture = await startRecordedSandbox();
});
beforeEach(() => {
  fixture.recorder.calls.length = 0;
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** A client, and the warnings of its cache. The cache does not keep a type without a key, and reads its fields again. */
function open() {
  const warnings: string[] = [];
  const client = new Client({
    url: 'http://bankql.test/graphql',
    fetch: (url, init) => fixture.bankql.fetch(new Request(url, init)),
    preferGetMethod: false,
    fetchOptions: { headers: alice },
    exchanges: [
      cacheExchange({
        keys,
        resolvers: { Bank: { branches: relayPagination() } },
        logger: (severity, message) => severity !== 'debug' && warnings.push(message),
      }),
      fetchExchange,
    ],
  });
  return { client, warnings };
}

const Overview = gql`
  query UrqlOverview {
    viewer {
      id
      customer { id legalName dateValues { key value } faceImage { name } }
      account {
        id
        balance { amount currency }
        otherAccounts(first: 2) { nodes { id holder { name } } }
        transactionRequests(last: 1) { nodes { id from { accountId } transactions { id details { value { amount } } metadata { tags } } } }
      }
      messages { nodes { id message } }
    }
  }
`;
const Transfer = gql`
  mutation UrqlTransfer($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      payment { id account { id balance { amount currency } } }
    }
  }
`;
const input = {
  accountId: 'alice-current',
  to: { accountId: 'alice-savings' },
  value: { amount: '5.80', currency: 'EUR' },
  idempotencyKey: 'urql',
};

test('a watched balance shows a transfer without another query, and no type lacks its key', async () => {
  const { client, warnings } = open();
  const balances: unknown[] = [];
  const watched = client.query(Overview, {}).subscribe(({ data, error }) => {
    balances.push(error ?? data?.viewer.account.balance.amount);
  });
  await expect.poll(() => balances).toEqual(['4305.80']);
  fixture.recorder.calls.length = 0;
  const { error } = await client.mutation(Transfer, { input });
  expect(error).toBeUndefined();
  expect(balances).toEqual(['4305.80', '4300.00']);
  watched.unsubscribe();
  expect(fixture.recorder.lines().map((line) => line.replace(/.*\//, ''))).toEqual([
    'make-transaction',
    'views',
  ]);
  // The query of bankql/client for a payment selects its id too.
  const payment = await client.query(gql(paymentQuery), { idempotencyKey: 'urql' });
  expect(payment.data?.payment).toMatchObject({ state: 'DONE', value: { amount: '5.80' } });
  // The whole answer is in the cache.
  const cached = await client.query(Overview, {}, { requestPolicy: 'cache-only' });
  expect(cached.data?.viewer.account.balance.amount).toBe('4300.00');
  expect(warnings).toEqual([]);
});

test('relayPagination puts pages together', async () => {
  const { client, warnings } = open();
  const query = gql`
    query UrqlBranches($after: String) {
      bank {
        id
        branches(first: 10, after: $after) {
          __typename
          edges { __typename cursor node { id branchId } }
          nodes { id }
          pageInfo { __typename hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  `;
  let after: string | undefined;
  const counts: number[] = [];
  do {
    const { data, error } = await client.query(query, { after });
    expect(error).toBeUndefined();
    const { edges, pageInfo } = data.bank.branches;
    counts.push(edges.length);
    after = pageInfo.hasNextPage ? pageInfo.endCursor : undefined;
  } while (after !== undefined);
  expect(counts).toEqual([10, 20, 26]);
  expect(warnings).toEqual([]);
});
