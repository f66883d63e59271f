import { describe, expect, it, vi } from 'vitest';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { endedIn, failuresOf, startFacade } from '../support/facade.ts';

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
    makeTransaction(input: $input) { trackId replayed }
  }
`);

const AskForPayment = graphql(`
  mutation AskForPayment($input: PutTransactionRequestInput!) {
    putTransactionRequest(input: $input) { trackId }
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

/** What the bank answers once it is let go. */
function held() {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { released, release };
}

describe('payment', () => {
  it('is null for a key that was never used, and costs no call', async () => {
    await using facade = await startFacade();
    expect(await facade.ask(WholePayment, { key: 'unused' })).toEqual({ data: { payment: null } });
    expect(facade.bank.calls).toEqual([]);
  });

  it('is PENDING while the bank has not answered, then DONE; the key is in progress meanwhile', async () => {
    const time = clock('2026-01-02T03:04:05.678Z');
    await using facade = await startFacade({ now: time.now });
    const { released, release } = held();
    facade.bank.otherwise(async () => {
      await released;
      return { body: { id: 'TX', status: 'BOOKED' } };
    });
    const paying = facade.ask(PayForPayment, { input });
    await vi.waitFor(() => expect(facade.bank.calls).toHaveLength(1));
    const trackId = facade.bank.calls[0]?.headers['track-id'];
    expect(facade.bankql.audit).toMatchObject([{ state: 'PENDING', trackId }]);
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
    expect(await facade.ask(WholePayment, key)).toEqual({ data: { payment: pending } });

    const meanwhile = await facade.ask(PayForPayment, { input });
    expect(meanwhile.errors).toMatchObject([
      { extensions: { code: 'IDEMPOTENCY_IN_PROGRESS', retryable: true, trackId, retryAfter: 1 } },
    ]);
    const other = await facade.ask(PayForPayment, { input: { ...input, description: 'other' } });
    expect(failuresOf(other)).toEqual(['makeTransaction IDEMPOTENCY_KEY_REUSED']);

    time.add(1000);
    release();
    expect(await paying).toEqual({ data: { makeTransaction: { trackId, replayed: false } } });
    expect(facade.bankql.audit.map(({ state }) => state)).toEqual(['PENDING', 'DONE']);
    expect(await facade.ask(WholePayment, key)).toEqual({
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
    expect(facade.bank.calls).toHaveLength(1);
  });

  it('is UNKNOWN once its lease has ended, and DONE when the answer comes after all', async () => {
    const time = clock('2026-01-02T03:04:05.678Z');
    await using facade = await startFacade({ now: time.now });
    const { released, release } = held();
    facade.bank.otherwise(async () => {
      await released;
      return { body: {} };
    });
    const paying = facade.ask(PayForPayment, { input });
    await vi.waitFor(() => expect(facade.bank.calls).toHaveLength(1));
    time.add(10_001);
    const lost = await facade.ask(WholePayment, key);
    expect(lost.data?.payment).toMatchObject({ state: 'UNKNOWN', code: 'OUTCOME_UNKNOWN' });
    expect(failuresOf(await facade.ask(PayForPayment, { input }))).toEqual([
      'makeTransaction OUTCOME_UNKNOWN',
    ]);
    release();
    expect((await paying).errors).toBeUndefined();
    expect((await facade.ask(WholePayment, key)).data?.payment).toMatchObject({ state: 'DONE', code: null });
    expect(facade.bank.calls).toHaveLength(1);
  });

  it('of a transaction request says so, with no money where none was named', async () => {
    await using facade = await startFacade();
    facade.bank.otherwise({ body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
    const request = { accountId: 'ACC', bankId: 'B2', transactionRequestType: 'T', to: {} };
    await facade.ask(AskForPayment, { input: { ...request, idempotencyKey: 'k1' } });
    await facade.ask(AskForPayment, { input: { ...request, value: { amount: '3' }, idempotencyKey: 'k2' } });
    const [first, second] = [
      await facade.ask(WholePayment, { key: 'k1' }),
      await facade.ask(WholePayment, { key: 'k2' }),
    ];
    expect(first.data?.payment).toMatchObject({
      state: 'DONE',
      operation: 'putTransactionsRequestAccount',
      bankId: 'B2',
      value: null,
    });
    expect(second.data?.payment?.value).toEqual({ currency: null, amount: '3' });
    expect(facade.bank.calls).toHaveLength(2);
  });

  it('belongs to its caller: nobody else sees it', async () => {
    await using facade = await startFacade();
    facade.bank.otherwise({ body: {} });
    await facade.ask(PayForPayment, { input });
    for (const other of [{ 'Auth-ID': 'other' }, { 'Auth-Provider-Name': 'other' }]) {
      expect(await facade.ask(WholePayment, key, { ...credentials, ...other })).toEqual({
        data: { payment: null },
      });
    }
    expect((await facade.ask(WholePayment, key)).data?.payment?.state).toBe('DONE');
  });

  it('holds for whoever asks twice at once: one is sent', async () => {
    await using facade = await startFacade();
    facade.bank.otherwise({ body: {} });
    const results = await Promise.all(Array.from({ length: 10 }, () => facade.ask(PayForPayment, { input })));
    expect(facade.bank.calls).toHaveLength(1);
    const sent = results.filter(({ data }) => data?.makeTransaction?.replayed === false);
    expect(sent).toHaveLength(1);
    for (const { data, errors } of results) {
      if (data?.makeTransaction === null)
        expect(errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_IN_PROGRESS');
    }
  });
});

describe('the audit log', () => {
  it('has one line for the end of a payment, however often it is asked for, and no credential, key or text of it', async () => {
    await using facade = await startFacade();
    facade.bank.otherwise({ body: { id: 'TX', note: 'the-answer' } });
    await facade.ask(PayForPayment, { input });
    await facade.ask(PayForPayment, { input });
    expect(endedIn(facade.bankql)).toEqual([
      expect.objectContaining({
        state: 'DONE',
        operation: 'postMakeTransaction',
        bankId: 'BANK',
        accountId: 'ACC',
        amount: '12345678901234567890.10',
        currency: 'EUR',
        trackId: facade.bank.calls[0]?.headers['track-id'],
        status: 200,
        code: null,
      }),
    ]);
    const written = JSON.stringify(facade.bankql.audit);
    for (const secret of [
      ...Object.values(credentials),
      'the-idempotency-key',
      'the-description',
      'the-answer',
    ])
      expect(written).not.toContain(secret);
    const log = facade.bankql.log.join('');
    expect(log).toContain('postMakeTransaction');
    for (const secret of [...Object.values(credentials), 'the-idempotency-key', 'ACC'])
      expect(log).not.toContain(secret);
  });

  it('groups the payments of one caller, and tells callers apart', async () => {
    await using facade = await startFacade();
    facade.bank.otherwise({ body: {} });
    await facade.ask(PayForPayment, { input });
    await facade.ask(PayForPayment, { input: { ...input, idempotencyKey: 'another' } });
    await facade.ask(PayForPayment, { input }, { ...credentials, 'Auth-ID': 'other' });
    const [first, second, third] = endedIn(facade.bankql).map(({ caller }) => caller);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
  });
});
