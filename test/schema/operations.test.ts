import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { credentials } from '../support/bankql.ts';
import { onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';

const account = '/v1/api/banks/BANK/accounts/ACC';
const inAccount = (selection: string) => `{ bank { account(accountId: "ACC") { ${selection} } } }`;
const inBank = (selection: string) => `{ bank { ${selection} } }`;
const put = (field: string, input: string) => `mutation { ${field}(input: { ${input} }) { trackId } }`;

/** The specification's table: a field that reaches the operation, its line, its marks T and A (a; - for none). */
const table = [
  [
    'putCustomerID',
    put('putCustomer', 'customerId: "C", customer: {}'),
    'PUT /v1/api/banks/BANK/customers/C',
    'T',
    'A',
  ],
  [
    'putBranchID',
    put('putBranch', 'branchId: "B", branch: { acceptsDeposits: true }'),
    'PUT /v1/api/banks/BANK/branches/B',
    'T',
    'A',
  ],
  [
    'putTransactionsRequestAccount',
    put(
      'putTransactionRequest',
      'accountId: "ACC", transactionRequestType: "TYPE", to: {}, idempotencyKey: "k"',
    ),
    `PUT ${account}/owner/transaction-request-types/TYPE/transaction-requests`,
    'T',
    'A',
  ],
  [
    'putAccountID',
    put('putAccount', 'accountId: "ACC", account: { balance: {} }'),
    `PUT ${account}`,
    'T',
    'A',
  ],
  [
    'postBranches',
    inBank('branches(filter: { id: "Q" }) { totalCount }'),
    'POST /v1/api/banks/BANK/branches',
    'T',
    '-',
  ],
  [
    'postOtherAccounts',
    inAccount('otherAccounts(filter: { iban: "I" }) { totalCount }'),
    `POST ${account}/owner/other_accounts`,
    'T',
    'A',
  ],
  ['putProduct', put('putProduct', 'product: {}'), 'PUT /v1/api/banks/BANK/products', 'T', 'A'],
  [
    'postMakeTransaction',
    put('makeTransaction', 'accountId: "ACC", to: {}, value: { amount: 1 }, idempotencyKey: "k"'),
    `POST ${account}/make-transaction`,
    'T',
    'A',
  ],
  ['postMetadata', '{ metadata(id: "M") { totalCount } }', 'POST /v1/api/metadata', 'T', 'A'],
  [
    'postProducts',
    inBank('products(filter: { id: "Q" }) { totalCount }'),
    'POST /v1/api/banks/BANK/products',
    'T',
    '-',
  ],
  [
    'putCustomerMessage',
    put('putCustomerMessage', 'customerId: "C", message: "m", fromDepartment: "d", fromPerson: "p"'),
    'PUT /v1/api/banks/BANK/customer/C/messages',
    'T',
    'A',
  ],
  [
    'putTransactions',
    put(
      'putTransactionMetadata',
      'accountId: "ACC", transactionId: "TX", metadataType: "TYPE", transaction: { details: { approvedByIpAddress: "ip" } }',
    ),
    `PUT ${account}/owner/transactions/TX/metadata/TYPE`,
    'T',
    'A',
  ],
  ['getAccountsScope', inAccount('label'), `GET ${account}/owner/views`, '-', 'a'],
  [
    'getTransaction',
    inAccount('transaction(transactionId: "TX") { uuid }'),
    `GET ${account}/owner/transactions/TX/transaction`,
    '-',
    'A',
  ],
  [
    'getTransactionsRequest',
    inAccount('transactionRequests { totalCount }'),
    `GET ${account}/owner/transaction-requests`,
    '-',
    'a',
  ],
  [
    'getCustomer',
    inBank('customer(customerId: "C") { email }'),
    'GET /v1/api/banks/BANK/customers/C',
    '-',
    'A',
  ],
  ['getBranches', inBank('branches { totalCount }'), 'GET /v1/api/banks/BANK/branches', '-', '-'],
  [
    'getOtherAccounts',
    inAccount('otherAccounts { totalCount }'),
    `GET ${account}/owner/other_accounts`,
    '-',
    'A',
  ],
  [
    'getMessagesOwner',
    inBank('messages { totalCount }'),
    'GET /v1/api/banks/BANK/customer/messages',
    '-',
    'A',
  ],
  ['getProduct', inBank('product(productId: "P") { name }'), 'GET /v1/api/banks/BANK/products/P', '-', '-'],
] as const;

const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const key = { 'Ocp-Apim-Subscription-Key': credentials['Ocp-Apim-Subscription-Key'] };

test('has a field for each operation', () => {
  expect(table.map(([id]) => id)).toEqual(Object.keys(operations));
});

describe.each(table)('%s', (_id, document, line, tracked, auth) => {
  test('is one call, with the headers that the specification gives it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const result = await fixture.ask(document);
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([line]);
    const { headers, body } = onlyCall(fixture.bank);
    expect(headers['ocp-apim-subscription-key']).toBe('the-subscription-key');
    expect(headers['auth-provider-name']).toBe(auth === '-' ? undefined : 'the-provider');
    expect(headers['auth-id']).toBe(auth === '-' ? undefined : 'the-caller');
    expect(headers['track-id']).toEqual(tracked === 'T' ? expect.stringMatching(version4) : undefined);
    expect(headers['content-type']).toBe(body === '' ? undefined : 'application/json');
    expect(body === '').toBe(line.startsWith('GET'));
  });

  test('needs the auth headers only where it is marked A', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const result = await fixture.ask(document, {}, key);
    expect(fixture.bank.calls).toHaveLength(auth === 'A' ? 0 : 1);
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(
      auth === 'A' ? ['MISSING_CREDENTIALS'] : undefined,
    );
    expect(fixture.bank.calls[0]?.headers['auth-id']).toBeUndefined();
  });

  test('is not called without a subscription key', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const result = await fixture.ask(document, {}, { 'Auth-Provider-Name': 'p', 'Auth-ID': 'i' });
    expect(fixture.bank.calls).toEqual([]);
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['MISSING_CREDENTIALS']);
  });
});
