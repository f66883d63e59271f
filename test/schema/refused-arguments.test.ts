import { describe, expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

/** Ids that can be no segment of a path. */
const badIds = [
  '',
  '.',
  '..',
  'a/b',
  '..\\a',
  '%2e%2e',
  'a?b',
  'a#b',
  'a;b',
  ' a',
  'a\n',
  '\u0000',
  '\u202ea',
  'a\u200b',
  '\ud800',
  'ａ',
  'x'.repeat(129),
];

const inAccount = (selection: string) =>
  `query Q($id: ID!) { bank { account(accountId: "A") { ${selection} } } }`;
const put = (field: string, input: string, type = 'ID!') =>
  `mutation M($id: ${type}) { ${field}(input: { ${input} }) { trackId } }`;
const transaction = 'transaction: { details: { approvedByIpAddress: "ip" } }';
const payment = 'to: {}, value: { amount: 1 }, idempotencyKey: "k"';
const request = 'to: {}, idempotencyKey: "k"';

/** Each argument that fills a path. */
const places: readonly (readonly [string, string, string])[] = [
  ['bank.bankId', 'query Q($id: ID!) { bank(bankId: $id) { branches { totalCount } } }', 'bank'],
  ['bank.customer', 'query Q($id: ID!) { bank { customer(customerId: $id) { email } } }', 'bank.customer'],
  ['bank.account', 'query Q($id: ID!) { bank { account(accountId: $id) { label } } }', 'bank.account'],
  [
    'bank.account.viewId',
    'query Q($id: ID!) { bank { account(accountId: "A", viewId: $id) { label } } }',
    'bank.account',
  ],
  [
    'bank.accounts',
    'query Q($id: ID!) { bank { accounts(accountId: $id) { totalCount } } }',
    'bank.accounts',
  ],
  [
    'bank.accounts.viewId',
    'query Q($id: ID!) { bank { accounts(accountId: "A", viewId: $id) { totalCount } } }',
    'bank.accounts',
  ],
  ['bank.product', 'query Q($id: ID!) { bank { product(productId: $id) { name } } }', 'bank.product'],
  ['account.transaction', inAccount('transaction(transactionId: $id) { uuid }'), 'bank.account.transaction'],
  ['putCustomer.bankId', put('putCustomer', 'bankId: $id, customerId: "C", customer: {}'), 'putCustomer'],
  ['putCustomer.customerId', put('putCustomer', 'customerId: $id, customer: {}'), 'putCustomer'],
  [
    'putCustomerMessage.customerId',
    put('putCustomerMessage', 'customerId: $id, message: "m", fromDepartment: "d", fromPerson: "p"'),
    'putCustomerMessage',
  ],
  ['putBranch.branchId', put('putBranch', 'branchId: $id, branch: { acceptsDeposits: true }'), 'putBranch'],
  ['putAccount.accountId', put('putAccount', 'accountId: $id, account: { balance: {} }'), 'putAccount'],
  [
    'putAccount.viewId',
    put('putAccount', 'accountId: "A", viewId: $id, account: { balance: {} }'),
    'putAccount',
  ],
  ['putProduct.bankId', put('putProduct', 'bankId: $id, product: {}'), 'putProduct'],
  [
    'putTransactionMetadata.accountId',
    put('putTransactionMetadata', `accountId: $id, transactionId: "T", metadataType: "M", ${transaction}`),
    'putTransactionMetadata',
  ],
  [
    'putTransactionMetadata.viewId',
    put(
      'putTransactionMetadata',
      `accountId: "A", viewId: $id, transactionId: "T", metadataType: "M", ${transaction}`,
    ),
    'putTransactionMetadata',
  ],
  [
    'putTransactionMetadata.transactionId',
    put('putTransactionMetadata', `accountId: "A", transactionId: $id, metadataType: "M", ${transaction}`),
    'putTransactionMetadata',
  ],
  [
    'putTransactionMetadata.metadataType',
    put(
      'putTransactionMetadata',
      `accountId: "A", transactionId: "T", metadataType: $id, ${transaction}`,
      'String!',
    ),
    'putTransactionMetadata',
  ],
  [
    'putTransactionRequest.accountId',
    put('putTransactionRequest', `accountId: $id, transactionRequestType: "T", ${request}`),
    'putTransactionRequest',
  ],
  [
    'putTransactionRequest.viewId',
    put('putTransactionRequest', `accountId: "A", viewId: $id, transactionRequestType: "T", ${request}`),
    'putTransactionRequest',
  ],
  [
    'putTransactionRequest.transactionRequestType',
    put('putTransactionRequest', `accountId: "A", transactionRequestType: $id, ${request}`, 'String!'),
    'putTransactionRequest',
  ],
  [
    'makeTransaction.bankId',
    put('makeTransaction', `bankId: $id, accountId: "A", ${payment}`),
    'makeTransaction',
  ],
  ['makeTransaction.accountId', put('makeTransaction', `accountId: $id, ${payment}`), 'makeTransaction'],
  // No path's, but the payload leads to the accounts that they name, and a payment cannot be refused afterwards.
  ...['to', 'from'].flatMap((party) =>
    ['bankId', 'accountId'].map((part) => {
      const others = party === 'to' ? 'value: { amount: 1 }, idempotencyKey: "k"' : payment;
      const input = `accountId: "A", ${party}: { ${part}: $id }, ${others}`;
      return [`makeTransaction.${party}.${part}`, put('makeTransaction', input), 'makeTransaction'] as const;
    }),
  ),
];

describe.each(places)('%s', (_name, document, path) => {
  test('refuses what can be no segment of a path, without a call and without repeating it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    for (const id of badIds) {
      const result = await fixture.ask(document, { id });
      expect([id, failuresOf(result)]).toEqual([id, [`${path} BAD_USER_INPUT`]]);
      if (id.length > 2) expect(result.errors?.[0]?.message).not.toContain(id);
    }
    expect(fixture.bank.lines().filter((line) => !line.endsWith('/accounts/A/owner/views'))).toEqual([]);
    expect(fixture.bankql.audit).toEqual([]);
  });
});

describe('a page', () => {
  const connections: readonly (readonly [string, (page: string) => string, string])[] = [
    [
      'bank.accounts',
      (page) => `{ bank { accounts(accountId: "A", ${page}) { totalCount } } }`,
      'bank.accounts',
    ],
    ['bank.branches', (page) => `{ bank { branches(${page}) { totalCount } } }`, 'bank.branches'],
    [
      'bank.branches, filtered',
      (page) => `{ bank { branches(filter: { id: "Q" }, ${page}) { totalCount } } }`,
      'bank.branches',
    ],
    [
      'bank.products',
      (page) => `{ bank { products(filter: { id: "Q" }, ${page}) { totalCount } } }`,
      'bank.products',
    ],
    ['bank.messages', (page) => `{ bank { messages(${page}) { totalCount } } }`, 'bank.messages'],
    ['metadata', (page) => `{ metadata(id: "M", ${page}) { totalCount } }`, 'metadata'],
    [
      'account.otherAccounts',
      (page) => `{ bank { account(accountId: "A") { otherAccounts(${page}) { totalCount } } } }`,
      'bank.account.otherAccounts',
    ],
    [
      'account.transactionRequests',
      (page) => `{ bank { account(accountId: "A") { transactionRequests(${page}) { totalCount } } } }`,
      'bank.account.transactionRequests',
    ],
  ];
  const pages = [
    'first: -1',
    'last: -2147483648',
    'after: ""',
    'after: "nothing"',
    'before: "YXQ6LTE"',
    'before: "YXQ6MXg"',
    'after: "at:1"',
  ];

  test.each(connections)(
    'of %s refuses negative counts and cursors that are none, without a call',
    async (_, document, path) => {
      await using fixture = await startBankqlFixture();
      fixture.bank.otherwise(anyAnswer);
      for (const page of pages) {
        const result = await fixture.ask(document(page));
        expect([page, failuresOf(result)]).toEqual([page, [`${path} BAD_USER_INPUT`]]);
      }
      expect(fixture.bank.lines()).toEqual([]);
    },
  );

  test('is refused without a call also where its parent is read', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const result = await fixture.ask(
      '{ bank { account(accountId: "A") { label otherAccounts(first: -1) { totalCount } } } }',
    );
    expect(result.data).toEqual({ bank: { account: { label: 'A as owner', otherAccounts: null } } });
    expect(failuresOf(result)).toEqual(['bank.account.otherAccounts BAD_USER_INPUT']);
    expect(fixture.bank.lines()).toEqual(['GET /v1/api/banks/BANK/accounts/A/owner/views']);
  });
});

describe('a payment', () => {
  const amounts = ['0', '-0', '0.00', '-1', '-0.01', '0.000000000000000000000000000000'];
  const mutations = [
    [
      'makeTransaction',
      'mutation M($amount: Decimal!) { makeTransaction(input: { accountId: "A", to: {}, value: { amount: $amount }, idempotencyKey: "k" }) { trackId } }',
    ],
    [
      'putTransactionRequest',
      'mutation M($amount: Decimal!) { putTransactionRequest(input: { accountId: "A", transactionRequestType: "T", to: {}, value: { amount: $amount }, idempotencyKey: "k" }) { trackId } }',
    ],
  ] as const;

  test.each(mutations)(
    'by %s refuses amounts that are not more than zero, without a call',
    async (field, document) => {
      await using fixture = await startBankqlFixture();
      fixture.bank.otherwise(anyAnswer);
      for (const amount of amounts) {
        expect([amount, failuresOf(await fixture.ask(document, { amount }))]).toEqual([
          amount,
          [`${field} BAD_USER_INPUT`],
        ]);
      }
      expect(fixture.bank.calls).toEqual([]);
      expect(fixture.bankql.audit).toEqual([]);
      // Nothing holds the key: a payment may be made with it.
      expect((await fixture.ask(document, { amount: '0.01' })).errors).toBeUndefined();
    },
  );

  test.each(['', 'a\nb', 'é', 'x'.repeat(256), '\u007f'])(
    'refuses the idempotency key %j, without a call',
    async (key) => {
      await using fixture = await startBankqlFixture();
      fixture.bank.otherwise(anyAnswer);
      const input = `accountId: "A", to: {}, value: { amount: 1 }, idempotencyKey: $key`;
      const paid = await fixture.ask(
        `mutation M($key: String!) { makeTransaction(input: { ${input} }) { trackId } }`,
        { key },
      );
      expect(failuresOf(paid)).toEqual(['makeTransaction BAD_USER_INPUT']);
      const found = await fixture.ask('query Q($key: String!) { payment(idempotencyKey: $key) { state } }', {
        key,
      });
      expect(failuresOf(found)).toEqual(['payment BAD_USER_INPUT']);
      expect(fixture.bank.calls).toEqual([]);
    },
  );

  test('takes a key of 255 printable characters', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const key = ` ~"\\${'x'.repeat(251)}`;
    const result = await fixture.ask(
      'mutation M($key: String!) { makeTransaction(input: { accountId: "A", to: {}, value: { amount: 1 }, idempotencyKey: $key }) { replayed } }',
      { key },
    );
    expect(result).toEqual({ data: { makeTransaction: { replayed: false } } });
  });
});

/** Where the argument that is at fault stands, for the forms of an app. */
test.each([
  ['{ bank(bankId: "a/b") { bankId branches { totalCount } } }', ['bankId']],
  ['{ bank { branches(first: -1) { totalCount } } }', ['first']],
  ['{ bank { branches(after: "x") { totalCount } } }', ['after']],
  ['{ bank { branches(near: { latitude: 91, longitude: 0 }) { totalCount } } }', ['near']],
  [
    '{ bank { branches(near: { latitude: 1, longitude: 0, radiusKm: -1 }) { totalCount } } }',
    ['near', 'radiusKm'],
  ],
  ['{ bank { branches(orderBy: DISTANCE) { totalCount } } }', ['near']],
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
  [
    'mutation { makeTransaction(input: { accountId: "A", to: {}, value: { amount: 0 }, idempotencyKey: "k" }) { trackId } }',
    ['value', 'amount'],
  ],
  [
    'mutation { makeTransaction(input: { accountId: "A/B", to: {}, value: { amount: 1 }, idempotencyKey: "k" }) { trackId } }',
    ['accountId'],
  ],
])('%s names its argument', async (document, argument) => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  const { errors } = await fixture.ask(document);
  expect(errors?.map(({ extensions }) => [extensions.code, extensions.argument])).toEqual([
    ['BAD_USER_INPUT', argument],
  ]);
  expect(fixture.bank.calls).toEqual([]);
});
