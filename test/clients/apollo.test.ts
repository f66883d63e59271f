import { ApolloClient, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { RemoveTypenameFromVariablesLink } from '@apollo/client/link/remove-typename';
import { relayStylePagination } from '@apollo/client/utilities';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { alice } from '../../src/app/announcements.ts';
import { type RecordedSandbox, startRecordedSandbox } from '../support/recorded-sandbox.ts';

/** Apollo Client with the cache of docs/clients.md: the data that an app shows, and the calls to the bank. */

/** The lists of the sandbox that these tests read through the caches of clients, each with the selection of a query. */

const money = 'value { amount currency }';
const others = 'totalCount nodes { id otherAccountId kind iban number holder { name } }';
const sandboxLists: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['languages', 'account-types', 'transaction-types'].map((set) => [
      `metadata ${set}`,
      `metadata(id: "${set}") { totalCount edges { cursor node { id metadataId code text { name } } } }`,
    ]),
  ),
  branches: 'bank { id branches { totalCount nodes { id branchId name address { city } } } }',
  'filtered branches':
    'bank { id branches(search: "n") { nodes { id name } } again: branches { nodes { id name } } }',
  products: 'bank { id products { totalCount nodes { id productId name meta } } }',
  accounts:
    'viewer { id accounts { nodes { id accountId label balance { amount } owners { id legalName } } } }',
  'accounts and views':
    'bank { id accounts(accountId: "alice-current") { nodes { id viewId label views { id viewId label } } } }',
  'other accounts': `viewer { id account { id otherAccounts { ${others} } } }`,
  'found other accounts': `viewer { id account { id otherAccounts(search: "a") { ${others} } } }`,
  requests: `viewer { id account { id transactionRequests {
    nodes { id description status resourceUrl ${money} to { accountId } transactions(first: 1) { id uuid } }
  } } }`,
  'filtered requests': `viewer { id account { id transactionRequests(status: ["COMPLETED"]) { nodes { id description ${money} } } } }`,
  'known transactions': `viewer { id account { id knownTransactions(first: 20) {
    totalCount nodes { id transactionId details { description ${money} } }
  } } }`,
  messages: 'viewer { id messages { totalCount nodes { id message date fromPerson } } }',
  payments: `payments { totalCount nodes { id idempotencyKey state description ${money} } }`,
};

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
    typePolicies: {
      Viewer: { merge: true },
      Bank: { fields: { branches: relayStylePagination(['search']) } },
      Account: { fields: { knownTransactions: relayStylePagination(['since', 'until']) } },
      Query: { fields: { payments: relayStylePagination(['accountId']) } },
    },
  });
  const link = new HttpLink({
    uri: 'http://bankql.test/graphql',
    headers: alice,
    fetch: (url, init) => fixture.bankql.fetch(new Request(url, init)),
  });
  return new ApolloClient({ cache, link: new RemoveTypenameFromVariablesLink().concat(link) });
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

test('a fragment on a type of records is read from the cache, although Apollo has no list of possible types', async () => {
  const client = open();
  const { data } = await client.query<object>({ query: gql`{ viewer { id account { id label } } }` });
  const { id } = Object(data).viewer.account;
  const node = gql`query ApolloNode($id: ID!) { node(id: $id) { id ...Label } } fragment Label on Account { label }`;
  await client.query({ query: node, variables: { id } });
  const cached = await client.query<object>({ query: node, variables: { id }, fetchPolicy: 'cache-only' });
  expect(cached.data).toMatchObject({ node: { id, label: 'Everyday' } });
});

test('a payee goes from the cache into a payment as it is', async () => {
  const client = open();
  const payees = gql`query ApolloPayees { viewer { id account { id otherAccounts(search: "Reisebahn") {
    nodes { id payee { accountId bankId } }
  } } } }`;
  const { data } = await client.query<object>({ query: payees });
  const [{ payee }] = Object(data).viewer.account.otherAccounts.nodes;
  expect(payee).toEqual({ __typename: 'Payee', accountId: 'payee-rail', bankId: 'TSTBDEBB' });
  const mutation = gql`mutation ApolloPay($input: MakeTransactionInput!) {
    makeTransaction(input: $input) { payment { id state } userErrors { code } }
  }`;
  const value = { amount: '1.00', currency: 'EUR' };
  const input = { accountId: 'alice-current', to: payee, value, idempotencyKey: 'apollo-payee' };
  const paid = await client.mutate<object>({ mutation, variables: { input } });
  expect(paid.data).toMatchObject({ makeTransaction: { payment: { state: 'DONE' }, userErrors: [] } });
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

test.each([
  [
    'branches',
    `query ApolloNoBranches($after: String) { bank { id branches(search: "nowhere", first: 10, after: $after) {
      edges { cursor node { id } } pageInfo { hasNextPage endCursor } } } }`,
  ],
  [
    'known transactions',
    `query ApolloNoTransactions($after: String) { viewer { account { id
      knownTransactions(since: "2999-01-01", first: 10, after: $after) {
        edges { cursor node { id } } pageInfo { hasNextPage endCursor } } } } }`,
  ],
  [
    'payments',
    `query ApolloNoPayments($after: String) { payments(accountId: "nobody", first: 10, after: $after) {
      edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }`,
  ],
])('fetchMore on an empty list of %s sends an empty cursor, and gets an empty page', async (_, text) => {
  const client = open();
  const query = gql(text);
  const watched = client.watchQuery({ query });
  await client.query({ query });
  const shown = JSON.stringify(client.readQuery({ query }));
  expect(shown).toContain('"edges":[]');
  const [, after] = /"endCursor":("[^"]*"|null)/.exec(shown) ?? [];
  expect(after).toBe('""');
  const { data, error } = await watched.fetchMore({ variables: { after: JSON.parse(after ?? '') } });
  expect(error).toBeUndefined();
  expect(JSON.stringify(data)).toContain('"edges":[]');
});

describe('the lists of the sandbox', () => {
  /**
   * The caches of clients keep the lists of the sandbox by the ids of their entries. No entry is lost or confused with another.
   */

  let fixture: RecordedSandbox;
  beforeAll(async () => {
    fixture = await startRecordedSandbox();
    for (const key of ['one', 'two', 'three'])
      await fixture.bankql.ask(
        `mutation { makeTransaction(input: { accountId: "alice-current" to: { accountId: "alice-savings" }
          value: { amount: "1.00", currency: "EUR" } idempotencyKey: "${key}" }) { userErrors { code } } }`,
        {},
        alice,
      );
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  /** The objects with an id in an answer, each with its own plain fields. Relay's store keeps them by the id alone. */
  function objectsIn(value: unknown): { readonly id: string; readonly fields: string }[] {
    if (typeof value !== 'object' || value === null) return [];
    const below = Object.values(value).flatMap(objectsIn);
    const id: unknown = Reflect.get(value, 'id');
    if (typeof id !== 'string') return below;
    const plain = Object.entries(value).filter(([, field]) => typeof field !== 'object');
    return [{ id, fields: JSON.stringify(plain) }, ...below];
  }

  test.each(Object.entries(sandboxLists))(
    'the list of %s has entries, each with an id of its own',
    async (_, selection) => {
      const { data, errors } = await fixture.bankql.ask<object, object>(`{ ${selection} }`, {}, alice);
      expect(errors).toBeUndefined();
      expect(JSON.stringify(data)).toMatch(/"(nodes|edges)":\[\{/);
      const kept = new Map<string, string>();
      for (const { id, fields } of objectsIn(data)) {
        expect(fields).toBe(kept.get(id) ?? fields);
        kept.set(id, fields);
      }
    },
  );
});
