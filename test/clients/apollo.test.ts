import { readFileSync } from 'node:fs';
import { ApolloClient, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { type RecordedSandbox, startRecordedSandbox } from '../support/recorded-sandbox.ts';

/** Apollo Client with the cache of docs/clients.md: what an app shows, and what the bank is asked. */

const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
const [, list = ''] = /Node: \[([^\]]+)\]/.exec(page) ?? [];
const nodes = [...list.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);

let fixture: RecordedSandbox;
beforeAll(async () => {
  fixture = await startRecordedSandbox({ bankql: { bankOptions: { publicCacheTtlMs: 60_000 } } });
});
beforeEach(() => {
  fixture.recorder.calls.length = 0;
});
afterAll(() => fixture[Symbol.asyncDispose]());

function open() {
  const cache = new InMemoryCache({
    possibleTypes: { Node: nodes },
    typePolicies: {
      Viewer: { merge: true },
      Bank: { fields: { branches: relayStylePagination(['search']) } },
    },
  });
  const link = new HttpLink({
    uri: 'http://bankql.test/graphql',
    headers: alice,
    fetch: (url, init) => fixture.bankql.fetch(new Request(url, init)),
  });
  return new ApolloClient({ cache, link });
}

const fields = 'id version legalName email mobilePhoneNumber metadata faceImage { name }';
const query = gql(`query ApolloCustomer { bank { id customer(customerId: "alice") { ${fields} } } }`);
const update = (changes: string, more = '') =>
  gql(`mutation { updateCustomer(input: { customerId: "alice", changes: { ${changes} } ${more} }) {
    customer { ${fields} } } }`);

test('a watched record shows what the bank has: after an update, and once it is read again after a conflict', async () => {
  const [client, other] = [open(), open()];
  await client.query({ query });
  const watched = client.watchQuery({ query });
  const subscription = watched.subscribe(() => {});
  const shown = () => watched.getCurrentResult().data;
  const bank = async () => (await open().query({ query })).data;
  const before = shown();

  await client.mutate({ mutation: update('email: "new@example.com", faceImage: null') });
  expect(shown()).not.toEqual(before);
  expect(shown()).toEqual(await bank());

  const [, stale] = /"version":"([^"]+)"/.exec(JSON.stringify(shown())) ?? [];
  await other.mutate({ mutation: update('email: "other@example.com"') });
  const late = client.mutate({ mutation: update('email: "late@example.com"', `ifVersion: "${stale}"`) });
  await expect(late).rejects.toMatchObject({
    errors: [{ extensions: { code: 'CONFLICT', version: expect.any(String) } }],
  });
  await watched.refetch();
  expect(JSON.stringify(shown())).toContain('other@example.com');
  expect(shown()).toEqual(await bank());
  subscription.unsubscribe();
});

test('an error arrives with its code and path, and beside it what could be answered', async () => {
  const client = open();
  const { data, error } = await client.query<object>({
    query: gql`query ApolloPartly { viewer { customer { id legalName } } bank { id account(accountId: "nobody") { id label } } }`,
    errorPolicy: 'all',
  });
  expect(CombinedGraphQLErrors.is(error) && error.errors).toMatchObject([
    { path: ['bank', 'account'], extensions: { code: 'NOT_FOUND', retryable: false } },
  ]);
  expect(data).toMatchObject({
    viewer: { customer: { legalName: 'Αλίκη Παπαδοπούλου' } },
    bank: { account: null },
  });
});

test('relayStylePagination puts pages together, and the bank is asked for its list once', async () => {
  const client = open();
  const query = gql`
    query ApolloBranches($after: String) {
      bank {
        id
        branches(first: 10, after: $after) {
          edges { cursor node { id branchId } }
          pageInfo { hasNextPage endCursor }
          totalCount
        }
      }
    }
  `;
  interface Branches {
    bank: {
      branches: {
        edges: { node: { branchId: string } }[];
        pageInfo: { hasNextPage: boolean; endCursor: string };
      };
    };
  }
  const watched = client.watchQuery<Branches>({ query });
  const shown = () => client.readQuery<Branches>({ query })?.bank.branches;
  await client.query({ query });
  for (let pages = 1; shown()?.pageInfo.hasNextPage; pages++) {
    expect(shown()?.edges).toHaveLength(10 * pages);
    await watched.fetchMore({ variables: { after: shown()?.pageInfo.endCursor } });
  }
  const ids = shown()?.edges.map(({ node }) => node.branchId) ?? [];
  expect([ids.length, new Set(ids).size]).toEqual([26, 26]);
  expect(fixture.recorder.lines()).toHaveLength(1);
});
