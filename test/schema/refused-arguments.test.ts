import { expect, test } from 'vitest';
import { encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, bankql, ask } = await shareBankqlFixture();

/** Ids that can be no segment of a path: some of id-corpus.ts, which test/bank/ids.test.ts tries in each path. */
const badIds = ['', '..', 'a/b', '%2e%2e', ' a', '\u202ea', '\ud800', 'x'.repeat(129)];

const query = (selection: string) => `query Q($id: ID!) { ${selection} }`;
const inBank = (selection: string) => query(`bank { ${selection} }`);
const inAccount = (selection: string) => inBank(`account(accountId: "A") { ${selection} }`);
const put = (field: string, input: string, type = 'ID!') =>
  `mutation M($id: ${type}) { ${field}(input: { ${input} }) { __typename } }`;
const transaction = 'transaction: { details: { approvedByIpAddress: "ip" } }';
const payment = 'to: { accountId: "x" }, value: { amount: 1 }, idempotencyKey: "k"';
const request = 'to: { accountId: "x" }, idempotencyKey: "k"';
const metadata = `metadataType: "M", ${transaction}`;

type Place = readonly [string, string, string];
/** An input of a mutation, with the id in it. */
const inputOf = (name: string, input: string, type?: string): Place => {
  const [field = ''] = name.split('.');
  return [name, put(field, input, type), field];
};

/** Each argument that fills a path: its name, a document with it, and the field that it is an argument of. */
const segments: readonly Place[] = [
  ['bank.bankId', query('bank(bankId: $id) { branches { totalCount } }'), 'bank'],
  ['bank.customer', inBank('customer(customerId: $id) { email }'), 'bank.customer'],
  ['bank.account', inBank('account(accountId: $id) { label }'), 'bank.account'],
  ['bank.account.viewId', inBank('account(accountId: "A", viewId: $id) { label }'), 'bank.account'],
  ['bank.accounts', inBank('accounts(accountId: $id) { totalCount }'), 'bank.accounts'],
  ['bank.accounts.viewId', inBank('accounts(accountId: "A", viewId: $id) { totalCount }'), 'bank.accounts'],
  ['bank.product', inBank('product(productId: $id) { name }'), 'bank.product'],
  ['account.transaction', inAccount('transaction(transactionId: $id) { uuid }'), 'bank.account.transaction'],
  inputOf('putCustomer.bankId', 'bankId: $id, customerId: "C", customer: {}'),
  inputOf('putCustomer.customerId', 'customerId: $id, customer: {}'),
  inputOf(
    'putCustomerMessage.customerId',
    'customerId: $id, message: "m", fromDepartment: "d", fromPerson: "p"',
  ),
  inputOf('putBranch.branchId', 'branchId: $id, branch: { acceptsDeposits: true }'),
  inputOf('putAccount.accountId', 'accountId: $id, account: { balance: {} }'),
  inputOf('putAccount.viewId', 'accountId: "A", viewId: $id, account: { balance: {} }'),
  inputOf('putProduct.bankId', 'bankId: $id, product: {}'),
  inputOf('putTransactionMetadata.accountId', `accountId: $id, transactionId: "T", ${metadata}`),
  inputOf('putTransactionMetadata.viewId', `accountId: "A", viewId: $id, transactionId: "T", ${metadata}`),
  inputOf('putTransactionMetadata.transactionId', `accountId: "A", transactionId: $id, ${metadata}`),
  inputOf(
    'putTransactionMetadata.metadataType',
    `accountId: "A", transactionId: "T", metadataType: $id, ${transaction}`,
    'String!',
  ),
  inputOf('updateCustomer.customerId', 'customerId: $id, changes: { email: "e" }'),
  inputOf('updateAccount.accountId', 'accountId: $id, changes: { label: "l" }'),
  inputOf('updateBranch.branchId', 'branchId: $id, changes: { name: "n" }'),
  inputOf('updateProduct.productId', 'productId: $id, changes: { name: "n" }'),
  inputOf('annotateTransaction.transactionId', 'accountId: "A", transactionId: $id, changes: { tags: "t" }'),
  inputOf('putTransactionRequest.accountId', `accountId: $id, transactionRequestType: "T", ${request}`),
  inputOf(
    'putTransactionRequest.viewId',
    `accountId: "A", viewId: $id, transactionRequestType: "T", ${request}`,
  ),
  inputOf(
    'putTransactionRequest.transactionRequestType',
    `accountId: "A", transactionRequestType: $id, ${request}`,
    'String!',
  ),
  inputOf('makeTransaction.bankId', `bankId: $id, accountId: "A", ${payment}`),
  inputOf('makeTransaction.accountId', `accountId: $id, ${payment}`),
  // No path's, but the payload leads to the accounts that they name, and a payment cannot be refused afterwards.
  ...['bankId: $id, accountId: "A"', 'accountId: $id'].map((to) =>
    inputOf(
      `makeTransaction.to.${to.split(':')[0]}`,
      `accountId: "A", to: { ${to} }, value: { amount: 1 }, idempotencyKey: "k"`,
    ),
  ),
];

/** The others where an id of the bank's belongs. */
const otherIds: readonly Place[] = [
  ['bank.branch', inBank('branch(branchId: $id) { name }'), 'bank.branch'],
  ['bank.branches', inBank('branches(filter: { id: $id }) { totalCount }'), 'bank.branches'],
  ['bank.products', inBank('products(filter: { id: $id }) { totalCount }'), 'bank.products'],
  ['metadata', query('metadata(id: $id) { totalCount }'), 'metadata'],
  [
    'account.otherAccount',
    inAccount('otherAccount(otherAccountId: $id) { kind }'),
    'bank.account.otherAccount',
  ],
  inputOf('putBranch.branch', 'branchId: "B", branch: { branchId: $id, acceptsDeposits: true }'),
  inputOf('putAccount.account', 'accountId: "A", account: { balance: {}, accountId: $id }'),
  inputOf('putProduct.product', 'product: { productId: $id }'),
  inputOf(
    'putTransactionRequest.to',
    'accountId: "A", transactionRequestType: "T", to: { accountId: $id }, idempotencyKey: "k"',
  ),
];

test.each(segments)(
  '%s refuses what can be no segment of a path, without a call and without repeating it',
  async (name, document, path) => {
    bank.otherwise(anyAnswer);
    // An empty code names no bank.
    for (const id of badIds.filter((id) => id !== '' || !name.endsWith('bankId'))) {
      const result = await ask(document, { id });
      expect([id, failuresOf(result)]).toEqual([id, [`${path} BAD_USER_INPUT`]]);
      if (id.length > 2) expect(result.errors?.[0]?.message).not.toContain(id);
    }
    expect(bank.lines().filter((line) => !line.endsWith('/accounts/A/owner/views'))).toEqual([]);
    expect(bankql.audit).toEqual([]);
  },
);

const account = encodeGlobalId('Account', '["BANK","A","owner"]');

test.each([...segments, ...otherIds])(
  '%s refuses a global id, and says which field has the right one',
  async (_name, document, path) => {
    bank.otherwise(anyAnswer);
    const result = await ask(document, { id: account });
    expect(failuresOf(result)).toEqual([`${path} BAD_USER_INPUT`]);
    expect(result.errors?.[0]?.message).toMatch(/global `id` of the type Account.*`accountId`/);
    const sent = bank.lines().filter((line) => line.includes(account) || /^(PUT|POST)/.test(line));
    expect(sent).toEqual([]);
  },
);

test('a page is refused without a call also where its parent is read', async () => {
  bank.otherwise(anyAnswer);
  const result = await ask(
    '{ bank { account(accountId: "A") { label otherAccounts(first: -1) { totalCount } } } }',
  );
  expect(result.data).toEqual({ bank: { account: { label: 'A as owner', otherAccounts: null } } });
  expect(failuresOf(result)).toEqual(['bank.account.otherAccounts BAD_USER_INPUT']);
  expect(bank.lines()).toEqual(['GET /v1/api/banks/BANK/accounts/A/owner/views']);
});

/** Where the argument that is at fault stands, for the forms of an app. */
test.each([
  ['{ bank(bankId: "a/b") { bankId branches { totalCount } } }', ['bankId']],
  ['{ bank { branches(first: -1) { totalCount } } }', ['first']],
  ['{ bank { branches(after: "x") { totalCount } } }', ['after']],
  [`{ bank { branches(search: "${'x'.repeat(256)}") { totalCount } } }`, ['search']],
  [
    `{ bank { account(accountId: "A") { otherAccounts(search: "${'x'.repeat(256)}") { totalCount } } } }`,
    ['search'],
  ],
  [
    '{ bank { branches(near: { latitude: 1, longitude: 0, radiusKm: -1 }) { totalCount } } }',
    ['near', 'radiusKm'],
  ],
  ['{ bank { branches(near: { latitude: 0, longitude: -180.5 }) { totalCount } } }', ['near', 'longitude']],
  ['{ bank { branches(near: { latitude: 91, longitude: 0 }) { totalCount } } }', ['near', 'latitude']],
  ['{ payments(first: 101) { nodes { id } } }', ['first']],
  ['mutation { updateCustomer(input: { customerId: "C", changes: {} }) { trackId } }', ['changes']],
  [
    'mutation { updateBranch(input: { branchId: "B", changes: { address: {}, location: {} } }) { trackId } }',
    ['changes'],
  ],
  [
    'mutation { annotateTransaction(input: { accountId: "A", transactionId: "T", changes: { tags: "a", where: "b" } }) { trackId } }',
    ['metadataType'],
  ],
  ...['["a,b"]', '["a", " "]'].map((tags): [string, string[]] => [
    `mutation { annotateTransaction(input: { accountId: "A", transactionId: "T", changes: { tags: ${tags} } }) { trackId } }`,
    ['changes', 'tags'],
  ]),
  ['mutation { putProduct(input: { product: { bankIds: [] } }) { trackId } }', ['product', 'bankIds']],
  [
    'mutation { putProduct(input: { product: { bankIds: ["A", "B"] } }) { trackId } }',
    ['product', 'bankIds'],
  ],
])('%s names its argument', async (document, argument) => {
  bank.otherwise(anyAnswer);
  const { errors } = await ask(document);
  expect(errors?.map(({ extensions }) => [extensions.code, extensions.argument])).toEqual([
    ['BAD_USER_INPUT', argument],
  ]);
  expect(bank.calls).toEqual([]);
});

test('an empty code names no bank, from a client and from the bank', async () => {
  bank.otherwise(anyAnswer);
  const ofBank = (id: string) => ({ bank_id: id, account_id: 'TO' });
  bank.on('GET /v1/api/banks/BANK/accounts/A/owner/transaction-requests', {
    body: { 'transaction-requests': [{ body: { to: ofBank('') } }] },
  });
  bank.on('GET /v1/api/banks/BANK/customers/C', { body: { bank_id: ['', 'B2'] } });
  const { data, errors } = await ask(`{ viewer: bank(bankId: "") { bankId
    customer(customerId: "C") { banks { bankId } }
    account(accountId: "A") {
      transactionRequests { nodes { to { account { bankId accountId } } } }
    }
  } }`);
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    viewer: {
      bankId: 'BANK',
      customer: { banks: [{ bankId: 'B2' }] },
      account: {
        transactionRequests: { nodes: [{ to: { account: { bankId: 'BANK', accountId: 'TO' } } }] },
      },
    },
  });
});

test.each([
  ['makeTransaction', 'value: { amount: 1 }'],
  ['putTransactionRequest', 'transactionRequestType: "T"'],
])('%s sends no empty code of a bank', async (field, more) => {
  bank.otherwise({ status: 201, body: {} });
  const input = `bankId: "", accountId: "A", to: { bankId: "", accountId: "TO" }, idempotencyKey: "${field}", ${more}`;
  const { data } = await ask(
    `mutation { ${field}(input: { ${input} }) { payment { state bankId to { account { bankId accountId } } } } }`,
  );
  expect(data).toEqual({
    [field]: {
      payment: {
        state: expect.any(String),
        bankId: 'BANK',
        to: { account: { bankId: 'BANK', accountId: 'TO' } },
      },
    },
  });
  const [sent] = bank.calls.filter(({ method }) => method !== 'GET');
  expect(JSON.parse(sent?.body ?? '')).toMatchObject({ to: { account_id: 'TO' } });
  expect(sent?.body).not.toContain('""');
  expect(sent?.path).toContain('/banks/BANK/accounts/A/');
});
