import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const PayWithKey = graphql(`
  mutation PayWithKey($input: MakeTransactionInput!) {
    makeTransaction(input: $input) { replayed payment { trackId transactionId status accountId to { accountId } } }
  }
`);

const AskForTransaction = graphql(`
  mutation AskForTransaction($input: PutTransactionRequestInput!) {
    putTransactionRequest(input: $input) { replayed payment { trackId } transactionRequests { status } }
  }
`);

describe('an idempotency key', () => {
  const input = {
    accountId: 'ACC',
    idempotencyKey: 'key',
    bankId: 'B1',
    from: { bankId: 'FB', accountId: 'FA' },
    to: { bankId: 'TB', accountId: 'TA' },
    value: { amount: '5.00', currency: 'EUR' },
    description: 'd',
    challengeType: 'c',
  };

  test('is required, and the header of that name is none', async () => {
    await using fixture = await startBankqlFixture();
    const { idempotencyKey, ...keyless } = input;
    const document =
      'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }';
    const headers = { ...credentials, 'Idempotency-Key': idempotencyKey };
    const { errors } = await fixture.ask(document, { input: keyless }, headers);
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
    expect(fixture.bank.calls).toEqual([]);
  });

  test('knows a payment by what goes over the wire: defaults that are written out are the same', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    const least = { accountId: 'ACC', to: {}, value: { amount: '1' }, idempotencyKey: 'key' };
    await fixture.ask(PayWithKey, { input: least });
    const written = {
      ...least,
      bankId: 'BANK',
      from: { accountId: 'ACC', bankId: 'BANK' },
      description: null,
    };
    expect((await fixture.ask(PayWithKey, { input: written })).data?.makeTransaction?.replayed).toBe(true);
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test.each([
    ['bankId', { bankId: 'B2' }],
    ['accountId', { accountId: 'OTHER' }],
    ['from.bankId', { from: { ...input.from, bankId: 'x' } }],
    ['from.accountId', { from: { ...input.from, accountId: 'x' } }],
    ['from', { from: null }],
    ['to.bankId', { to: { ...input.to, bankId: 'x' } }],
    ['to.accountId', { to: { ...input.to, accountId: 'x' } }],
    ['to without a bank', { to: { accountId: 'TA' } }],
    ['value.amount', { value: { ...input.value, amount: '5.01' } }],
    ['value.amount by its digits alone', { value: { ...input.value, amount: '5.0' } }],
    ['value.currency', { value: { ...input.value, currency: 'USD' } }],
    ['value without a currency', { value: { amount: '5.00' } }],
    ['description', { description: 'D' }],
    ['no description', { description: null }],
    ['challengeType', { challengeType: 'C' }],
  ])('is refused for another payment: %s', async (_, change) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(PayWithKey, { input });
    const result = await fixture.ask(PayWithKey, { input: { ...input, ...change } });
    expect(result.data).toEqual({ makeTransaction: null });
    expect(result.errors?.[0]?.message).toMatch(
      /ask payment\(idempotencyKey\).*before you pay under another key/,
    );
    expect(result.errors).toMatchObject([
      {
        path: ['makeTransaction'],
        extensions: {
          code: 'IDEMPOTENCY_KEY_REUSED',
          operation: 'postMakeTransaction',
          idempotencyKey: 'key',
          retryable: false,
        },
      },
    ]);
    expect(fixture.bank.calls).toHaveLength(1);
  });

  const request = {
    accountId: 'ACC',
    viewId: 'V',
    transactionRequestType: 'T',
    to: { accountId: 'TA' },
    value: { amount: '5.00', currency: 'EUR' },
    description: 'd',
    challengeType: 'c',
    idempotencyKey: 'key',
  };

  test.each([
    ['bankId', { bankId: 'B2' }],
    ['accountId', { accountId: 'OTHER' }],
    ['viewId', { viewId: 'W' }],
    ['transactionRequestType', { transactionRequestType: 'U' }],
    ['to', { to: { accountId: 'x' } }],
    ['value', { value: { amount: '5.01', currency: 'EUR' } }],
    ['no value', { value: null }],
    ['description', { description: 'D' }],
    ['challengeType', { challengeType: null }],
  ])('of a transaction request is refused for another one: %s', async (_, change) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
    const first = await fixture.ask(AskForTransaction, { input: request });
    const again = await fixture.ask(AskForTransaction, { input: request });
    expect(again.data?.putTransactionRequest).toEqual({
      ...first.data?.putTransactionRequest,
      replayed: true,
    });
    const result = await fixture.ask(AskForTransaction, { input: { ...request, ...change } });
    expect(failuresOf(result)).toEqual(['putTransactionRequest IDEMPOTENCY_KEY_REUSED']);
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('is one for both kinds of payment', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
    await fixture.ask(AskForTransaction, { input: request });
    expect(failuresOf(await fixture.ask(PayWithKey, { input }))).toEqual([
      'makeTransaction IDEMPOTENCY_KEY_REUSED',
    ]);
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test.each([
    ['Auth-ID', 'another'],
    ['Auth-ID', 'THE-CALLER'],
    ['Auth-Provider-Name', 'another'],
  ])('belongs to its caller: with %s %s it is another', async (header, value) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    const mine = await fixture.ask(PayWithKey, { input });
    const other = await fixture.ask(
      PayWithKey,
      { input: { ...input, description: 'mine' } },
      { ...credentials, [header]: value },
    );
    expect(other.errors).toBeUndefined();
    expect(other.data?.makeTransaction?.replayed).toBe(false);
    expect(other.data?.makeTransaction?.payment?.trackId).not.toBe(
      mine.data?.makeTransaction?.payment?.trackId,
    );
    expect(fixture.bank.calls).toHaveLength(2);
  });
});
