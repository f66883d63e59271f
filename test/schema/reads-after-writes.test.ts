import { describe, expect, test } from 'vitest';
import { exact, failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordedCall, Reply } from '../support/recording-bank.ts';
import { accountOf } from '../support/records.ts';
import { requested } from '../support/requested.ts';

const { bank, ask } = await shareBankqlFixture();

const account = 'GET /v1/api/banks/BANK/accounts/A/owner/views';
const customer = 'GET /v1/api/banks/BANK/customers/C';

const read = 'account(accountId: "A") { label owners { legalName } }';
const shown = (version: number) => ({
  label: `account ${version}`,
  owners: [{ legalName: `customer ${version}` }],
});
const putCustomer = `putCustomer(input: { customerId: "C", customer: {} }) { customer { bank { ${read} } } }`;
const putAccount = 'putAccount(input: { accountId: "A", account: { balance: {} } }) { account { label } }';
const putBranch = `putBranch(input: { branchId: "BR", branch: { acceptsDeposits: true } }) {
  branch { bank { account(accountId: "A") { label } } } }`;

/** A bank that answers each read of a record with another version of it. */
function versions(): (call: RecordedCall) => Reply {
  const reads = new Map<string, number>();
  return (call) => {
    const { method, path } = call;
    if (method === 'POST') return { body: {} };
    if (path.endsWith('/transaction-requests'))
      return { body: requested(call, { status: 'COMPLETED', from: { account_id: 'A' } }) };
    if (method === 'PUT') return { body: path.includes('/branches/') ? { acceptsDeposits: true } : {} };
    const version = (reads.get(path) ?? 0) + 1;
    reads.set(path, version);
    if (path.includes('/customers/')) return { body: { legal_name: `customer ${version}` } };
    const balance = { amount: exact('1') };
    return { body: { accounts: [accountOf({ balance, owners: ['C'], label: `account ${version}` })] } };
  };
}

describe('a mutation document', () => {
  test('runs its fields one after another, gives each write its own Track-ID, and reads again after each write', async () => {
    bank.otherwise(versions());
    const result = await ask(`mutation {
      first: ${putCustomer}
      second: putAccount(input: { accountId: "A", account: { balance: {} } }) {
        account { label owners { legalName } } same: account { label }
      }
      third: ${putCustomer}
    }`);
    expect(result).toEqual({
      data: {
        first: { customer: { bank: { account: shown(1) } } },
        second: { account: shown(2), same: { label: 'account 2' } },
        third: { customer: { bank: { account: shown(3) } } },
      },
    });
    const put = ['customers/C', 'accounts/A', 'customers/C'];
    expect(bank.lines()).toEqual(
      put.flatMap((path) => [`PUT /v1/api/banks/BANK/${path}`, account, customer]),
    );
    const trackIds = bank.calls.flatMap(({ headers }) => headers['track-id'] ?? []);
    expect([trackIds.length, new Set(trackIds).size]).toEqual([3, 3]);
  });

  test('reads again after a write that failed, and continues', async () => {
    const products = 'PUT /v1/api/banks/BANK/products';
    bank.otherwise(versions()).on(products, { status: 500, body: { message: 'internal details' } });
    const result = await ask(
      `mutation { first: ${putAccount} second: putProduct(input: { product: {} }) { trackId } third: ${putBranch} }`,
    );
    expect(result.data).toEqual({
      first: { account: { label: 'account 1' } },
      second: null,
      third: { branch: { bank: { account: { label: 'account 2' } } } },
    });
    expect(failuresOf(result)).toEqual(['second BANK_ERROR']);
    expect(JSON.stringify(result)).not.toContain('internal details');
    expect(bank.lines()).toEqual([
      'PUT /v1/api/banks/BANK/accounts/A',
      account,
      products,
      'PUT /v1/api/banks/BANK/branches/BR',
      account,
    ]);
  });

  const transfer = `makeTransaction(input: { accountId: "A", to: { accountId: "x" }, value: { amount: 1 }, idempotencyKey: "paid" }) {
    payment { account { label } } }`;
  const request = `putTransactionRequest(input: {
    accountId: "A", transactionRequestType: "T", to: { accountId: "x" }, idempotencyKey: "asked"
  }) { transactionRequests { from { account { label } } } }`;
  const seen = { account: { label: 'account 2' } };

  test.each<[string, string, object | null, boolean]>([
    ['a transfer', transfer, { payment: seen }, false],
    ['a request', request, { transactionRequests: [{ from: seen }] }, false],
    ['a payment whose outcome is unknown', request, null, true],
  ])('reads again after %s, in its payload and in later fields', async (_, payment, payload, isLost) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(versions());
    const put = 'PUT /v1/api/banks/BANK/accounts/A/owner/transaction-request-types/T/transaction-requests';
    if (isLost) fixture.bank.on(put, () => 'reset');
    const result = await fixture.ask(
      `mutation { before: ${putAccount} pay: ${payment} after: ${putBranch} }`,
    );
    expect(result.data).toEqual({
      before: { account: { label: 'account 1' } },
      pay: payload,
      after: { branch: { bank: { account: { label: `account ${isLost ? 2 : 3}` } } } },
    });
    expect(failuresOf(result)).toEqual(isLost ? ['pay OUTCOME_UNKNOWN'] : []);
  });
});

test('two requests share no loaded record: each reads the bank again', async () => {
  bank.otherwise(versions());
  for (const version of [1, 2])
    expect(await ask(`{ bank { ${read} } }`)).toEqual({ data: { bank: { account: shown(version) } } });
});
