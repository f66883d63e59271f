import { isObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { encodeGlobalId, globalIdTypes } from '../../src/schema/global-id.ts';
import { schema } from '../../src/schema/schema.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const details = 'details: { approvedByIpAddress: "ip" }';

/** A put under an input's new name, under its old one, and under both; and the member that it sends. */
const renamed: readonly (readonly [string, (fields: string) => string, string, string, string, unknown])[] = [
  [
    'BranchInput',
    (fields) => `putBranch(input: { branchId: "B", branch: { acceptsDeposits: true, ${fields} } })`,
    'bankName: "N"',
    'bank: "N"',
    'bank',
    'N',
  ],
  [
    'BranchInput',
    (fields) => `putBranch(input: { branchId: "B", branch: { acceptsDeposits: true, ${fields} } })`,
    'branchId: "I"',
    'id: "I"',
    'id',
    'I',
  ],
  [
    'AccountInput',
    (fields) => `putAccount(input: { accountId: "A", account: { balance: {}, ${fields} } })`,
    'bankIds: ["N"]',
    'bankId: "N"',
    'bank_id',
    'N',
  ],
  [
    'AccountInput',
    (fields) => `putAccount(input: { accountId: "A", account: { balance: {}, ${fields} } })`,
    'accountId: "I"',
    'id: "I"',
    'id',
    'I',
  ],
  [
    'ProductInput',
    (fields) => `putProduct(input: { product: { ${fields} } })`,
    'bankIds: ["N"]',
    'bankId: "N"',
    'bank_id',
    'N',
  ],
  [
    'ProductInput',
    (fields) => `putProduct(input: { product: { ${fields} } })`,
    'productId: "I"',
    'id: "I"',
    'id',
    'I',
  ],
  [
    'TransactionInput',
    (fields) =>
      `putTransactionMetadata(input: { accountId: "A", transactionId: "T", metadataType: "M", transaction: { ${details}, ${fields} } })`,
    'transactionId: "I"',
    'id: "I"',
    'id',
    'I',
  ],
];

describe.each(renamed)('%s', (_name, put, given, old, member, sent) => {
  test(`takes { ${given} } and the deprecated { ${old} }, and not both`, async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    for (const fields of [given, old]) {
      expect((await fixture.ask(`mutation { ${put(fields)} { trackId } }`)).errors).toBeUndefined();
      expect(JSON.parse(fixture.bank.calls.at(-1)?.body ?? '')).toMatchObject({ [member]: sent });
    }
    const both = await fixture.ask(`mutation { field: ${put(`${given}, ${old}`)} { trackId } }`);
    expect(failuresOf(both)).toEqual(['field BAD_USER_INPUT']);
    expect(both.errors?.[0]?.message).toContain(given.split(':')[0]);
    expect(fixture.bank.calls).toHaveLength(2);
  });
});

test('bankIds takes one bank where the bank does', async () => {
  await using fixture = await startBankqlFixture();
  for (const bankIds of ['[]', '["A", "B"]']) {
    const result = await fixture.ask(
      `mutation { putProduct(input: { product: { bankIds: ${bankIds} } }) { trackId } }`,
    );
    expect(failuresOf(result)).toEqual(['putProduct BAD_USER_INPUT']);
  }
  expect(fixture.bank.calls).toEqual([]);
});

const account = encodeGlobalId('Account', '["BANK","A","owner"]');

/** Each place where an id of the bank's belongs. */
const places: readonly (readonly [string, string])[] = [
  ['bank(bankId:)', '{ bank(bankId: $id) { branches { totalCount } } }'],
  ['Bank.customer', '{ bank { customer(customerId: $id) { email } } }'],
  ['Bank.account', '{ bank { account(accountId: $id) { label } } }'],
  ['Bank.account(viewId:)', '{ bank { account(accountId: "A", viewId: $id) { label } } }'],
  ['Bank.accounts', '{ bank { accounts(accountId: $id) { totalCount } } }'],
  ['Bank.branch', '{ bank { branch(branchId: $id) { name } } }'],
  ['Bank.branches', '{ bank { branches(filter: { id: $id }) { totalCount } } }'],
  ['Bank.product', '{ bank { product(productId: $id) { name } } }'],
  ['Bank.products', '{ bank { products(filter: { id: $id }) { totalCount } } }'],
  ['metadata', '{ metadata(id: $id) { totalCount } }'],
  [
    'Account.otherAccount',
    '{ bank { account(accountId: "A") { otherAccount(otherAccountId: $id) { kind } } } }',
  ],
  [
    'Account.transaction',
    '{ bank { account(accountId: "A") { transaction(transactionId: $id) { uuid } } } }',
  ],
  ['putCustomer', 'mutation { putCustomer(input: { customerId: $id, customer: {} }) { trackId } }'],
  [
    'putBranch',
    'mutation { putBranch(input: { branchId: "B", branch: { branchId: $id, acceptsDeposits: true } }) { trackId } }',
  ],
  [
    'putAccount',
    'mutation { putAccount(input: { accountId: "A", account: { balance: {}, accountId: $id } }) { trackId } }',
  ],
  ['putProduct', 'mutation { putProduct(input: { product: { id: $id } }) { trackId } }'],
  [
    'updateCustomer',
    'mutation { updateCustomer(input: { customerId: $id, changes: { email: "e" } }) { trackId } }',
  ],
  [
    'updateAccount',
    'mutation { updateAccount(input: { accountId: $id, changes: { label: "l" } }) { trackId } }',
  ],
  ['updateBranch', 'mutation { updateBranch(input: { branchId: $id, changes: { name: "n" } }) { trackId } }'],
  [
    'updateProduct',
    'mutation { updateProduct(input: { productId: $id, changes: { name: "n" } }) { trackId } }',
  ],
  [
    'annotateTransaction',
    'mutation { annotateTransaction(input: { accountId: "A", transactionId: $id, changes: { tags: "t" } }) { trackId } }',
  ],
  [
    'makeTransaction.to',
    'mutation { makeTransaction(input: { accountId: "A", to: { accountId: $id }, value: { amount: 1 }, idempotencyKey: "k" }) { trackId } }',
  ],
  [
    'putTransactionRequest.to',
    'mutation { putTransactionRequest(input: { accountId: "A", transactionRequestType: "T", to: { accountId: $id }, idempotencyKey: "k" }) { trackId } }',
  ],
];

/** The document with the id as a variable. */
const withVariable = (document: string) =>
  document.startsWith('mutation')
    ? document.replace('mutation', 'mutation M($id: ID!)')
    : `query Q($id: ID!) ${document}`;

test.each(places)('%s refuses a global id, and says which field has the right one', async (_, document) => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  const result = await fixture.ask(withVariable(document), { id: account });
  expect(result.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(result.errors?.[0]?.message).toMatch(/global `id` of the type Account.*`accountId`/);
  const sent = fixture.bank.lines().filter((line) => line.includes(account) || /^(PUT|POST)/.test(line));
  expect(sent).toEqual([]);
});

test.each(['Message', 'MetadataEntry', 'Payment', 'TransactionRequest', 'Viewer'])(
  'the global id of a %s is refused, with no field named, since none has an id of the bank',
  async (typename) => {
    await using fixture = await startBankqlFixture();
    const id = encodeGlobalId(typename, '["A","B","C"]');
    const result = await fixture.ask(withVariable('{ bank { customer(customerId: $id) { email } } }'), {
      id,
    });
    expect(result.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
    expect(result.errors?.[0]?.message).toMatch(
      new RegExp(
        `this is a global \`id\` of the type ${typename}, which only \`node\` and \`nodes\` take\\.$`,
      ),
    );
    expect(fixture.bank.calls).toEqual([]);
  },
);

test('every other type with a global id has the field that the refusal names', () => {
  for (const [typename, field] of globalIdTypes) {
    const type = schema.getType(typename);
    const fields = isObjectType(type) ? Object.keys(type.getFields()) : [];
    if (field !== null) expect(fields).toContain(field);
  }
});

test('no other id is taken for one', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  const likeOne = [
    'QWNjb3VudA',
    'Transfer-0000-0001',
    'SNDBCY2N',
    'VGhpcyBpcyBubyBnbG9iYWwgaWQ',
    Buffer.from('Account:A').toString('base64url'),
    Buffer.from('Account:{}').toString('base64url'),
    Buffer.from('Person:["BANK","A"]').toString('base64url'),
    `${account}A`,
  ];
  for (const id of likeOne) {
    const result = await fixture.ask(withVariable('{ bank { customer(customerId: $id) { email } } }'), {
      id,
    });
    expect([id, result.errors]).toEqual([id, undefined]);
  }
});
