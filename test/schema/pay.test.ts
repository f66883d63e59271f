import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';

const PayAndSee = graphql(`
  mutation PayAndSee($input: PayInput!) {
    pay(input: $input) {
      replayed
      payment {
        state status failureCode failureMessage
        to { bankId accountId account { accountId label } }
        toAccount { bankId accountId label }
        value { amount currency }
      }
      transactionRequests { status }
      userErrors { code message argument retryable retryAfter }
    }
  }
`);

const input = {
  accountId: 'A',
  to: { bankId: 'TO-BANK', accountId: 'TO' },
  value: { amount: '12.50', currency: 'EUR' },
  description: 'rent',
  idempotencyKey: 'key',
};
const transfer = 'POST /v1/api/banks/BANK/accounts/A/make-transaction';
const request = 'PUT /v1/api/banks/BANK/accounts/A/owner/transaction-request-types/SEPA/transaction-requests';
const readPayee = 'GET /v1/api/banks/TO-BANK/accounts/TO/owner/views';

async function start(options: Parameters<typeof startBankqlFixture>[0] = {}) {
  const fixture = await startBankqlFixture(options);
  fixture.bank.otherwise(anyAnswer).on(transfer, { body: { id: 'TX', status: 'BOOKED' } });
  const pay = async (change: object = {}, headers?: Readonly<Record<string, string>>) => {
    const { data, errors } = await fixture.ask(PayAndSee, { input: { ...input, ...change } }, headers);
    return { ...data?.pay, errors };
  };
  return { ...fixture, pay };
}

describe('pay', () => {
  test('makes a transfer, whose record it shows, and is the stored answer the second time', async () => {
    await using fixture = await start();
    const paid = await fixture.pay();
    expect(paid).toEqual({
      replayed: false,
      payment: {
        state: 'DONE',
        status: 'BOOKED',
        failureCode: null,
        failureMessage: null,
        to: { bankId: 'TO-BANK', accountId: 'TO', account: { accountId: 'TO', label: 'TO as owner' } },
        toAccount: { bankId: 'TO-BANK', accountId: 'TO', label: 'TO as owner' },
        value: { amount: '12.50', currency: 'EUR' },
      },
      transactionRequests: null,
      userErrors: [],
      errors: undefined,
    });
    expect(await fixture.pay()).toEqual({ ...paid, replayed: true });
    expect(fixture.bank.lines()).toEqual([transfer, readPayee, readPayee]);
  });

  test('asks for a transaction of the type that is given', async () => {
    await using fixture = await start();
    fixture.bank.on(request, { body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
    const paid = await fixture.pay({ transactionRequestType: 'SEPA', challengeType: 'SMS' });
    expect(paid).toMatchObject({
      payment: { state: 'DONE' },
      transactionRequests: [{ status: 'INITIATED' }],
      userErrors: [],
    });
    expect(fixture.bank.lines()).toEqual([request, readPayee]);
    expect(JSON.parse(fixture.bank.calls[0]?.body ?? '')).toMatchObject({
      challenge_type: 'SMS',
      description: 'rent',
      to: { bank_id: 'TO-BANK', account_id: 'TO' },
    });
  });

  test('shows the record of a payment that was refused, with the bank’s words', async () => {
    await using fixture = await start();
    fixture.bank.on(transfer, { status: 422, body: { message: 'The limit is used up.' } });
    for (const _ of ['first', 'replayed']) {
      const { payment, userErrors, errors } = await fixture.pay();
      expect(payment).toMatchObject({ state: 'REJECTED', failureCode: 'BANK_REJECTED' });
      expect(payment?.failureMessage).toContain('The limit is used up.');
      expect(userErrors).toEqual([
        {
          code: 'BANK_REJECTED',
          message: payment?.failureMessage,
          argument: null,
          retryable: false,
          retryAfter: null,
        },
      ]);
      expect(errors).toBeUndefined();
    }
    expect(fixture.bank.lines().filter((line) => line === transfer)).toHaveLength(1);
  });

  test.each([
    ['is not selected', '{ pay(input: $input) { replayed payment { state } } }'],
    ['is left out', '{ pay(input: $input) { replayed userErrors @include(if: false) { code } } }'],
  ])(
    'is an error if it failed and `userErrors` %s: its client would take it for done',
    async (_, selection) => {
      await using fixture = await start();
      fixture.bank.on(transfer, { status: 422, body: { message: 'The limit is used up.' } });
      const { data, errors } = await fixture.ask(`mutation ($input: PayInput!) ${selection}`, { input });
      expect(data).toBeNull();
      expect(errors).toMatchObject([{ path: ['pay'], extensions: { code: 'BANK_REJECTED' } }]);
    },
  );

  test('shows the record of a payment whose outcome is unknown', async () => {
    await using fixture = await start();
    fixture.bank.on(transfer, { status: 202, body: { status: 'PENDING' } });
    const { payment, userErrors } = await fixture.pay();
    expect(payment).toMatchObject({ state: 'UNKNOWN', status: 'PENDING', failureCode: 'OUTCOME_UNKNOWN' });
    expect(payment?.failureMessage).toMatch(/^The bank accepted the payment, and has not said/);
    expect(userErrors).toMatchObject([
      { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining(payment?.failureMessage ?? '') },
    ]);
  });

  test('says the same of a payment that an operator settled as refused as its record', async () => {
    const store = await createMemoryStore({ retentionMs: 86_400_000 });
    await using fixture = await start({ store });
    fixture.bank.on(transfer, { status: 500 });
    await fixture.pay();
    for (const { id } of await store.search({ states: ['UNKNOWN'] }, Date.now()))
      expect(await store.settle(id, 'REJECTED', 'Ada: not booked', Date.now())).toBe(true);
    const { payment, userErrors } = await fixture.pay();
    expect(payment).toMatchObject({ state: 'REJECTED', failureCode: 'BANK_REJECTED' });
    expect(userErrors).toMatchObject([{ code: 'BANK_REJECTED', message: payment?.failureMessage }]);
  });

  test.each([
    ['a transfer', {}, transfer, { id: 'TX', status: 'PENDING' }],
    ['a request', { transactionRequestType: 'SEPA' }, request, { id: 'R', status: 'PENDING' }],
    [
      'a request in a list',
      { transactionRequestType: 'SEPA' },
      request,
      { 'transaction-requests': [{ status: 'PENDING' }] },
    ],
  ])('does not show %s as DONE if the bank says PENDING', async (_, change, call, body) => {
    await using fixture = await start();
    fixture.bank.on(call, { body });
    const { payment } = await fixture.pay(change);
    expect(payment).toMatchObject({ state: 'UNKNOWN', status: call === transfer ? 'PENDING' : null });
  });

  test.each([
    [{ value: { amount: '0' } }, ['value', 'amount']],
    [{ value: { amount: '1', currency: 'x'.repeat(17) } }, ['value', 'currency']],
    [{ description: 'x'.repeat(513) }, ['description']],
    [{ to: { accountId: '../x' } }, ['to', 'accountId']],
    [{ accountId: 'a/b' }, ['accountId']],
    [{ idempotencyKey: 'ключ' }, ['idempotencyKey']],
    [{ idempotencyKey: null }, ['idempotencyKey']],
    [{ accountId: 'a/b', transactionRequestType: 'SEPA' }, ['accountId']],
    [{ transactionRequestType: 'a/b' }, ['transactionRequestType']],
  ])('names the argument that is at fault: %o', async (change, argument) => {
    await using fixture = await start();
    const { payment, userErrors, errors } = await fixture.pay(change);
    expect(userErrors).toMatchObject([{ code: 'BAD_USER_INPUT', argument, retryable: false }]);
    expect(payment).toBeNull();
    expect(errors).toBeUndefined();
    expect(fixture.bank.calls).toEqual([]);
  });

  test('does not show another payment that has the key', async () => {
    await using fixture = await start();
    await fixture.pay();
    const { payment, userErrors } = await fixture.pay({ value: { amount: '99.00', currency: 'EUR' } });
    expect(payment).toBeNull();
    expect(userErrors).toMatchObject([{ code: 'IDEMPOTENCY_KEY_REUSED' }]);
    const wrong = await fixture.pay({ value: { amount: '0', currency: 'EUR' } });
    expect(wrong).toMatchObject({ payment: null, userErrors: [{ code: 'BAD_USER_INPUT' }] });
  });

  test('says which credentials are missing', async () => {
    await using fixture = await start();
    const headers = { 'Ocp-Apim-Subscription-Key': 'key' };
    expect(await fixture.pay({}, headers)).toMatchObject({
      payment: null,
      userErrors: [{ code: 'MISSING_CREDENTIALS' }],
    });
    expect(fixture.bank.calls).toEqual([]);
  });

  test('keeps who was paid if the caller may not read their account', async () => {
    await using fixture = await start();
    fixture.bank.on(readPayee, { status: 403, body: { message: 'not yours' } });
    const { payment, errors } = await fixture.pay();
    expect(payment).toMatchObject({
      to: { bankId: 'TO-BANK', accountId: 'TO', account: null },
      toAccount: { bankId: 'TO-BANK', accountId: 'TO', label: null },
    });
    expect(errors?.map(({ path, extensions }) => [path?.slice(2).join('.'), extensions.code])).toEqual([
      ['to.account', 'FORBIDDEN'],
      ['toAccount.label', 'FORBIDDEN'],
    ]);
  });

  test('is the only payment of an operation', async () => {
    await using fixture = await start();
    const { errors } = await fixture.bankql.ask(`mutation {
      pay(input: { accountId: "A", to: {}, value: { amount: "1" }, idempotencyKey: "1" }) { replayed }
      makeTransaction(input: { accountId: "A", to: {}, value: { amount: "1" }, idempotencyKey: "2" }) { replayed }
    }`);
    expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED' } }]);
    expect(fixture.bank.calls).toEqual([]);
  });
});
