import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { createTestBankql, type TestBankql } from '../support/bankql.ts';

/** What Apollo Client shows of a record that is watched while it is changed: what the bank has. */

const selections = {
  Customer: `id version legalName email mobilePhoneNumber customerNumber bankIds metadata faceImage { name }
    dateValues { key value } numericValues { key value } stringValues { key value }`,
  Account:
    'id version label number iban swiftBic bankIds types ownerIds viewsAvailable balance { amount currency }',
  Branch: `id version branchId name bankName acceptsDeposits lobby { is24Hours } location { latitude longitude }
    meta { license } address { line1 line2 line3 city state postcode country }`,
  Product: 'id version productId bankIds name category family superFamily moreInfoUrl meta',
  Transaction: `id version uuid thisAccountId otherAccountId metadata { comments narrative tags where }
    details { description status type posted completed approvedByIpAddress value { amount currency } newBalance { amount currency } }`,
} as const;

const cases = [
  {
    type: 'Customer',
    query: 'customer(customerId: "alice")',
    field: 'updateCustomer',
    ids: 'customerId: "alice"',
    change: 'email: "new@example.com", faceImage: null',
    put: 'putCustomer(input: { customerId: "alice", customer: { email: "put@example.com" } })',
  },
  {
    type: 'Account',
    query: 'account(accountId: "alice-trust")',
    field: 'updateAccount',
    ids: 'accountId: "alice-trust"',
    change: 'label: "New", types: ["trust", "new"]',
    put: 'putAccount(input: { accountId: "alice-trust", account: { label: "Put", balance: {} } })',
  },
  {
    type: 'Branch',
    query: 'branch(branchId: "nicosia-main")',
    field: 'updateBranch',
    ids: 'branchId: "nicosia-main"',
    change: 'name: "New", address: { line2: "new" }, lobby: null',
    put: 'putBranch(input: { branchId: "nicosia-main", branch: { acceptsDeposits: false } })',
  },
  {
    type: 'Product',
    query: 'product(productId: "current-plus")',
    field: 'updateProduct',
    ids: 'productId: "current-plus"',
    change: 'name: "New", meta: null',
    put: 'putProduct(input: { product: { productId: "current-plus", name: "Put" } })',
  },
  {
    type: 'Transaction',
    query: 'account(accountId: "alice-current") { id transaction(transactionId: "tx-0001")',
    field: 'annotateTransaction',
    ids: 'accountId: "alice-current", transactionId: "tx-0001"',
    change: 'tags: "new"',
    put: `putTransactionMetadata(input: { accountId: "alice-current", transactionId: "tx-0001", metadataType: "tags",
      transaction: { details: { approvedByIpAddress: "192.0.2.1" }, metadata: { comments: "Put" } } })`,
  },
] as const;

let sandbox: Sandbox;
let bankql: TestBankql;

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  bankql = await createTestBankql({
    bankUrl: sandbox.url,
    defaults: { bankId: 'SNDBCY2N', viewId: 'owner' },
    // An app keeps asking while others change public data.
    bankOptions: { publicCacheTtlMs: 60_000 },
  });
});
afterAll(async () => {
  await bankql[Symbol.asyncDispose]();
  await sandbox.close();
});

const startApollo = () =>
  new ApolloClient({
    cache: new InMemoryCache(),
    link: new HttpLink({
      uri: 'http://bankql.test/graphql',
      headers: {
        'Ocp-Apim-Subscription-Key': 'sandbox-key',
        'Auth-Provider-Name': 'sandbox',
        // The staff may read and write all of these.
        'Auth-ID': 'staff',
      },
      fetch: (url, init) => bankql.fetch(new Request(url, init)),
    }),
  });

/** A watched query, and what it shows now; `bank` asks the bank itself. */
async function watch(client: ApolloClient, it: (typeof cases)[number]) {
  const query = gql(
    `query { bank { id ${it.query} { ${selections[it.type]} } ${it.query.includes('{') ? '}' : ''} } }`,
  );
  await client.query({ query });
  const watched = client.watchQuery({ query });
  const subscription = watched.subscribe(() => {});
  return {
    shown: () => watched.getCurrentResult().data,
    bank: async () => (await startApollo().query({ query, fetchPolicy: 'network-only' })).data,
    [Symbol.dispose]: () => subscription.unsubscribe(),
  };
}

describe.each(cases)('a watched query of $type', (it) => {
  const node = it.type.toLowerCase();
  const mutation = (input: string) =>
    gql(`mutation { ${it.field}(input: { ${it.ids}, ${input} }) { ${node} { ${selections[it.type]} } } }`);

  test(`shows after ${it.field} what the bank has`, async () => {
    const client = startApollo();
    using watched = await watch(client, it);
    const before = watched.shown();
    await client.mutate({ mutation: mutation(`changes: { ${it.change} }`) });
    expect(watched.shown()).not.toEqual(before);
    expect(watched.shown()).toEqual(await watched.bank());
  });

  test(`shows after the put field what the bank has`, async () => {
    const client = startApollo();
    using watched = await watch(client, it);
    await client.mutate({ mutation: gql(`mutation { ${it.put} { ${node} { ${selections[it.type]} } } }`) });
    expect(watched.shown()).toEqual(await watched.bank());
  });
});
