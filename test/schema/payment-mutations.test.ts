import { describe, expect, test, vi } from 'vitest';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { StoreUnavailable } from '../../src/payments/store/store.ts';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { requested } from '../support/requested.ts';

const PayAndSee = graphql(`
  mutation PayAndSee($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      replayed
      payment {
        state status transactionId failureCode failureMessage
        to { bankId accountId account { accountId label } }
        value { amount currency }
      }
      userErrors { code message argument retryable retryAfter trackId }
    }
  }
`);

const AskAndSee = graphql(`
  mutation AskAndSee($input: PutTransactionRequestInput!) {
    putTransactionRequest(input: $input) {
      replayed
      payment { state status failureCode failureMessage }
      transactionRequests { status }
      userErrors { code message argument retryable retryAfter trackId }
    }
  }
`);

const input = {
  accountId: 'A',
  to: { bankId: 'TO-BANK', accountId: 'TO' },
  value: { amount: '12.50', currency: 'EUR' },
  description: 'rent',
  idempotencyKey: 'key-of-the-client',
};
const transfer = 'POST /v1/api/banks/BANK/accounts/A/make-transaction';
const request = 'PUT /v1/api/banks/BANK/accounts/A/owner/transaction-request-types/SEPA/transaction-requests';
const readPayee = 'GET /v1/api/banks/TO-BANK/accounts/TO/owner/views';
const refusal = { status: 400, body: { message: 'Insufficient funds' } };

async function start(options: Parameters<typeof startBankqlFixture>[0] = {}) {
  const fixture = await startBankqlFixture(options);
  fixture.bank.otherwise(anyAnswer).on(transfer, { body: { id: 'TX', status: 'COMPLETED' } });
  const pay = async (change: object = {}, headers?: Readonly<Record<string, string>>) => {
    const { data, errors } = await fixture.ask(PayAndSee, { input: { ...input, ...change } }, headers);
    return { ...data?.makeTransaction, errors };
  };
  const ask = async (change: object = {}) => {
    const given = { ...input, transactionRequestType: 'SEPA', ...change };
    const { data, errors } = await fixture.ask(AskAndSee, { input: given });
    return { ...data?.putTransactionRequest, errors };
  };
  return { ...fixture, pay, request: ask };
}

describe('makeTransaction', () => {
  // written-bodies.json shows the rest of the request.
  test('makes a transfer, answers its record, and answers the same when it is repeated', async () => {
    await using fixture = await start();
    const paid = await fixture.pay();
    expect(paid).toEqual({
      replayed: false,
      payment: {
        state: 'DONE',
        status: 'COMPLETED',
        transactionId: 'TX',
        failureCode: null,
        failureMessage: null,
        to: { bankId: 'TO-BANK', accountId: 'TO', account: { accountId: 'TO', label: 'TO as owner' } },
        value: { amount: '12.50', currency: 'EUR' },
      },
      userErrors: [],
      errors: undefined,
    });
    expect(await fixture.pay()).toEqual({ ...paid, replayed: true });
    expect(JSON.stringify(fixture.bank.calls)).not.toContain('key-of-the-client');
    expect(fixture.bank.lines()).toEqual([transfer, readPayee, readPayee]);
  });

  test('keeps the payee if the caller may not read the account of the payee', async () => {
    await using fixture = await start();
    fixture.bank.on(readPayee, { status: 403, body: { message: 'not yours' } });
    const { payment, errors } = await fixture.pay();
    expect(payment).toMatchObject({ to: { bankId: 'TO-BANK', accountId: 'TO', account: null } });
    expect(errors?.map(({ path, extensions }) => [path?.slice(2).join('.'), extensions.code])).toEqual([
      ['to.account', 'FORBIDDEN'],
    ]);
  });

  test('answers the record of a rejected payment with the message of the bank', async () => {
    await using fixture = await start();
    fixture.bank.on(transfer, refusal);
    for (const _ of ['first', 'replayed']) {
      const { payment, userErrors, errors } = await fixture.pay();
      expect(payment).toMatchObject({ state: 'REJECTED', failureCode: 'BANK_REJECTED' });
      expect(payment?.failureMessage).toContain('Insufficient funds');
      expect(userErrors).toEqual([
        {
          code: 'BANK_REJECTED',
          message: payment?.failureMessage,
          argument: null,
          retryable: false,
          retryAfter: null,
          trackId: fixture.bank.calls[0]?.headers['track-id'],
        },
      ]);
      expect(errors).toBeUndefined();
    }
    expect(fixture.bank.lines().filter((line) => line === transfer)).toHaveLength(1);
  });

  test('answers the record of a payment whose outcome is unknown', async () => {
    await using fixture = await start();
    fixture.bank.on(transfer, { status: 202, body: { status: 'PENDING' } });
    const { payment, userErrors } = await fixture.pay();
    expect(payment).toMatchObject({ state: 'UNKNOWN', status: 'PENDING', failureCode: 'OUTCOME_UNKNOWN' });
    expect(payment?.failureMessage).toMatch(/^The bank accepted the payment, and has not said/);
    expect(userErrors).toMatchObject([
      { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining(payment?.failureMessage ?? '') },
    ]);
  });

  test('answers no payment and no Track-ID if the bank did not know the caller', async () => {
    await using fixture = await start();
    fixture.bank.on(transfer, { status: 401, body: {} });
    expect(await fixture.pay()).toMatchObject({
      payment: null,
      userErrors: [{ code: 'UNAUTHENTICATED', trackId: null }],
      errors: undefined,
    });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('answers the same as the record of a payment that an operator settled as rejected', async () => {
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    await using fixture = await start({ store });
    fixture.bank.on(transfer, { status: 500 });
    await fixture.pay();
    for (const { id } of await store.search({ states: ['UNKNOWN'] }))
      expect(await store.settle(id, 'REJECTED', 'Ada: not booked')).toBe(true);
    const { payment, userErrors } = await fixture.pay();
    expect(payment).toMatchObject({ state: 'REJECTED', failureCode: 'BANK_REJECTED' });
    expect(userErrors).toMatchObject([{ code: 'BANK_REJECTED', message: payment?.failureMessage }]);
  });

  test('answers DONE with the record although the store cannot be read', async () => {
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    await using fixture = await start({ store });
    const find = vi.spyOn(store, 'find').mockRejectedValue(new StoreUnavailable('The store is away.'));
    for (const replayed of [false, true])
      expect(await fixture.pay()).toMatchObject({ payment: { state: 'DONE' }, replayed, userErrors: [] });
    expect(find).not.toHaveBeenCalled();
  });
});

describe('putTransactionRequest', () => {
  test('answers as makeTransaction does, and the transaction requests', async () => {
    await using fixture = await start();
    fixture.bank.on(request, (call) => ({ body: requested(call) }));
    const asked = await fixture.request({ challengeType: 'SMS' });
    expect(asked).toEqual({
      replayed: false,
      payment: { state: 'DONE', status: null, failureCode: null, failureMessage: null },
      transactionRequests: [{ status: 'INITIATED' }],
      userErrors: [],
      errors: undefined,
    });
    expect(await fixture.request({ challengeType: 'SMS' })).toEqual({ ...asked, replayed: true });
    expect(sentJson(onlyCall(fixture.bank))).toMatchObject({
      challenge_type: 'SMS',
      description: 'rent',
      to: { bank_id: 'TO-BANK', account_id: 'TO' },
    });
  });
});

describe('a payment that is not done', () => {
  const fields = {
    makeTransaction: { type: 'MakeTransaction', more: {}, call: transfer },
    putTransactionRequest: {
      type: 'PutTransactionRequest',
      more: { transactionRequestType: 'SEPA' },
      call: request,
    },
  };

  /** The answer to a mutation with this selection, and whether `seen` is an error of the operation. */
  async function told(field: keyof typeof fields, selection: string, change: object = {}) {
    await using fixture = await start();
    const { type, more, call } = fields[field];
    fixture.bank.on(call, refusal);
    const fragments = [
      `fragment F on ${type}Payload { replayed errs: userErrors { code } }`,
      'fragment S on Payment { how: state }',
    ].filter((fragment) => selection.includes(`...${fragment.charAt(9)}`));
    // The condition at the root uses those variables that the selection leaves unused, because unused
    // variables are invalid.
    const document = `mutation ($input: ${type}Input!, $yes: Boolean = true, $no: Boolean = false) {
      ${field}(input: $input) ${selection}
      name: __typename @include(if: $no) @skip(if: $yes)
    }
    ${fragments.join('')}`;
    const variables = { input: { ...input, ...more, ...change } };
    const { data, errors } = await fixture.ask<Record<string, object | null>, object>(document, variables);
    return { payload: data?.[field] ?? null, codes: errors?.map(({ extensions }) => extensions.code) };
  }

  test.each([
    '{ replayed }',
    '{ payment { trackId failureCode } }',
    '{ replayed userErrors @include(if: $no) { code } }',
    '{ payment { state @skip(if: $yes) trackId } }',
    '{ payment { id ...S @skip(if: $yes) } }',
    '{ payment @include(if: $no) { state } replayed }',
    '{ replayed payment { account { accountId } } }',
  ])('is an error of the operation if nothing that is selected shows it: %s', async (selection) => {
    for (const field of ['makeTransaction', 'putTransactionRequest'] as const)
      expect(await told(field, selection)).toEqual({ payload: null, codes: ['BANK_REJECTED'] });
  });

  test.each([
    ['{ userErrors { code } }', { userErrors: [{ code: 'BANK_REJECTED' }] }],
    ['{ ...F }', { replayed: false, errs: [{ code: 'BANK_REJECTED' }] }],
    ['{ ... @include(if: $yes) { userErrors { code } } }', { userErrors: [{ code: 'BANK_REJECTED' }] }],
    ['{ payment { state } }', { payment: { state: 'REJECTED' } }],
    ['{ payment { ... @include(if: $yes) { ...S } } }', { payment: { how: 'REJECTED' } }],
    [
      '{ one: payment { failureCode } two: payment { state } }',
      { one: { failureCode: 'BANK_REJECTED' }, two: { state: 'REJECTED' } },
    ],
  ])('is data if %s is selected', async (selection, payload) => {
    for (const field of ['makeTransaction', 'putTransactionRequest'] as const)
      expect(await told(field, selection)).toEqual({ payload, codes: undefined });
  });

  test('is an error of the operation if it has no state, and `userErrors` is not selected', async () => {
    const change = { value: { amount: '0' } };
    for (const field of ['makeTransaction', 'putTransactionRequest'] as const) {
      expect(await told(field, '{ payment { state } }', change)).toEqual({
        payload: null,
        codes: ['BAD_USER_INPUT'],
      });
      expect(await told(field, '{ payment { state } userErrors { code } }', change)).toEqual({
        payload: { payment: null, userErrors: [{ code: 'BAD_USER_INPUT' }] },
        codes: undefined,
      });
    }
  });

  const amounts = ['0', '-0', '0.00', '-1', '-0.01', '0.000000000000000000000000000000'];
  const keys = ['', 'ключ', 'a\nb', '\u007f', 'x'.repeat(256)];
  const faults: readonly (readonly [object, readonly string[]])[] = [
    ...amounts.map((amount) => [{ value: { amount } }, ['value', 'amount']] as const),
    ...keys.map((idempotencyKey) => [{ idempotencyKey }, ['idempotencyKey']] as const),
    [{ value: { amount: '1', currency: 'x'.repeat(17) } }, ['value', 'currency']],
    [{ description: 'x'.repeat(513) }, ['description']],
    [{ accountId: 'a/b' }, ['accountId']],
  ];
  test('names the invalid argument, and reserves no key', async () => {
    await using fixture = await start();
    for (const mutate of [fixture.pay, fixture.request]) {
      for (const [change, argument] of faults)
        expect([change, await mutate(change)]).toMatchObject([
          change,
          {
            payment: null,
            userErrors: [{ code: 'BAD_USER_INPUT', argument, retryable: false }],
            errors: undefined,
          },
        ]);
    }
    const payee = await fixture.pay({ to: { accountId: '../x' } });
    expect(payee.userErrors).toMatchObject([{ code: 'BAD_USER_INPUT', argument: ['to', 'accountId'] }]);
    const type = await fixture.request({ transactionRequestType: 'a/b' });
    expect(type.userErrors).toMatchObject([{ code: 'BAD_USER_INPUT', argument: ['transactionRequestType'] }]);
    for (const key of keys)
      expect(
        await fixture.ask('query ($key: String!) { payment(idempotencyKey: $key) { state } }', { key }),
      ).toMatchObject({
        errors: [{ extensions: { code: 'BAD_USER_INPUT' } }],
      });
    expect(fixture.bank.calls).toEqual([]);
    expect(fixture.bankql.audit).toEqual([]);
    expect(await fixture.pay({ value: { amount: '0.01' } })).toMatchObject({ payment: { state: 'DONE' } });
    expect(await fixture.pay({ idempotencyKey: ` ~"\\${'x'.repeat(251)}` })).toMatchObject({
      replayed: false,
    });
  });
});
