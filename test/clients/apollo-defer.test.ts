import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { Defer20220824Handler, GraphQL17Alpha9Handler } from '@apollo/client/incremental';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** What Apollo Client shows of an operation with @defer and @stream, and when. */

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
          nodes @stream(initialCount: 1) {
            id
            otherAccountId
          }
        }
      }
    }
  }
`;

const shownOf = (data: unknown) => {
  const { label, otherAccounts } = Object(data).bank.account;
  return {
    label,
    others: otherAccounts.nodes.map(({ otherAccountId }: { otherAccountId: string }) => otherAccountId),
  };
};

test('each result is shown as it comes', async () => {
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: new HttpLink({ uri: fixture.url, headers: credentials }),
    incrementalHandler: new GraphQL17Alpha9Handler(),
  });
  const shown: object[] = [];
  const subscription = client.watchQuery({ query, fetchPolicy: 'network-only' }).subscribe(({ data }) => {
    if (data !== undefined) shown.push(shownOf(data));
  });
  // The label is not there before the bank has told it.
  await expect.poll(() => shown.at(-1)).toEqual({ label: undefined, others: ['x', 'y'] });
  release();
  await expect.poll(() => shown.at(-1)).toEqual({ label: 'Current', others: ['x', 'y'] });
  subscription.unsubscribe();
  expect(fixture.bank.calls).toHaveLength(2);
});

test('a client of the form of 2022 shows the whole answer', async () => {
  release();
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: new HttpLink({ uri: fixture.url, headers: credentials }),
    incrementalHandler: new Defer20220824Handler(),
  });
  // That form has no @stream.
  const { data } = await client.query({
    query: gql`{ bank { id account(accountId: "a", viewId: "owner") { id ... @defer { label } otherAccounts { nodes { id otherAccountId } } } } }`,
  });
  expect(shownOf(data)).toEqual({ label: 'Current', others: ['x', 'y'] });
});
