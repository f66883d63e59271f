import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { Defer20220824Handler, GraphQL17Alpha9Handler } from '@apollo/client/incremental';
import { Client, cacheExchange, fetchExchange } from '@urql/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** What clients show of an operation with @defer, and when. */

let fixture: ServerFixture;
let release: () => void;
beforeEach(async () => {
  fixture = await startServerFixture();
  const { promise, resolve } = Promise.withResolvers<void>();
  release = resolve;
  fixture.bank
    .on('GET /v1/api/banks/BANK/accounts/a/owner/views', async () => {
      await promise;
      return { body: { accounts: [{ id: 'a', label: 'Current', owners: [] }] } };
    })
    .on('GET /v1/api/banks/BANK/accounts/a/owner/other_accounts', {
      body: { other_accounts: ['x', 'y'].map((id) => ({ id })) },
    });
});
afterEach(async () => {
  release();
  await fixture[Symbol.asyncDispose]();
});

const query = gql`
  query {
    bank {
      id
      account(accountId: "a", viewId: "owner") {
        id
        ... @defer {
          label
        }
        otherAccounts {
          nodes {
            id
            otherAccountId
          }
        }
      }
    }
  }
`;

/** Shows the data of the query as it arrives. Returns a function that stops the watching. */
type Watch = (url: string, show: (data: unknown) => void) => () => void;

const watchByApollo =
  (Handler: typeof GraphQL17Alpha9Handler | typeof Defer20220824Handler): Watch =>
  (uri, show) => {
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link: new HttpLink({ uri, headers: credentials }),
      incrementalHandler: new Handler(),
    });
    const watched = client.watchQuery({ query, fetchPolicy: 'network-only' });
    const subscription = watched.subscribe(({ data }) => data !== undefined && show(data));
    return () => subscription.unsubscribe();
  };

const watchByUrql: Watch = (url, show) => {
  const client = new Client({
    url,
    preferGetMethod: false,
    fetchOptions: { headers: credentials },
    exchanges: [cacheExchange, fetchExchange],
  });
  const subscription = client.query(query, {}).subscribe(({ data }) => show(data));
  return () => subscription.unsubscribe();
};

const shownOf = (data: unknown) => {
  const { label, otherAccounts } = Object(data).bank.account;
  return {
    label,
    others: otherAccounts.nodes.map(({ otherAccountId }: { otherAccountId: string }) => otherAccountId),
  };
};

test.each<[string, Watch]>([
  ['Apollo Client, graphql 17’s form', watchByApollo(GraphQL17Alpha9Handler)],
  ['Apollo Client, the form of 2022', watchByApollo(Defer20220824Handler)],
  ['urql, with what it sends of itself', watchByUrql],
])('%s: each result is shown as it comes', async (_client, watch) => {
  const shown: object[] = [];
  const end = watch(fixture.url, (data) => shown.push(shownOf(data)));
  // The label is missing until the bank has answered.
  await expect.poll(() => shown.at(-1)).toEqual({ label: undefined, others: ['x', 'y'] });
  release();
  await expect.poll(() => shown.at(-1)).toEqual({ label: 'Current', others: ['x', 'y'] });
  end();
  expect(fixture.bank.calls).toHaveLength(2);
});
