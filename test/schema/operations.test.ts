import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { credentials } from '../support/bankql.ts';
import { bankLine, onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';

const inAccount = (selection: string) => `{ bank { account(accountId: "ACC") { ${selection} } } }`;
const inBank = (selection: string) => `{ bank { ${selection} } }`;
const put = (field: string, input: string) => `mutation { ${field}(input: { ${input} }) { __typename } }`;

/** A field that reaches each operation, and its line below the bank. */
const table: Readonly<Record<keyof typeof operations, readonly [string, string]>> = {
  putCustomerID: [put('putCustomer', 'customerId: "C", customer: {}'), 'PUT /customers/C'],
  putBranchID: [put('putBranch', 'branchId: "B", branch: { acceptsDeposits: true }'), 'PUT /branches/B'],
  putTransactionsRequestAccount: [
    put(
      'putTransactionRequest',
      'accountId: "ACC", transactionRequestType: "TYPE", to: {}, idempotencyKey: "k"',
    ),
    'PUT /accounts/ACC/owner/transaction-request-types/TYPE/transaction-requests',
  ],
  putAccountID: [put('putAccount', 'accountId: "ACC", account: { balance: {} }'), 'PUT /accounts/ACC'],
  postBranches: [inBank('branches(filter: { id: "Q" }) { totalCount }'), 'POST /branches'],
  postOtherAccounts: [
    inAccount('otherAccounts(filter: { iban: "I" }) { totalCount }'),
    'POST /accounts/ACC/owner/other_accounts',
  ],
  putProduct: [put('putProduct', 'product: {}'), 'PUT /products'],
  postMakeTransaction: [
    put('makeTransaction', 'accountId: "ACC", to: {}, value: { amount: 1 }, idempotencyKey: "k"'),
    'POST /accounts/ACC/make-transaction',
  ],
  postMetadata: ['{ metadata(id: "M") { totalCount } }', 'POST /v1/api/metadata'],
  postProducts: [inBank('products(filter: { id: "Q" }) { totalCount }'), 'POST /products'],
  putCustomerMessage: [
    put('putCustomerMessage', 'customerId: "C", message: "m", fromDepartment: "d", fromPerson: "p"'),
    'PUT /customer/C/messages',
  ],
  putTransactions: [
    put(
      'putTransactionMetadata',
      'accountId: "ACC", transactionId: "TX", metadataType: "TYPE", transaction: { details: { approvedByIpAddress: "ip" } }',
    ),
    'PUT /accounts/ACC/owner/transactions/TX/metadata/TYPE',
  ],
  getAccountsScope: [inAccount('label'), 'GET /accounts/ACC/owner/views'],
  getTransaction: [
    inAccount('transaction(transactionId: "TX") { uuid }'),
    'GET /accounts/ACC/owner/transactions/TX/transaction',
  ],
  getTransactionsRequest: [
    inAccount('transactionRequests { totalCount }'),
    'GET /accounts/ACC/owner/transaction-requests',
  ],
  getCustomer: [inBank('customer(customerId: "C") { email }'), 'GET /customers/C'],
  getBranches: [inBank('branches { totalCount }'), 'GET /branches'],
  getOtherAccounts: [inAccount('otherAccounts { totalCount }'), 'GET /accounts/ACC/owner/other_accounts'],
  getMessagesOwner: [inBank('messages { totalCount }'), 'GET /customer/messages'],
  getProduct: [inBank('product(productId: "P") { name }'), 'GET /products/P'],
};

const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const key = { 'Ocp-Apim-Subscription-Key': credentials['Ocp-Apim-Subscription-Key'] };

describe.each(Object.values(operations))('$id', ({ id, tracked, auth }) => {
  const [document, called] = table[id];
  const line = bankLine(called);

  test('is one call, with the headers that the specification gives it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const result = await fixture.ask(document);
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([line]);
    const { headers, body } = onlyCall(fixture.bank);
    expect(headers['ocp-apim-subscription-key']).toBe('the-subscription-key');
    expect(headers['auth-provider-name']).toBe(auth === 'none' ? undefined : 'the-provider');
    expect(headers['auth-id']).toBe(auth === 'none' ? undefined : 'the-caller');
    expect(headers['track-id']).toEqual(tracked ? expect.stringMatching(version4) : undefined);
    expect(headers['content-type']).toBe(body === '' ? undefined : 'application/json');
    expect(body === '').toBe(line.startsWith('GET'));
  });

  test('needs the auth headers only where they are required', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const result = await fixture.ask(document, {}, key);
    expect(fixture.bank.calls).toHaveLength(auth === 'required' ? 0 : 1);
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(
      auth === 'required' ? ['MISSING_CREDENTIALS'] : undefined,
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
