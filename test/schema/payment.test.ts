import { describe, expect, test } from 'vitest';
import { type BankWords, bankWordsOf } from '../../src/payments/answer/payment-words.ts';
import type { AuditEntry } from '../../src/payments/audit.ts';
import { graphql } from '../generated/index.ts';
import { credentials, testLeaseMs } from '../support/bankql.ts';
import { endedIn, exact, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { requested } from '../support/requested.ts';

const WholePayment = graphql(`
  query WholePayment($key: String!) {
    payment(idempotencyKey: $key) {
      idempotencyKey state operation bankId accountId value { currency amount } trackId createdAt updatedAt
      transactionId status failureCode
    }
  }
`);

const PayForPayment = graphql(`
  mutation PayForPayment($input: MakeTransactionInput!) {
    makeTransaction(input: $input) { replayed payment { trackId } }
  }
`);

const input = {
  accountId: 'ACC',
  to: { accountId: 'TO' },
  value: { amount: '12345678901234567890.10', currency: 'EUR' },
  description: 'the-description',
  idempotencyKey: 'the-idempotency-key',
};
const key = { key: 'the-idempotency-key' };

/** A payment that the bank answers when the test releases it, and a clock that the test sets. */
async function startPaying() {
  let time = Date.parse('2026-01-02T03:04:05.678Z');
  const released = Promise.withResolvers<void>();
  const fixture = await startBankqlFixture({ now: () => time });
  fixture.bank.otherwise(async () => {
    await released.promise;
    return { body: { id: 'TX', status: 'BOOKED' } };
  });
  const paying = fixture.ask(PayForPayment, { input });
  await expect.poll(() => fixture.bank.calls).toHaveLength(1);
  return {
    ...fixture,
    paying,
    trackId: fixture.bank.calls[0]?.headers['track-id'],
    release: released.resolve,
    pass(milliseconds: number) {
      time += milliseconds;
    },
  };
}

describe('payment', () => {
  test('is null for an unused key, without a call', async () => {
    await using fixture = await startBankqlFixture();
    expect(await fixture.ask(WholePayment, { key: 'unused' })).toEqual({ data: { payment: null } });
    expect(fixture.bank.calls).toEqual([]);
  });

  test('is PENDING until the bank answers, then DONE; until then its key is IDEMPOTENCY_IN_PROGRESS', async () => {
    await using fixture = await startPaying();
    const { paying, trackId, bankql, ask } = fixture;
    expect(bankql.audit).toMatchObject([{ state: 'PENDING', trackId }]);
    const pending = {
      idempotencyKey: 'the-idempotency-key',
      state: 'PENDING',
      operation: 'postMakeTransaction',
      bankId: 'BANK',
      accountId: 'ACC',
      value: { currency: 'EUR', amount: '12345678901234567890.10' },
      trackId,
      createdAt: '2026-01-02T03:04:05.678Z',
      updatedAt: '2026-01-02T03:04:05.678Z',
      transactionId: null,
      status: null,
      failureCode: null,
    };
    expect(await ask(WholePayment, key)).toEqual({ data: { payment: pending } });

    expect((await ask(PayForPayment, { input })).errors).toMatchObject([
      { extensions: { code: 'IDEMPOTENCY_IN_PROGRESS', retryable: true, trackId, retryAfter: 1 } },
    ]);
    const asData = `mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) {
      payment { state failureCode } userErrors { code retryable retryAfter }
    } }`;
    expect(await ask(asData, { input })).toEqual({
      data: {
        makeTransaction: {
          payment: { state: 'PENDING', failureCode: null },
          userErrors: [{ code: 'IDEMPOTENCY_IN_PROGRESS', retryable: true, retryAfter: 1 }],
        },
      },
    });
    const other = await ask(PayForPayment, { input: { ...input, description: 'other' } });
    expect(failuresOf(other)).toEqual(['makeTransaction IDEMPOTENCY_KEY_REUSED']);

    fixture.pass(1000);
    fixture.release();
    expect(await paying).toEqual({ data: { makeTransaction: { replayed: false, payment: { trackId } } } });
    expect(bankql.audit.map(({ state }) => state)).toEqual(['PENDING', 'DONE']);
    const done = {
      state: 'DONE',
      updatedAt: '2026-01-02T03:04:06.678Z',
      transactionId: 'TX',
      status: 'BOOKED',
    };
    expect(await ask(WholePayment, key)).toEqual({ data: { payment: { ...pending, ...done } } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('is UNKNOWN when its lease has ended, and DONE if the answer comes later', async () => {
    await using fixture = await startPaying();
    const stateOf = async () => (await fixture.ask(WholePayment, key)).data?.payment;
    fixture.pass(testLeaseMs + 1);
    expect(await stateOf()).toMatchObject({ state: 'UNKNOWN', failureCode: 'OUTCOME_UNKNOWN' });
    expect(failuresOf(await fixture.ask(PayForPayment, { input }))).toEqual([
      'makeTransaction OUTCOME_UNKNOWN',
    ]);
    fixture.release();
    expect((await fixture.paying).errors).toBeUndefined();
    expect(await stateOf()).toMatchObject({ state: 'DONE', failureCode: null });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('of a transaction request names its operation, and has no value if none was given', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise((call) => ({ body: requested(call) }));
    const paymentWith = async (id: string, value: string) => {
      await fixture.ask(`mutation { putTransactionRequest(input: {
        accountId: "ACC", bankId: "B2", transactionRequestType: "T", to: { accountId: "x" }, idempotencyKey: "${id}", value: ${value}
      }) { replayed } }`);
      return (await fixture.ask(WholePayment, { key: id })).data?.payment;
    };
    const operation = 'putTransactionsRequestAccount';
    expect(await paymentWith('1', 'null')).toMatchObject({
      state: 'DONE',
      operation,
      bankId: 'B2',
      value: null,
    });
    expect((await paymentWith('2', '{ amount: 3 }'))?.value).toEqual({ currency: null, amount: '3' });
    expect(fixture.bank.calls).toHaveLength(2);
  });

  const data = bankWordsOf([], [], { receiptPath: ['data', 'id'] });
  test.each([
    ['an id', { id: 'T-1' }, 'T-1'],
    ['the id of the transaction', { transaction_id: 'T-1' }, 'T-1'],
    ['the id of the transaction beside its own', { id: 'P-1', transactionId: 'T-1' }, 'T-1'],
    ['an integer', { id: 16521632 }, '16521632'],
    ['an integer whose digits JSON loses', { id: exact('12345678901234567890') }, null],
    ['an integer at the path of the operator', { data: { id: 16521632 } }, '16521632', data],
    [
      'an integer whose digits JSON loses at the path of the operator',
      { data: { id: exact('12345678901234567890') } },
      null,
      data,
    ],
  ])('has the transaction of an answer with %s', async (_, body, transactionId, bankWords?: BankWords) => {
    await using fixture = await startBankqlFixture({ paymentOptions: { bankWords } });
    fixture.bank.otherwise({ body });
    await fixture.ask(PayForPayment, { input });
    expect((await fixture.ask(WholePayment, key)).data?.payment).toMatchObject({
      state: 'DONE',
      transactionId,
    });
  });

  test('belongs to its caller; another caller can use the same key', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(PayForPayment, { input });
    for (const name of ['Auth-ID', 'Auth-Provider-Name']) {
      const headers = { ...credentials, [name]: 'THE-CALLER' };
      expect(await fixture.ask(WholePayment, key, headers)).toEqual({ data: { payment: null } });
      const own = await fixture.ask(PayForPayment, { input: { ...input, description: 'mine' } }, headers);
      expect(own.data?.makeTransaction?.replayed).toBe(false);
    }
    expect((await fixture.ask(WholePayment, key)).data?.payment?.state).toBe('DONE');
    expect(fixture.bank.calls).toHaveLength(3);
  });

  test('is an error, not null, for its caller with another subscription key, such as a renewed one', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(PayForPayment, { input });
    const renewed = { ...credentials, 'Ocp-Apim-Subscription-Key': 'renewed' };
    for (const { errors } of [
      await fixture.ask(WholePayment, key, renewed),
      await fixture.ask(PayForPayment, { input }, renewed),
    ])
      expect(errors).toMatchObject([
        {
          message: expect.stringMatching(/another subscription key.*may have been executed/),
          extensions: { code: 'IDEMPOTENCY_KEY_REUSED' },
        },
      ]);
    const { 'Ocp-Apim-Subscription-Key': _key, ...without } = credentials;
    expect(failuresOf(await fixture.ask(WholePayment, key, without))).toEqual([
      'payment MISSING_CREDENTIALS',
    ]);
    const unused = await fixture.ask(WholePayment, { key: 'unused' }, renewed);
    expect(unused).toEqual({ data: { payment: null } });
    expect(fixture.bank.calls).toHaveLength(1);
  });
});

describe('the audit log', () => {
  test('has one line for the end of a payment, however often it is repeated, and no credential, key or description', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { id: 'TX', uuid: 'the-answer' } });
    await fixture.ask(PayForPayment, { input });
    await fixture.ask(PayForPayment, { input });
    expect(endedIn(fixture.bankql)).toEqual([
      expect.objectContaining({
        state: 'DONE',
        operation: 'postMakeTransaction',
        bankId: 'BANK',
        accountId: 'ACC',
        amount: '12345678901234567890.10',
        currency: 'EUR',
        trackId: fixture.bank.calls[0]?.headers['track-id'],
        status: 200,
        code: null,
      }),
    ]);
    const written = JSON.stringify(fixture.bankql.audit);
    const log = fixture.bankql.log.join('');
    expect(log).toContain('postMakeTransaction');
    for (const secret of [
      ...Object.values(credentials),
      'the-idempotency-key',
      'the-description',
      'the-answer',
    ])
      expect(written + log).not.toContain(secret);
    expect(log).not.toContain('ACC');
  });

  test('groups the payments of one caller, and tells callers apart', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(PayForPayment, { input });
    await fixture.ask(PayForPayment, { input: { ...input, idempotencyKey: 'another' } });
    await fixture.ask(PayForPayment, { input }, { ...credentials, 'Auth-ID': 'other' });
    const [first, second, third] = endedIn(fixture.bankql).map(({ caller }) => caller);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
  });

  // log-cannot-be-written.test.ts tests what happens if a payment cannot be logged before it is sent.
  test('may fail after a payment was sent: the payment is DONE nevertheless', async () => {
    const audit = ({ state }: AuditEntry) => {
      if (state === 'DONE') throw new Error('ENOSPC');
    };
    await using fixture = await startBankqlFixture({ paymentOptions: { audit } });
    fixture.bank.otherwise({ body: { id: 'tx' } });
    expect((await fixture.ask(PayForPayment, { input })).data?.makeTransaction?.replayed).toBe(false);
    expect((await fixture.ask(WholePayment, key)).data?.payment?.state).toBe('DONE');
    expect(fixture.bank.calls).toHaveLength(1);
  });
});
