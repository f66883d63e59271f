import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import {
  type BankqlFixture,
  bankLine,
  failuresOf,
  onlyCall,
  startBankqlFixture,
} from '../support/bankql-fixture.ts';

const NodeIdAlone = graphql(`
  query NodeIdAlone($id: ID!) { node(id: $id) { __typename id } }
`);

const NodesInOrder = graphql(`
  query NodesInOrder($ids: [ID!]!) {
    nodes(ids: $ids) { __typename id ... on Account { label } ... on Customer { legalName } }
  }
`);

/** How each node type is reached, a field of its record, and the call that reads it again. */
const types = [
  ['Bank', '{ bank { id bankId } }', 'bankId', null],
  ['Customer', '{ bank { customer(customerId: "C") { id legalName } } }', 'legalName', 'GET /customers/C'],
  ['Account', '{ bank { account(accountId: "A") { id label } } }', 'label', 'GET /accounts/A/owner/views'],
  [
    'Account',
    '{ bank { accounts(accountId: "A", viewId: "v w", scope: PERMISSIONS) { nodes { id label } } } }',
    'label',
    'GET /accounts/A/v%20w/views',
  ],
  [
    'OtherAccount',
    '{ bank { account(accountId: "A") { otherAccounts { nodes { id kind } } } } }',
    'kind',
    'GET /accounts/A/owner/other_accounts',
  ],
  [
    'OtherAccount',
    '{ bank { account(accountId: "A") { otherAccounts(filter: { iban: "I" }) { nodes { id kind } } } } }',
    'kind',
    'GET /accounts/A/owner/other_accounts',
  ],
  [
    'Transaction',
    '{ bank { account(accountId: "A") { transaction(transactionId: "T") { id uuid } } } }',
    'uuid',
    'GET /accounts/A/owner/transactions/T/transaction',
  ],
  ['Product', '{ bank { product(productId: "P") { id name } } }', 'name', 'GET /products/P'],
  [
    'Product',
    '{ bank { products(filter: { id: "Q" }) { nodes { id name } } } }',
    'name',
    'GET /products/PRODUCT',
  ],
  ['Branch', '{ bank { branch(branchId: "BRANCH") { id name } } }', 'name', 'GET /branches'],
  ['Branch', '{ bank { branches(filter: { id: "Q" }) { nodes { id name } } } }', 'name', 'GET /branches'],
  ['MetadataEntry', '{ metadata(id: "M") { nodes { id code } } }', 'code', 'POST /v1/api/metadata'],
] as const;

/** The first object with an id. */
function nodeIn(data: unknown): Record<string, string> {
  if (typeof data !== 'object' || data === null) return {};
  if (Object.hasOwn(data, 'id')) return data as Record<string, string>;
  return (
    Object.values(data)
      .map(nodeIn)
      .find(({ id }) => id !== undefined) ?? {}
  );
}

const reach = (data: unknown, path: readonly (string | number)[]): Record<string, string> =>
  Object(path.reduce<unknown>((part, name) => Reflect.get(Object(part), name), data));

describe.each(types)('%s through %s', (type, document, field, called) => {
  const lines = called === null ? [] : [bankLine(called)];

  test('reads the same record again by its global id, with the one call that it takes', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const found = await fixture.ask(document);
    expect(found.errors).toBeUndefined();
    const { id, ...fields } = nodeIn(found.data);
    fixture.bank.calls.length = 0;

    const alone = await fixture.ask(NodeIdAlone, { id: String(id) });
    expect(alone).toEqual({ data: { node: { __typename: type, id } } });
    expect(fixture.bank.calls).toEqual([]);

    const again = await fixture.ask(
      `query Q($id: ID!) { node(id: $id) { id ... on ${type} { ${field} } } }`,
      {
        id,
      },
    );
    expect(again).toEqual({ data: { node: { id, ...fields } } });
    expect(fixture.bank.lines()).toEqual(lines);
  });
});

/** Every node type's global id, by the name of the type. */
async function idsOf(fixture: BankqlFixture) {
  fixture.bank.otherwise(anyAnswer);
  const ids: Record<string, string> = {};
  for (const [type, document] of types) ids[type] = String(nodeIn((await fixture.ask(document)).data).id);
  fixture.bank.calls.length = 0;
  return ids;
}

describe('global ids', () => {
  test('are unique over all types, also where the REST ids are the same', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const result = await fixture.ask(`{
      bank(bankId: "X") {
        id
        customer(customerId: "X") { id }
        product(productId: "X") { id }
        branch(branchId: "X") { id }
        account(accountId: "X", viewId: "X") {
          id
          otherAccount(otherAccountId: "X") { id }
          transaction(transactionId: "X") { id }
        }
      }
    }`);
    const ids = [...JSON.stringify(result.data).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(7);
    expect(new Set(ids).size).toBe(7);
  });

  test('tell apart ids that would be the same when they are joined', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const names = [
      ['a', 'b:c'],
      ['a:b', 'c'],
      ['a","b', 'c'],
      ['a', 'b","c'],
      ['a,b', 'c'],
      ['a', 'b,c'],
    ] as const;
    const ids = new Set<string>();
    for (const [accountId, viewId] of names) {
      const result = await fixture.ask(
        'query Q($a: ID!, $v: ID!) { bank { account(accountId: $a, viewId: $v) { id } } }',
        { a: accountId, v: viewId },
      );
      const { id } = nodeIn(result.data);
      ids.add(String(id));
      const back = await fixture.ask(
        'query Q($id: ID!) { node(id: $id) { ... on Account { accountId viewId } } }',
        { id },
      );
      expect(back).toEqual({ data: { node: { accountId, viewId } } });
    }
    expect(ids.size).toBe(names.length);
    expect(fixture.bank.calls).toEqual([]);
  });

  test('of an account, and of what hangs on it, hold the view', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const selection =
      'id viewId otherAccount(otherAccountId: "O") { id viewId } transaction(transactionId: "T") { id viewId }';
    const result = await fixture.ask(`{
      bank {
        one: account(accountId: "A", viewId: "one") { ${selection} }
        two: account(accountId: "A", viewId: "two") { ${selection} }
      }
    }`);
    const one = reach(result.data, ['bank', 'one']);
    const two = reach(result.data, ['bank', 'two']);
    for (const path of [[], ['otherAccount'], ['transaction']]) {
      const [first, second] = [reach(one, path), reach(two, path)];
      expect(first.id).not.toBe(second.id);
      const back = await fixture.ask(
        'query Q($id: ID!) { node(id: $id) { ... on Account { viewId } ... on OtherAccount { viewId } ... on Transaction { viewId } } }',
        { id: second.id },
      );
      expect(back).toEqual({ data: { node: { viewId: 'two' } } });
    }
    expect(fixture.bank.calls).toEqual([]);
    await fixture.ask('query Q($id: ID!) { node(id: $id) { ... on Account { label } } }', { id: two.id });
    expect(onlyCall(fixture.bank).path).toBe('/v1/api/banks/BANK/accounts/A/two/views');
  });

  test('of a payload are those of the query', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const written = await fixture.ask(`mutation {
      putCustomer(input: { customerId: "C", customer: {} }) { customer { id } }
      putBranch(input: { branchId: "BRANCH", branch: { acceptsDeposits: true } }) { branch { id } }
      putAccount(input: { accountId: "A", account: { balance: {} } }) { account { id } }
      putProduct(input: { product: { productId: "PRODUCT" } }) { product { id } }
      putTransactionMetadata(input: { accountId: "A", transactionId: "T", metadataType: "M", transaction: { details: { approvedByIpAddress: "" } } }) { transaction { id } }
    }`);
    expect(written.errors).toBeUndefined();
    const read = await fixture.ask(`{
      bank {
        customer(customerId: "C") { id }
        branch(branchId: "BRANCH") { id }
        account(accountId: "A") { id transaction(transactionId: "T") { id } }
        product(productId: "PRODUCT") { id }
      }
    }`);
    const idsIn = (data: unknown) =>
      [...JSON.stringify(data).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id).sort();
    expect(idsIn(written.data)).toEqual(idsIn(read.data));
    expect(idsIn(read.data)).toHaveLength(5);
  });
});

describe('nodes', () => {
  test('keeps the order, and fails item by item', async () => {
    await using fixture = await startBankqlFixture();
    const ids = await idsOf(fixture);
    fixture.bank
      .on('GET /v1/api/banks/BANK/customers/C', { status: 403 })
      .on('GET /v1/api/banks/BANK/accounts/A/v%20w/views', {
        body: { accounts: [{ balance: {}, label: 'l' }] },
      });
    const { Customer = '', Account = '', Bank = '', Product = '' } = ids;
    const result = await fixture.ask(NodesInOrder, {
      ids: [Product, Customer, 'forged', Account, Bank, Account],
    });
    const account = { __typename: 'Account', id: Account, label: 'l' };
    expect(result.data).toEqual({
      nodes: [
        { __typename: 'Product', id: Product },
        null,
        null,
        account,
        { __typename: 'Bank', id: Bank },
        account,
      ],
    });
    expect(failuresOf(result)).toEqual(['nodes.1 FORBIDDEN', 'nodes.2 BAD_USER_INPUT']);
    expect(fixture.bank.calls).toHaveLength(2);
  });

  test('of no ids are none', async () => {
    await using fixture = await startBankqlFixture();
    expect(await fixture.ask(NodesInOrder, { ids: [] })).toEqual({ data: { nodes: [] } });
  });

  test('read no record for a fragment on another type', async () => {
    await using fixture = await startBankqlFixture();
    const ids = await idsOf(fixture);
    const result = await fixture.ask(NodesInOrder, { ids: [ids.Branch ?? '', ids.Transaction ?? ''] });
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.calls).toEqual([]);
  });

  test('fail with the error of their record, at their place', async () => {
    await using fixture = await startBankqlFixture();
    const ids = await idsOf(fixture);
    fixture.bank.otherwise({ body: { branches: [], metadata: [], otherAccounts: [], accounts: [] } });
    const result = await fixture.ask(
      `query Q($ids: [ID!]!) {
        nodes(ids: $ids) {
          ... on Branch { name }
          ... on MetadataEntry { code }
          ... on OtherAccount { kind }
          ... on Account { label }
        }
      }`,
      { ids: [ids.Branch, ids.MetadataEntry, ids.OtherAccount, ids.Account] },
    );
    expect(result.data).toEqual({ nodes: [null, null, null, null] });
    expect(failuresOf(result)).toEqual([0, 1, 2, 3].map((index) => `nodes.${index} NOT_FOUND`));
  });
});
