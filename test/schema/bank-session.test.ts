import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { exact, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordedCall, Reply } from '../support/recording-bank.ts';

const ReadsBetweenWrites = graphql(`
  mutation ReadsBetweenWrites {
    first: putCustomer(input: { customerId: "C", customer: {} }) {
      customer { bank { account(accountId: "A") { label again: owners { legalName } } } }
    }
    second: putAccount(input: { accountId: "A", account: { balance: { amount: 5 } } }) {
      account { label owners { legalName } }
      same: account { label }
    }
    third: putCustomer(input: { customerId: "C", customer: {} }) {
      customer { bank { account(accountId: "A") { label owners { legalName } } } }
    }
  }
`);

const FailedWriteBetweenReads = graphql(`
  mutation FailedWriteBetweenReads {
    first: putAccount(input: { accountId: "A", account: { balance: {} } }) { account { label } }
    second: putProduct(input: { product: {} }) { trackId }
    third: putBranch(input: { branchId: "BR", branch: { acceptsDeposits: true } }) {
      branch { bank { account(accountId: "A") { label } } }
    }
  }
`);

const PaymentAfterRead = graphql(`
  mutation PaymentAfterRead {
    before: putAccount(input: { accountId: "A", account: { balance: {} } }) { account { label } }
    pay: makeTransaction(input: { accountId: "A", to: {}, value: { amount: 1 }, idempotencyKey: "paid" }) {
      payment { account { label } }
    }
  }
`);

const RequestAfterRead = graphql(`
  mutation RequestAfterRead {
    before: putAccount(input: { accountId: "A", account: { balance: {} } }) { account { label } }
    ask: putTransactionRequest(
      input: { accountId: "A", transactionRequestType: "T", to: {}, idempotencyKey: "asked" }
    ) {
      transactionRequests { from { account { label } } }
    }
    after: putBranch(input: { branchId: "BR", branch: { acceptsDeposits: true } }) {
      branch { bank { account(accountId: "A") { label } } }
    }
  }
`);

/** A bank where each read of a record answers another version of it. */
function versions(): (call: RecordedCall) => Reply {
  const reads = new Map<string, number>();
  return ({ method, path }) => {
    if (method === 'POST') return { body: {} };
    if (path.endsWith('/transaction-requests'))
      return { body: { 'transaction-requests': [{ status: 'COMPLETED', from: { account_id: 'A' } }] } };
    if (method === 'PUT') return { body: path.includes('/branches/') ? { acceptsDeposits: true } : {} };
    const version = (reads.get(path) ?? 0) + 1;
    reads.set(path, version);
    if (path.includes('/customers/')) return { body: { legal_name: `customer ${version}` } };
    return {
      body: { accounts: [{ balance: { amount: exact('1') }, owners: ['C'], label: `account ${version}` }] },
    };
  };
}

const account = 'GET /v1/api/banks/BANK/accounts/A/owner/views';
const customer = 'GET /v1/api/banks/BANK/customers/C';

describe('a mutation document', () => {
  test('runs its fields one after another, and reads anew after each write', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(versions());
    const result = await fixture.ask(ReadsBetweenWrites);
    expect(result).toEqual({
      data: {
        first: {
          customer: { bank: { account: { label: 'account 1', again: [{ legalName: 'customer 1' }] } } },
        },
        second: {
          account: { label: 'account 2', owners: [{ legalName: 'customer 2' }] },
          same: { label: 'account 2' },
        },
        third: {
          customer: { bank: { account: { label: 'account 3', owners: [{ legalName: 'customer 3' }] } } },
        },
      },
    });
    expect(fixture.bank.lines()).toEqual([
      'PUT /v1/api/banks/BANK/customers/C',
      account,
      customer,
      'PUT /v1/api/banks/BANK/accounts/A',
      account,
      customer,
      'PUT /v1/api/banks/BANK/customers/C',
      account,
      customer,
    ]);
  });

  test('gives every write a Track-ID of its own', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(versions());
    await fixture.ask(ReadsBetweenWrites);
    const trackIds = fixture.bank.calls.flatMap(({ headers }) => headers['track-id'] ?? []);
    expect(new Set(trackIds).size).toBe(3);
    expect(trackIds).toHaveLength(3);
  });

  test('reads anew after a write that failed too, and goes on', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .otherwise(versions())
      .on('PUT /v1/api/banks/BANK/products', { status: 500, body: { message: 'internal details' } });
    const result = await fixture.ask(FailedWriteBetweenReads);
    expect(result.data).toEqual({
      first: { account: { label: 'account 1' } },
      second: null,
      third: { branch: { bank: { account: { label: 'account 2' } } } },
    });
    expect(failuresOf(result)).toEqual(['second BANK_ERROR']);
    expect(JSON.stringify(result)).not.toContain('internal details');
    expect(fixture.bank.lines()).toEqual([
      'PUT /v1/api/banks/BANK/accounts/A',
      account,
      'PUT /v1/api/banks/BANK/products',
      'PUT /v1/api/banks/BANK/branches/BR',
      account,
    ]);
  });

  test('reads anew after a payment, in its payload and behind it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(versions());
    const paid = await fixture.ask(PaymentAfterRead);
    expect(paid).toEqual({
      data: {
        before: { account: { label: 'account 1' } },
        pay: { payment: { account: { label: 'account 2' } } },
      },
    });
    fixture.bank.otherwise(versions());
    const asked = await fixture.ask(RequestAfterRead);
    expect(asked).toEqual({
      data: {
        before: { account: { label: 'account 1' } },
        ask: { transactionRequests: [{ from: { account: { label: 'account 2' } } }] },
        after: { branch: { bank: { account: { label: 'account 3' } } } },
      },
    });
  });

  test('reads anew after a payment whose outcome is unknown', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .otherwise(versions())
      .on(
        'PUT /v1/api/banks/BANK/accounts/A/owner/transaction-request-types/T/transaction-requests',
        () => 'reset',
      );
    const result = await fixture.ask(RequestAfterRead);
    expect(result.data).toEqual({
      before: { account: { label: 'account 1' } },
      ask: null,
      after: { branch: { bank: { account: { label: 'account 2' } } } },
    });
    expect(failuresOf(result)).toEqual(['ask OUTCOME_UNKNOWN']);
  });

  test('never sends a write again, and says that its outcome is unknown', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(() => 'reset');
    const result = await fixture.ask(FailedWriteBetweenReads);
    expect(result.data).toEqual({ first: null, second: null, third: null });
    expect(failuresOf(result)).toEqual([
      'first OUTCOME_UNKNOWN',
      'second OUTCOME_UNKNOWN',
      'third OUTCOME_UNKNOWN',
    ]);
    expect(result.errors?.map(({ extensions }) => extensions.trackId)).toEqual(
      fixture.bank.calls.map(({ headers }) => headers['track-id']),
    );
    expect(fixture.bank.calls).toHaveLength(3);
  });
});

describe('two requests', () => {
  test('share nothing: each reads for itself', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(versions());
    const query = '{ bank { account(accountId: "A") { label } } }';
    const answers = [await fixture.ask(query), await fixture.ask(query)];
    expect(answers).toEqual([
      { data: { bank: { account: { label: 'account 1' } } } },
      { data: { bank: { account: { label: 'account 2' } } } },
    ]);
  });
});

describe('the defaults', () => {
  const query = '{ bank { bankId account(accountId: "A") { viewId label } } }';

  test('stand for the bank and the view that are left out', async () => {
    await using fixture = await startBankqlFixture({ defaults: { bankId: 'MINE', viewId: 'seen' } });
    fixture.bank.otherwise(versions());
    const result = await fixture.ask(query);
    expect(result.data).toEqual({
      bank: { bankId: 'MINE', account: { viewId: 'seen', label: 'account 1' } },
    });
    expect(fixture.bank.lines()).toEqual(['GET /v1/api/banks/MINE/accounts/A/seen/views']);
  });

  test('may hold no bank: then an operation has to name one', async () => {
    await using fixture = await startBankqlFixture({ defaults: { bankId: null, viewId: 'owner' } });
    fixture.bank.otherwise(versions());
    const refused = await fixture.ask(query);
    expect(refused.data).toEqual({ bank: null });
    expect(failuresOf(refused)).toEqual(['bank BAD_USER_INPUT']);
    const put = await fixture.ask('mutation { putProduct(input: { product: {} }) { trackId } }');
    expect(failuresOf(put)).toEqual(['putProduct BAD_USER_INPUT']);
    expect(fixture.bank.calls).toEqual([]);
    const named = await fixture.ask('{ bank(bankId: "B") { account(accountId: "A") { label } } }');
    expect(named.errors).toBeUndefined();
  });
});
