import { describe, expect, test, vi } from 'vitest';
import { StoreUnavailable } from '../../src/payments/store.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { exact, onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';

const PayAndSee = graphql(`
  mutation PayAndSee($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      replayed
      payment {
        state status transactionId failureCode failureMessage
        to { bankId accountId account { accountId label } }
        toAccount { bankId accountId label }
        value { amount currency }
      }
      transactionRequests { status }
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

const PayAndReadBalances = graphql(`
  mutation PayAndReadBalances($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      payment {
        account { balance { amount } }
        public: account(viewId: "public") { balance { amount } }
        to { account { balance { amount } } }
      }
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
  // The rest of what it sends is in written-bodies.json.
  test('makes a transfer, whose record it shows, and is the stored answer the second time', async () => {
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

  test('sends every digit of the amount, under the Track-ID that it shows, and no idempotency key', async () => {
    await using fixture = await start();
    const { data } = await fixture.ask(
      'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { payment { trackId } } }',
      {
        input: {
          ...input,
          value: { amount: '12345678901234567890.10' },
          idempotencyKey: 'key-of-the-client',
        },
      },
    );
    const call = onlyCall(fixture.bank);
    expect(data).toEqual({ makeTransaction: { payment: { trackId: call.headers['track-id'] } } });
    expect(sentJson(call)).toMatchObject({ value: { amount: { number: '12345678901234567890.10' } } });
    expect(JSON.stringify(call)).not.toContain('key-of-the-client');
  });

  test('fills what `from` leaves out, at the bank that is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(PayAndSee, {
      input: { ...input, bankId: 'B2', from: { accountId: 'fa' }, idempotencyKey: '1' },
    });
    await fixture.ask(PayAndSee, {
      input: { ...input, bankId: 'B2', from: { bankId: 'fb' }, idempotencyKey: '2' },
    });
    const sent = fixture.bank.calls.filter(({ method }) => method === 'POST');
    expect(sent.map((call) => [call.path, sentJson(call)])).toMatchObject([
      ['/v1/api/banks/B2/accounts/A/make-transaction', { from: { bank_id: 'B2', account_id: 'fa' } }],
      ['/v1/api/banks/B2/accounts/A/make-transaction', { from: { bank_id: 'fb', account_id: 'A' } }],
    ]);
  });

  test.each([
    ['an empty body', ''],
    ['an empty object', '{}'],
  ])('is done also where the bank answers %s', async (_, body) => {
    await using fixture = await start();
    fixture.bank.on(transfer, { body });
    const { payment, userErrors } = await fixture.pay({ to: {} });
    expect(userErrors).toEqual([]);
    expect(payment).toMatchObject({ state: 'DONE', transactionId: null, status: null, to: null });
  });

  test('reads balances after the transfer, anew and each once', async () => {
    await using fixture = await start();
    let paid = false;
    fixture.bank.on(transfer, () => {
      paid = true;
      return { body: {} };
    });
    fixture.bank.otherwise(() => ({
      body: { accounts: [{ balance: { amount: exact(paid ? '0.50' : '1.50') } }] },
    }));
    const { data } = await fixture.ask(PayAndReadBalances, { input });
    const account = { balance: { amount: '0.50' } };
    expect(data?.makeTransaction?.payment).toEqual({ account, public: account, to: { account } });
    const [first, ...reads] = fixture.bank.lines();
    expect(first).toBe(transfer);
    expect(reads.sort()).toEqual([
      'GET /v1/api/banks/BANK/accounts/A/owner/views',
      'GET /v1/api/banks/BANK/accounts/A/public/views',
      readPayee,
    ]);
  });

  test('keeps who was paid if the caller may not read their account', async () => {
    await using fixture = await start();
    fixture.bank.on(readPayee, { status: 403, body: { message: 'not yours' } });
    const { payment, errors } = await fixture.pay();
    expect(payment).toMatchObject({
      to: { bankId: 'TO-BANK', accountId: 'TO', account: null },
      toAccount: null,
    });
    expect(errors?.map(({ path, extensions }) => [path?.slice(2).join('.'), extensions.code])).toEqual([
      ['to.account', 'FORBIDDEN'],
      ['toAccount', 'FORBIDDEN'],
    ]);
  });

  test('shows the record of a payment that was refused, with the bank’s words', async () => {
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

  test('shows a payment that is under way', async () => {
    await using fixture = await start();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    fixture.bank.on(transfer, async () => {
      arrive();
      await answered;
      return { body: {} };
    });
    const first = fixture.pay();
    await arrived;
    expect(await fixture.pay()).toMatchObject({
      payment: { state: 'PENDING', failureCode: null },
      userErrors: [{ code: 'IDEMPOTENCY_IN_PROGRESS', retryable: true, retryAfter: 1 }],
      errors: undefined,
    });
    answer();
    expect(await first).toMatchObject({ payment: { state: 'DONE' }, userErrors: [] });
  });

  test('has no payment, but the Track-ID of its call, where the bank did not know the caller', async () => {
    await using fixture = await start();
    fixture.bank.on(transfer, { status: 401, body: {} });
    expect(await fixture.pay()).toMatchObject({
      payment: null,
      userErrors: [{ code: 'UNAUTHENTICATED', trackId: onlyCall(fixture.bank).headers['track-id'] }],
      errors: undefined,
    });
  });

  test('says the same of a payment that an operator settled as refused as its record', async () => {
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

  test('shows that it is done, with its record, also where the store cannot be read', async () => {
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    await using fixture = await start({ store });
    const find = vi.spyOn(store, 'find').mockRejectedValue(new StoreUnavailable('The store is away.'));
    for (const replayed of [false, true])
      expect(await fixture.pay()).toMatchObject({ payment: { state: 'DONE' }, replayed, userErrors: [] });
    expect(find).not.toHaveBeenCalled();
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
});

describe('putTransactionRequest', () => {
  test('answers as makeTransaction, with the requests that were made', async () => {
    await using fixture = await start();
    fixture.bank.on(request, { body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
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

  test('shows the record of a request that was refused', async () => {
    await using fixture = await start();
    fixture.bank.on(request, refusal);
    expect(await fixture.request()).toMatchObject({
      payment: { state: 'REJECTED', failureCode: 'BANK_REJECTED' },
      transactionRequests: null,
      userErrors: [{ code: 'BANK_REJECTED' }],
      errors: undefined,
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

  /** What a mutation with this selection answers, and whether `seen` is an error of the operation. */
  async function told(field: keyof typeof fields, selection: string, change: object = {}) {
    await using fixture = await start();
    const { type, more, call } = fields[field];
    fixture.bank.on(call, refusal);
    const fragments = [
      `fragment F on ${type}Payload { replayed errs: userErrors { code } }`,
      'fragment S on Payment { how: state }',
    ].filter((fragment) => selection.includes(`...${fragment.charAt(9)}`));
    // The root's condition uses the variables where the selection does not.
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
    '{ transactionRequests { status } payment { account { accountId } } }',
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

  test.each([
    [{ value: { amount: '0' } }, ['value', 'amount']],
    [{ value: { amount: '1', currency: 'x'.repeat(17) } }, ['value', 'currency']],
    [{ description: 'x'.repeat(513) }, ['description']],
    [{ to: { accountId: '../x' } }, ['to', 'accountId']],
    [{ accountId: 'a/b' }, ['accountId']],
    [{ idempotencyKey: 'ключ' }, ['idempotencyKey']],
    [{ idempotencyKey: '' }, ['idempotencyKey']],
    [{ idempotencyKey: 'x'.repeat(256) }, ['idempotencyKey']],
  ])('names the argument that is at fault: %o', async (change, argument) => {
    await using fixture = await start();
    const { payment, userErrors, errors } = await fixture.pay(change);
    expect(userErrors).toMatchObject([{ code: 'BAD_USER_INPUT', argument, retryable: false }]);
    expect(payment).toBeNull();
    expect(errors).toBeUndefined();
    expect(fixture.bank.calls).toEqual([]);
  });

  test.each([
    [{ accountId: 'a/b' }, ['accountId']],
    [{ transactionRequestType: 'a/b' }, ['transactionRequestType']],
    [{ idempotencyKey: '' }, ['idempotencyKey']],
  ])('names the argument of a request that is at fault: %o', async (change, argument) => {
    await using fixture = await start();
    expect((await fixture.request(change)).userErrors).toMatchObject([{ code: 'BAD_USER_INPUT', argument }]);
    expect(fixture.bank.calls).toEqual([]);
  });
});

test('an operation makes one payment', async () => {
  await using fixture = await start();
  const { errors } = await fixture.bankql.ask(`mutation {
    putTransactionRequest(input: { accountId: "A", transactionRequestType: "T", to: {}, idempotencyKey: "1" }) { replayed }
    makeTransaction(input: { accountId: "A", to: {}, value: { amount: "1" }, idempotencyKey: "2" }) { replayed }
  }`);
  expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED' } }]);
  expect(fixture.bank.calls).toEqual([]);
});
