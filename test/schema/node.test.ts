import { beforeEach, describe, expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { bankLine, failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();
beforeEach(() => void bank.otherwise(anyAnswer));

/** For each node type: a query that reaches it, a field of its record, and the call that reads it again. */
const types = [
  ['Bank', '{ bank { id bankId } }', 'bankId', null],
  ['Customer', '{ bank { customer(customerId: "C") { id legalName } } }', 'legalName', 'GET /customers/C'],
  ['Account', '{ bank { account(accountId: "A") { id label } } }', 'label', 'GET /accounts/A/owner/views'],
  [
    'Account',
    '{ bank { accounts(accountId: "A", viewId: "v w") { nodes { id label } } } }',
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

const encode = (text: string) => Buffer.from(text).toString('base64url');
const idsIn = (data: unknown) =>
  [...JSON.stringify(data).matchAll(/"id":"([^"]+)"/g)].map(([, id = '']) => id);
const nodeWith = (selection: string, id: unknown) =>
  ask(`query Q($id: ID!) { node(id: $id) { ${selection} } }`, { id });

test.each(types)('a %s is read by its global id with one call: %s', async (type, document, field, called) => {
  const found = await ask(document);
  expect(found.errors).toBeUndefined();
  const { id, ...fields } = nodeIn(found.data);
  bank.calls.length = 0;

  expect(await nodeWith('__typename id', id)).toEqual({ data: { node: { __typename: type, id } } });
  expect(bank.calls).toEqual([]);

  const again = await nodeWith(`id ... on ${type} { ${field} }`, id);
  expect(again).toEqual({ data: { node: { id, ...fields } } });
  expect(bank.lines()).toEqual(called === null ? [] : [bankLine(called)]);
});

describe('global ids', () => {
  test('differ for ids that would be the same if they were joined', async () => {
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
      const query = 'query ($a: ID!, $v: ID!) { bank { account(accountId: $a, viewId: $v) { id } } }';
      const { id } = nodeIn((await ask(query, { a: accountId, v: viewId })).data);
      ids.add(String(id));
      expect(await nodeWith('... on Account { accountId viewId }', id)).toEqual({
        data: { node: { accountId, viewId } },
      });
    }
    expect(ids.size).toBe(names.length);
    expect(bank.calls).toEqual([]);
  });

  test('of an account, its counterparties and its transactions contain the view', async () => {
    const account = (viewId: string) => `account(accountId: "A", viewId: "${viewId}") {
      id otherAccount(otherAccountId: "O") { id } transaction(transactionId: "T") { id } }`;
    const { data } = await ask(`{ bank { one: ${account('one')} two: ${account('two')} } }`);
    const ids = idsIn(data);
    expect([ids.length, new Set(ids).size]).toEqual([6, 6]);
    for (const [type, id] of [
      ['Account', ids[3]],
      ['OtherAccount', ids[4]],
      ['Transaction', ids[5]],
    ])
      expect(await nodeWith(`... on ${type} { viewId }`, id)).toEqual({ data: { node: { viewId: 'two' } } });
    expect(bank.calls).toEqual([]);
    await nodeWith('... on Account { label }', ids[3]);
    expect(bank.lines()).toEqual(['GET /v1/api/banks/BANK/accounts/A/two/views']);
  });

  test('in a payload are the same as in a query', async () => {
    const written = await ask(`mutation {
      putCustomer(input: { customerId: "C", customer: {} }) { customer { id } }
      putBranch(input: { branchId: "BRANCH", branch: { acceptsDeposits: true } }) { branch { id } }
      putAccount(input: { accountId: "A", account: { balance: {} } }) { account { id } }
      putProduct(input: { product: { productId: "PRODUCT" } }) { product { id } }
      putTransactionMetadata(input: {
        accountId: "A", transactionId: "T", metadataType: "M", transaction: { details: { approvedByIpAddress: "" } }
      }) { transaction { id } }
    }`);
    expect(written.errors).toBeUndefined();
    const names = ['Customer:["BANK","C"]', 'Branch:["BANK","BRANCH"]', 'Account:["BANK","A","owner"]'];
    const others = ['Product:["BANK","PRODUCT"]', 'Transaction:["BANK","A","owner","T"]'];
    expect(idsIn(written.data)).toEqual([...names, ...others].map(encode));
  });
});

describe('nodes', () => {
  const nodesWith = (selection: string, ids: readonly string[]) =>
    ask(`query Q($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, { ids });
  const fields = '__typename id ... on Account { label } ... on Customer { legalName }';
  const [customer, account, branch, transaction] = [
    'Customer:["BANK","C"]',
    'Account:["BANK","A","owner"]',
    'Branch:["BANK","BRANCH"]',
    'Transaction:["BANK","A","owner","T"]',
  ].map(encode) as [string, string, string, string];

  test('keep the order of the ids, and fail one by one', async () => {
    bank.on('GET /v1/api/banks/BANK/customers/C', { status: 403 });
    const result = await nodesWith(fields, [branch, customer, 'forged', account, transaction, account]);
    const found = { __typename: 'Account', id: account, label: 'A as owner' };
    const [first, last] = [
      { __typename: 'Branch', id: branch },
      { __typename: 'Transaction', id: transaction },
    ];
    expect(result.data).toEqual({ nodes: [first, null, null, found, last, found] });
    expect(failuresOf(result)).toEqual(['nodes.1 FORBIDDEN', 'nodes.2 BAD_USER_INPUT']);
    // Nothing is read for a fragment on another type.
    expect(bank.calls).toHaveLength(2);
    expect(await nodesWith(fields, [])).toEqual({ data: { nodes: [] } });
  });

  test('fail with the error of their record, each at its position', async () => {
    bank.otherwise({ body: { branches: [], metadata: [], otherAccounts: [], accounts: [] } });
    const others = ['MetadataEntry:[{"id":"M"},"C"]', 'OtherAccount:["BANK","A","owner","O"]'].map(encode);
    const result = await nodesWith(
      '... on Branch { name } ... on MetadataEntry { code } ... on OtherAccount { kind } ... on Account { label }',
      [branch, account, ...others],
    );
    expect(result.data).toEqual({ nodes: [null, null, null, null] });
    expect(failuresOf(result)).toEqual([0, 1, 2, 3].map((index) => `nodes.${index} NOT_FOUND`));
  });
});
