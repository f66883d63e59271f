import { describe, expect, test } from 'vitest';
import type { Drift } from '../../src/bank/answer.ts';
import { exact, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import {
  accountRecord,
  customerRecord,
  productRecord,
  transactionRecord,
  transactionRequestRecord,
} from '../support/full-records.ts';
import type { Reply } from '../support/recording-bank.ts';

/** bankql with a bank that gives this answer to every call, and the drifts that bankql counts. */
async function fixtureWith(reply: Reply, options: Parameters<typeof startBankqlFixture>[0] = {}) {
  const drifts: string[] = [];
  const onDrift = ({ operation, field }: Drift) => void drifts.push(`${operation} ${field}`);
  const fixture = await startBankqlFixture({ ...options, bankOptions: { onDrift } });
  fixture.bank.otherwise(reply);
  return { ...fixture, drifts };
}

const account = `{ bank { account(accountId: "ACC") {
  bankIds label iban types balance { currency amount } viewsAvailable ownerIds owners { customerId }
} } }`;
const customer = '{ bank { customer(customerId: "C") { legalName bankIds banks { bankId } metadata } } }';
const product = '{ bank { product(productId: "product-id") { name bankIds meta } } }';
const products = '{ bank { products(filter: { id: "Q" }) { nodes { productId name bankIds meta } } } }';
const branches = '{ bank { branches { nodes { branchId name acceptsDeposits lobby { is24Hours } } } } }';
const others =
  '{ bank { account(accountId: "ACC") { otherAccounts { nodes { otherAccountId bankName } } } } }';
const holders =
  '{ bank { account(accountId: "ACC") { otherAccounts { nodes { bankName holder { name } } } } } }';
const messages = '{ bank { messages { nodes { message date } } } }';
const transaction = `{ bank { account(accountId: "ACC") { transaction(transactionId: "TX") {
  details { type value { amount } newBalance { amount } } metadata { comments tags where narrative }
  otherAccountId
} } } }`;
const requests = `{ bank { account(accountId: "ACC") { transactionRequests { nodes {
  challenge transactionIds transactions { transactionId } value { amount } from { accountId }
} } } } }`;

const accounts = (record: object) => ({ accounts: [record] });
const accountWith = (change: object) => accounts({ ...accountRecord, ...change });
const requestWith = (change: object) => ({
  'transaction-requests': [{ ...transactionRequestRecord, ...change }],
});
const customerWith = (change: object) => ({ ...customerRecord, ...change });
const productWith = (change: object) => ({ ...productRecord, bank_id: ['B'], ...change });
const transactionWith = (change: object) => ({ ...transactionRecord, ...change });
const amountOf = (amount: unknown) => accountWith({ balance: { currency: 'EUR', amount } });
const branchWith = (acceptsDeposits: unknown, is24Hours: unknown) => ({
  ...branch,
  acceptsDeposits,
  lobby: is24Hours === null ? null : { is24Hours },
});
const branch = { acceptsDeposits: true, id: 'b-1', name: 'n' };
const other = { id: 'o-1', bank: 'b' };
const message = { message: 'm', date: 'd' };

/**
 * An operation with the counted fields, a query, an answer in the form of the specification, and the same answer in a bank's own
 * form.
 */
type Habit = readonly [counted: string, query: string, specified: object, written: string | object];

const habits: readonly Habit[] = [
  [
    'getAccountsScope byte-order-mark',
    account,
    accounts(accountRecord),
    `\uFEFF${JSON.stringify(accounts(accountRecord))}`,
  ],
  // One text for an array, an array with one text for a text, and objects or integers for texts and ids.
  ['getCustomer bank_id', customer, customerWith({ bank_id: ['B'] }), customerWith({ bank_id: 'B' })],
  [
    'getProduct bank_id meta',
    product,
    productWith({ meta: ['m'] }),
    productWith({ bank_id: 'B', meta: 'm' }),
  ],
  [
    'postProducts bank_id',
    products,
    { product: [productWith({ bank_id: 'B' })] },
    { product: [productWith({ bank_id: ['B'] })] },
  ],
  [
    'getAccountsScope bank_id owners type views_available',
    account,
    accountWith({ bank_id: 'B', type: ['t'], owners: ['o'], views_available: ['v'] }),
    accountWith({ bank_id: ['B'], type: 't', owners: 'o', views_available: 'v' }),
  ],
  [
    'getAccountsScope owners views_available',
    account,
    accountWith({ owners: ['o-1', 'o-2'], views_available: ['v'] }),
    accountWith({ owners: [{ id: 'o-1', display_name: 'n' }, { id: 'o-2' }], views_available: { id: 'v' } }),
  ],
  [
    'getTransaction details.type metadata.comments metadata.tags metadata.where',
    transaction,
    transactionWith({ details: { type: 't' }, metadata: { comments: 'c', tags: null, where: 'w' } }),
    transactionWith({
      details: { type: ['t'] },
      metadata: { comments: ['c'], tags: [], where: { id: 'w' } },
    }),
  ],
  [
    'getTransaction other_account this_account',
    transaction,
    transactionWith({ this_account: 'a-1', other_account: 'o-1' }),
    transactionWith({ this_account: { account_id: 'a-1' }, other_account: { id: 'o-1', holder: {} } }),
  ],
  ...[['T-1', 'T-2'], [{ id: 'T-1' }, { id: 'T-2' }], ' ["T-1", "T-2"]'].map(
    (ids): Habit => [
      'getTransactionsRequest challenge transaction_ids',
      requests,
      requestWith({ transaction_ids: 'T-1,T-2', challenge: 'c' }),
      requestWith({ transaction_ids: ids, challenge: { id: 'c' } }),
    ],
  ),
  [
    'getTransactionsRequest transaction_ids',
    requests,
    requestWith({ transaction_ids: null }),
    requestWith({ transaction_ids: [] }),
  ],
  [
    'getAccountsScope IBAN bank_id owners type',
    account,
    accountWith({ bank_id: '1', IBAN: '2', owners: ['3'], type: ['4'] }),
    accountWith({ bank_id: 1, IBAN: 2, owners: [3], type: 4 }),
  ],
  [
    'getTransactionsRequest challenge transaction_ids',
    requests,
    requestWith({ challenge: '1', transaction_ids: '2' }),
    requestWith({ challenge: { id: 1 }, transaction_ids: 2 }),
  ],
  // Amounts in texts.
  ['getAccountsScope amount balance.amount', account, amountOf(exact('5.00')), amountOf('05.00')],
  ['getAccountsScope amount balance.amount', account, amountOf(null), amountOf('')],
  ['getAccountsScope amount balance.amount', account, amountOf(exact('-0.64')), amountOf('-.64')],
  // Booleans in texts.
  [
    'getBranches acceptsDeposits lobby.is24Hours',
    branches,
    { branches: [branchWith(true, false), branchWith(false, null)] },
    { branches: [branchWith('true', 'false'), branchWith('false', null)] },
  ],
  // PHP, and converters from XML, write an empty value in these forms.
  ...['', []].map(
    (nothing): Habit => [
      'getOtherAccounts holder',
      holders,
      { otherAccounts: [{ ...other, holder: null }] },
      { otherAccounts: [{ ...other, holder: nothing }] },
    ],
  ),
  [
    'getAccountsScope owners type views_available',
    account,
    accountWith({ owners: null, type: null, views_available: null }),
    accountWith({ owners: '', type: '', views_available: '' }),
  ],
  [
    'getTransaction details metadata',
    transaction,
    transactionWith({ details: null, metadata: null }),
    transactionWith({ details: '', metadata: [] }),
  ],
  // Lists and records inside other members than the specification's.
  ['getBranches envelope', branches, { branches: [branch] }, [branch]],
  ['getBranches envelope', branches, { branches: [branch] }, branch],
  ['postProducts envelope', products, { product: [branch] }, { products: [branch] }],
  ['getOtherAccounts envelope', others, { otherAccounts: [other] }, { other_accounts: [other] }],
  ['getOtherAccounts empty-record', others, { otherAccounts: [] }, {}],
  ['getOtherAccounts empty-record', others, { otherAccounts: [] }, { otherAccounts: null }],
  ['getOtherAccounts empty-record', others, { otherAccounts: [] }, { other_accounts: null, total: 0 }],
  ['getOtherAccounts empty-body', others, { otherAccounts: [] }, ''],
  [
    'getTransactionsRequest envelope',
    requests,
    requestWith({}),
    { transaction_requests: [transactionRequestRecord], status: 'ok' },
  ],
  [
    'getTransactionsRequest envelope',
    requests,
    requestWith({}),
    { transactionRequests: [transactionRequestRecord] },
  ],
  ['getMessagesOwner envelope', messages, { messages: [message] }, message],
  ['getAccountsScope envelope', account, accounts(accountRecord), { account: accountRecord }],
  ['getCustomer envelope', customer, customerRecord, { customers: [customerRecord] }],
  ['getCustomer envelope', customer, customerRecord, { customer: customerRecord }],
  ['getProduct envelope', product, productRecord, [productRecord]],
];
const types = ['text/plain', 'text/html; charset=utf-8', 'application/octet-stream'].map(
  (type) => ['getCustomer content-type', customer, customerRecord, customerRecord, type] as const,
);

test.each([...habits, ...types])(
  'a deviation that is counted as %s is read as the form of the specification: %#',
  async (counted, query, specified, written, type = 'application/json') => {
    await using strict = await fixtureWith({ body: specified });
    const expected = await strict.ask(query);
    expect(expected.errors).toBeUndefined();
    expect(strict.drifts).toEqual([]);

    await using fixture = await fixtureWith({ body: written, headers: { 'Content-Type': type } });
    expect(await fixture.ask(query)).toEqual(expected);
    const [operation, ...fields] = counted.split(' ');
    expect(fixture.drifts.toSorted()).toEqual(fields.map((field) => `${operation} ${field}`));
    expect(fixture.bank.lines()).toEqual(strict.bank.lines());
  },
);

test.each([[], ''])('an empty balance (%j) is null', async (balance) => {
  await using fixture = await fixtureWith({ body: accountWith({ balance }) });
  const result = await fixture.ask('{ bank { account(accountId: "ACC") { label balance { amount } } } }');
  expect(result).toEqual({ data: { bank: { account: { label: 'label', balance: null } } } });
  expect(fixture.drifts).toEqual(['getAccountsScope balance']);
});

test('a value whose meaning is not certain is an error at its own field only', async () => {
  await using fixture = await fixtureWith({
    body: {
      branches: ['Y', 'TRUE', 1, '', []].map((acceptsDeposits) => ({ ...branch, acceptsDeposits })),
    },
  });
  const result = await fixture.ask(branches);
  expect(failuresOf(result)).toEqual(
    [0, 1, 2, 3, 4].map((at) => `bank.branches.nodes.${at}.acceptsDeposits BANK_BAD_RESPONSE`),
  );
  fixture.bank.otherwise({
    body: accountWith({ balance: { amount: '1,234.56' }, label: ['l'], type: [[]] }),
  });
  const fields = ['balance.amount', 'label', 'types.0'];
  expect(failuresOf(await fixture.ask(account))).toEqual(
    fields.map((field) => `bank.account.${field} BANK_BAD_RESPONSE`),
  );
  expect(fixture.drifts).toEqual(['getAccountsScope amount']);
});

describe('status 200', () => {
  test.each([
    ['a text', { error: 'no such customer' }, 'no such customer'],
    ['an object', { error: { code: 7, message: 'not you' } }, 'not you'],
    ['several', { errors: [{ detail: 'one' }, 'two'] }, 'one two'],
    ['a message alone', { code: 401, message: 'log in' }, 'log in'],
    ['an error with an id of its own', { id: 'e-1', error: 'no' }, 'no'],
  ])('with an error (%s) is BANK_REJECTED with its text', async (_, body, words) => {
    await using fixture = await fixtureWith({ body });
    for (const query of [customer, branches]) {
      const result = await fixture.ask(query);
      expect(result.errors).toMatchObject([{ extensions: { code: 'BANK_REJECTED', status: 200 } }]);
      expect(result.errors?.[0]?.message).toMatch(
        new RegExp(`with status 200, but with an error: ${words}$`),
      );
    }
  });

  test.each([
    ['another kind of record', { routing_number: '7' }],
    ['several customers', { customers: [customerRecord, customerRecord] }],
    ['a list of another kind', { orders: [{}] }],
  ])('with %s in place of the record is BANK_BAD_RESPONSE', async (_, body) => {
    await using fixture = await fixtureWith({ body });
    const result = await fixture.ask(customer);
    expect(failuresOf(result)).toEqual(['bank.customer BANK_BAD_RESPONSE']);
    expect(fixture.drifts).toEqual([]);
  });

  test.each(['', { customer: null }])(
    'with an empty answer (%j) in place of a record is BANK_BAD_RESPONSE',
    async (body) => {
      await using fixture = await fixtureWith({ body });
      expect(failuresOf(await fixture.ask(customer))).toEqual(['bank.customer BANK_BAD_RESPONSE']);
      expect(fixture.drifts).toEqual([]);
    },
  );

  test('with an error to a write has its text, and says that the write may have been executed', async () => {
    await using fixture = await fixtureWith({ body: { error: 'half done' } });
    const result = await fixture.ask(
      'mutation { putCustomer(input: { customerId: "C", customer: {} }) { trackId } }',
    );
    expect(result.errors).toMatchObject([
      {
        message:
          'The bank answers putCustomerID with status 200, but with an error; it may have been executed all the same: half done',
        extensions: { code: 'BANK_REJECTED', trackId: fixture.bank.calls[0]?.headers['track-id'] },
      },
    ]);
  });
});

test.each<[string, Reply]>([
  ['a body that is not JSON', { body: 'not JSON' }],
  ['nothing of the record', { body: { routing_number: '7' } }],
  ['a redirect', { status: 303, headers: { Location: '/' } }],
  ['an encoding that nobody asked for', { body: 'x', headers: { 'Content-Encoding': 'gzip' } }],
  ['500', { status: 500 }],
  ['a part of the record', { status: 206, body: { email: 'e' } }],
  ['a part that is empty', { status: 206, body: '' }],
])('a write that is answered with %s may have been executed, and its error says so', async (_, reply) => {
  await using fixture = await fixtureWith(reply);
  const write = 'mutation { putCustomer(input: { customerId: "C", customer: {} }) { trackId } }';
  const { errors } = await fixture.ask(write);
  expect(errors?.[0]?.message).toMatch(/may have been executed all the same: read the record before/);
  expect(errors?.[0]?.extensions).toMatchObject({ retryable: false, trackId: expect.any(String) });
});

test('an id that the bank writes as an integer is found and used by its digits', async () => {
  await using fixture = await fixtureWith({ body: { branches: [{ ...branch, id: 12345 }] } });
  fixture.bank
    .on('GET /v1/api/banks/BANK/accounts/12345/owner/views', {
      body: accounts({ ...accountRecord, id: 12345 }),
    })
    .on('GET /v1/api/banks/BANK/accounts/ACC/owner/transaction-requests', {
      body: { 'transaction-requests': [{ from: { account_id: 12345 } }] },
    });
  const result = await fixture.ask(`{ bank {
    branch(branchId: "12345") { id branchId }
    account(accountId: "ACC") { transactionRequests { nodes { from { account { accountId label } } } } }
  } }`);
  expect(result).toEqual({
    data: {
      bank: {
        branch: { id: Buffer.from('Branch:["BANK","12345"]').toString('base64url'), branchId: '12345' },
        account: {
          transactionRequests: { nodes: [{ from: { account: { accountId: '12345', label: 'label' } } }] },
        },
      },
    },
  });
  expect(fixture.bank.lines()).toContain('GET /v1/api/banks/BANK/accounts/12345/owner/views');
});

describe('a single account', () => {
  const views = 'GET /v1/api/banks/BANK/accounts/ACC/owner/views';

  test('is the only entry of the answer although its id differs, which is counted once', async () => {
    await using fixture = await fixtureWith({ body: accounts({ ...accountRecord, id: 'another' }) });
    const result = await fixture.ask(`{ bank {
      account(accountId: "ACC") { accountId label }
      again: account(accountId: "ACC") { label }
    } }`);
    expect(result).toEqual({
      data: { bank: { account: { accountId: 'ACC', label: 'label' }, again: { label: 'label' } } },
    });
    expect(fixture.bank.lines()).toEqual([views]);
    expect(fixture.drifts).toEqual(['getAccountsScope id']);
  });

  test('is read in the scope BANK_ACCOUNT_SCOPE, also as one account without a list; lists keep their scope', async () => {
    const defaults = { bankId: 'BANK', viewId: 'owner', accountScope: 'account' };
    await using fixture = await fixtureWith({ body: accountRecord }, { defaults });
    const result = await fixture.ask(`{ bank {
      account(accountId: "ACC") { label balance { amount } }
      accounts(accountId: "ACC") { totalCount }
    } }`);
    expect(result).toEqual({
      data: {
        bank: {
          account: { label: 'label', balance: { amount: '9007199254740993.250' } },
          accounts: { totalCount: 1 },
        },
      },
    });
    const [one, all] = ['account', 'permissions'].map((scope) => views.replace(/views$/, scope));
    expect(fixture.bank.lines().toSorted()).toEqual([one, all]);
  });
});

test.each([
  [
    'getProduct',
    '{ bank { product(productId: "P") { name bankIds } again: product(productId: "P") { family } } }',
  ],
  [
    'getTransaction',
    '{ bank { account(accountId: "A") { transaction(transactionId: "T") { uuid details { status } } } } }',
  ],
])(
  'a record of %s with another id than in the path is counted once, and fails no field',
  async (operation, query) => {
    await using fixture = await fixtureWith({ body: { id: 'ANOTHER', name: 'n' } });
    expect(failuresOf(await fixture.ask(query))).toEqual([]);
    expect(fixture.drifts).toEqual([`${operation} id`]);
    fixture.bank.otherwise({ body: { id: 1.5, name: 'n' } });
    expect(failuresOf(await fixture.ask(query))).toEqual([]);
    expect(fixture.drifts).toEqual([`${operation} id`]);
  },
);

describe('the answer to a request for a transaction', () => {
  const body = { to: { account_id: 'TO' }, value: { amount: exact('5') } };
  const ask = `mutation { putTransactionRequest(input: {
    accountId: "ACC", transactionRequestType: "SEPA", to: { accountId: "TO" }, value: { amount: "5" }, idempotencyKey: "key"
  }) { replayed transactionRequests { status transactionIds value { amount } } } }`;

  test.each<[string, Reply, readonly string[]]>([
    [
      'as the specification has it',
      { body: { 'transaction-requests': [{ status: 'INITIATED', body }] } },
      [],
    ],
    ['under another name', { body: { transaction_requests: [{ status: 'INITIATED', body }] } }, ['envelope']],
    ['without its list', { body: { status: 'INITIATED', body } }, ['envelope']],
    [
      'with ids in a list',
      { body: { 'transaction-requests': [{ status: 'INITIATED', transaction_ids: ['T1', 'T2'], body }] } },
      ['transaction_ids'],
    ],
  ])(
    'is answered, also when it is repeated, and its deviation is counted once: %s',
    async (_, reply, drifts) => {
      await using fixture = await fixtureWith(reply);
      for (const replayed of [false, true]) {
        const result = await fixture.ask(ask);
        expect(result.errors).toBeUndefined();
        expect(result.data).toMatchObject({
          putTransactionRequest: { replayed, transactionRequests: [{ status: 'INITIATED' }] },
        });
      }
      expect(fixture.drifts).toEqual(drifts.map((field) => `putTransactionsRequestAccount ${field}`));
    },
  );
});
