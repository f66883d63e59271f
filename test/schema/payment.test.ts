import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { credentials, testLeaseMs } from '../support/bankql.ts';
import { endedIn, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const WholePayment = graphql(`
  query WholePayment($key: String!) {
    payment(idempotencyKey: $key) {
      idempotencyKey
      state
      operation
      bankId
      accountId
      value { currency amount }
      trackId
      createdAt
      updatedAt
      transactionId
      status
      code
    }
  }
`);

const PayForPayment = graphql(`
  mutation PayForPayment($input: MakeTransactionInput!) {
    makeTransaction(input: $input) { replayed payment { trackId } }
  }
`);

const AskForPayment = graphql(`
  mutation AskForPayment($input: PutTransactionRequestInput!) {
    putTransactionRequest(input: $input) { payment { trackId } }
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

/** A clock that the test moves. */
function clock(start: string) {
  let time = Date.parse(start);
  return {
    now: () => time,
    add: (milliseconds: number) => {
      time += milliseconds;
    },
  };
}

describe('payment', () => {
  test('is null for a key that was never used, and costs no call', async () => {
    await using fixture = await startBankqlFixture();
    expect(await fixture.ask(WholePayment, { key: 'unused' })).toEqual({ data: { payment: null } });
    expect(fixture.bank.calls).toEqual([]);
  });

  test('is PENDING while the bank has not answered, then DONE; the key is in progress meanwhile', async () => {
    const time = clock('2026-01-02T03:04:05.678Z');
    await using fixture = await startBankqlFixture({ now: time.now });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fixture.bank.otherwise(async () => {
      await released;
      return { body: { id: 'TX', status: 'BOOKED' } };
    });
    const paying = fixture.ask(PayForPayment, { input });
    await expect.poll(() => fixture.bank.calls).toHaveLength(1);
    const trackId = fixture.bank.calls[0]?.headers['track-id'];
    expect(fixture.bankql.audit).toMatchObject([{ state: 'PENDING', trackId }]);
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
      code: null,
    };
    expect(await fixture.ask(WholePayment, key)).toEqual({ data: { payment: pending } });

    const meanwhile = await fixture.ask(PayForPayment, { input });
    expect(meanwhile.errors).toMatchObject([
      { extensions: { code: 'IDEMPOTENCY_IN_PROGRESS', retryable: true, trackId, retryAfter: 1 } },
    ]);
    const other = await fixture.ask(PayForPayment, { input: { ...input, description: 'other' } });
    expect(failuresOf(other)).toEqual(['makeTransaction IDEMPOTENCY_KEY_REUSED']);

    time.add(1000);
    release();
    expect(await paying).toEqual({ data: { makeTransaction: { replayed: false, payment: { trackId } } } });
    expect(fixture.bankql.audit.map(({ state }) => state)).toEqual(['PENDING', 'DONE']);
    expect(await fixture.ask(WholePayment, key)).toEqual({
      data: {
        payment: {
          ...pending,
          state: 'DONE',
          updatedAt: '2026-01-02T03:04:06.678Z',
          transactionId: 'TX',
          status: 'BOOKED',
        },
      },
    });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('is UNKNOWN once its lease has ended, and DONE when the answer comes after all', async () => {
    const time = clock('2026-01-02T03:04:05.678Z');
    await using fixture = await startBankqlFixture({ now: time.now });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fixture.bank.otherwise(async () => {
      await released;
      return { body: {} };
    });
    const paying = fixture.ask(PayForPayment, { input });
    await expect.poll(() => fixture.bank.calls).toHaveLength(1);
    time.add(testLeaseMs + 1);
    const lost = await fixture.ask(WholePayment, key);
    expect(lost.data?.payment).toMatchObject({ state: 'UNKNOWN', code: 'OUTCOME_UNKNOWN' });
    expect(failuresOf(await fixture.ask(PayForPayment, { input }))).toEqual([
      'makeTransaction OUTCOME_UNKNOWN',
    ]);
    release();
    expect((await paying).errors).toBeUndefined();
    expect((await fixture.ask(WholePayment, key)).data?.payment).toMatchObject({ state: 'DONE', code: null });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('of a transaction request says so, with no money where none was named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
    const request = { accountId: 'ACC', bankId: 'B2', transactionRequestType: 'T', to: {} };
    await fixture.ask(AskForPayment, { input: { ...request, idempotencyKey: 'k1' } });
    await fixture.ask(AskForPayment, { input: { ...request, value: { amount: '3' }, idempotencyKey: 'k2' } });
    const [first, second] = [
      await fixture.ask(WholePayment, { key: 'k1' }),
      await fixture.ask(WholePayment, { key: 'k2' }),
    ];
    expect(first.data?.payment).toMatchObject({
      state: 'DONE',
      operation: 'putTransactionsRequestAccount',
      bankId: 'B2',
      value: null,
    });
    expect(second.data?.payment?.value).toEqual({ currency: null, amount: '3' });
    expect(fixture.bank.calls).toHaveLength(2);
  });

  test('belongs to its caller: nobody else sees it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(PayForPayment, { input });
    for (const other of [{ 'Auth-ID': 'other' }, { 'Auth-Provider-Name': 'other' }]) {
      expect(await fixture.ask(WholePayment, key, { ...credentials, ...other })).toEqual({
        data: { payment: null },
      });
    }
    expect((await fixture.ask(WholePayment, key)).data?.payment?.state).toBe('DONE');
  });

  test('is not denied to its caller with another subscription key, such as a renewed one', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(PayForPayment, { input });
    const renewed = { ...credentials, 'Ocp-Apim-Subscription-Key': 'renewed' };
    const answers = [
      await fixture.ask(WholePayment, key, renewed),
      await fixture.ask(PayForPayment, { input }, renewed),
    ];
    expect(answers.map(failuresOf)).toEqual([
      ['payment IDEMPOTENCY_KEY_REUSED'],
      ['makeTransaction IDEMPOTENCY_KEY_REUSED'],
    ]);
    for (const { errors } of answers)
      expect(errors?.[0]?.message).toMatch(/another subscription key.*may have been executed/);
    const unused = await fixture.ask(WholePayment, { key: 'unused' }, renewed);
    expect(unused).toEqual({ data: { payment: null } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('holds for whoever asks twice at once: one is sent', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    const results = await Promise.all(
      Array.from({ length: 10 }, () => fixture.ask(PayForPayment, { input })),
    );
    expect(fixture.bank.calls).toHaveLength(1);
    const sent = results.filter(({ data }) => data?.makeTransaction?.replayed === false);
    expect(sent).toHaveLength(1);
    for (const { data, errors } of results) {
      if (data?.makeTransaction === null)
        expect(errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_IN_PROGRESS');
    }
  });
});

describe('the audit log', () => {
  test('has one line for the end of a payment, however often it is asked for, and no credential, key or text of it', async () => {
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
    for (const secret of [
      ...Object.values(credentials),
      'the-idempotency-key',
      'the-description',
      'the-answer',
    ])
      expect(written).not.toContain(secret);
    const log = fixture.bankql.log.join('');
    expect(log).toContain('postMakeTransaction');
    for (const secret of [...Object.values(credentials), 'the-idempotency-key', 'ACC'])
      expect(log).not.toContain(secret);
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
});
