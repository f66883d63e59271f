import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { exact, failuresOf, onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';

const Pay = graphql(`
  mutation Pay($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      trackId
      replayed
      transactionId
      status
      from { bankId accountId account { bankId accountId viewId } }
      to { bankId accountId account { bankId accountId viewId } }
    }
  }
`);

const PayAndRead = graphql(`
  mutation PayAndRead($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      replayed
      from { account { balance { amount } } public: account(viewId: "public") { balance { amount } } }
      to { account { balance { amount } } }
    }
  }
`);

const line = 'POST /v1/api/banks/BANK/accounts/ACC/make-transaction';
const least = { accountId: 'ACC', to: {}, value: { amount: '1' }, idempotencyKey: 'key' };
const named = (bankId: string | null, accountId: string, bank = 'BANK') => ({
  bankId,
  accountId,
  account: { bankId: bankId ?? bank, accountId, viewId: 'owner' },
});

describe('makeTransaction', () => {
  // The rest of what it sends is in written-bodies.json.
  test('answers what the bank said, and whom the payment names', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { id: 'TX', status: 'BOOKED' } });
    const result = await fixture.ask(Pay, {
      input: {
        ...least,
        from: { bankId: 'fb', accountId: 'fa' },
        to: { bankId: 'tb', accountId: 'ta' },
        value: { amount: '12345678901234567890.10' },
        idempotencyKey: 'the-idempotency-key',
      },
    });
    const call = onlyCall(fixture.bank);
    expect(sentJson(call)).toMatchObject({ value: { amount: { number: '12345678901234567890.10' } } });
    expect(result).toEqual({
      data: {
        makeTransaction: {
          trackId: call.headers['track-id'],
          replayed: false,
          transactionId: 'TX',
          status: 'BOOKED',
          from: named('fb', 'fa'),
          to: named('tb', 'ta'),
        },
      },
    });
    // The idempotency key is bankql's own: the bank's contract has no place for it.
    expect(JSON.stringify(call)).not.toContain('the-idempotency-key');
  });

  test('fills what `from` leaves out, at the bank that is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(Pay, {
      input: { ...least, bankId: 'B2', from: { accountId: 'fa' }, idempotencyKey: '1' },
    });
    await fixture.ask(Pay, {
      input: { ...least, bankId: 'B2', from: { bankId: 'fb' }, idempotencyKey: '2' },
    });
    expect(fixture.bank.calls.map((call) => [call.path, sentJson(call)])).toMatchObject([
      ['/v1/api/banks/B2/accounts/ACC/make-transaction', { from: { bank_id: 'B2', account_id: 'fa' } }],
      ['/v1/api/banks/B2/accounts/ACC/make-transaction', { from: { bank_id: 'fb', account_id: 'ACC' } }],
    ]);
  });

  test.each([
    ['an empty body', ''],
    ['an empty object', '{}'],
  ])('is done also where the bank answers %s', async (_, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body });
    const result = await fixture.ask(Pay, { input: least });
    expect(result.errors).toBeUndefined();
    expect(result.data?.makeTransaction).toMatchObject({
      replayed: false,
      transactionId: null,
      status: null,
      from: named('BANK', 'ACC'),
      to: { bankId: null, accountId: null, account: null },
    });
  });

  test('reads balances after the transfer, anew and each once', async () => {
    await using fixture = await startBankqlFixture();
    let paid = false;
    fixture.bank.otherwise(({ method }) => {
      if (method === 'POST') paid = true;
      return {
        body: method === 'POST' ? {} : { accounts: [{ balance: { amount: exact(paid ? '0.50' : '1.50') } }] },
      };
    });
    const input = { ...least, to: { accountId: 'TO' } };
    const result = await fixture.ask(PayAndRead, { input });
    const account = { balance: { amount: '0.50' } };
    expect(result.data?.makeTransaction).toEqual({
      replayed: false,
      from: { account, public: account },
      to: { account },
    });
    const [first, ...reads] = fixture.bank.lines();
    expect(first).toBe(line);
    expect(reads.sort()).toEqual([
      'GET /v1/api/banks/BANK/accounts/ACC/owner/views',
      'GET /v1/api/banks/BANK/accounts/ACC/public/views',
      'GET /v1/api/banks/BANK/accounts/TO/owner/views',
    ]);
  });

  test('is answered also where the balances cannot be read', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} }).otherwise({ status: 403 });
    const result = await fixture.ask(PayAndRead, { input: { ...least, to: { accountId: 'TO' } } });
    expect(result.data?.makeTransaction).toEqual({
      replayed: false,
      from: { account: null, public: null },
      to: { account: null },
    });
    expect(failuresOf(result)).toEqual([
      'makeTransaction.from.account FORBIDDEN',
      'makeTransaction.from.public FORBIDDEN',
      'makeTransaction.to.account FORBIDDEN',
    ]);
  });
});
