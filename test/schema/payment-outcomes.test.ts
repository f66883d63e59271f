import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { createTestBankql } from '../support/bankql.ts';
import { endedIn, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { type Reply, startRecordingBank } from '../support/recording-bank.ts';
import { closedTcpGate } from '../support/tcp-gate.ts';

const PayOnce = graphql(`
  mutation PayOnce($input: MakeTransactionInput!) {
    makeTransaction(input: $input) { replayed payment { trackId transactionId } }
  }
`);

const AskOnce = graphql(`
  mutation AskOnce($input: PutTransactionRequestInput!) {
    putTransactionRequest(input: $input) { replayed payment { trackId } }
  }
`);

const AskAndRead = graphql(`
  mutation AskAndRead($input: PutTransactionRequestInput!) {
    putTransactionRequest(input: $input) { replayed transactionRequests { status } }
  }
`);

const PaymentEnd = graphql(`
  query PaymentEnd($key: String!) { payment(idempotencyKey: $key) { state trackId code operation } }
`);

const transfer = { accountId: 'ACC', to: { accountId: 'TO' }, value: { amount: '1' }, idempotencyKey: 'key' };
const request = {
  accountId: 'ACC',
  transactionRequestType: 'T',
  to: { accountId: 'TO' },
  idempotencyKey: 'key',
};

const kinds = [
  ['makeTransaction', PayOnce, transfer, 'postMakeTransaction'],
  ['putTransactionRequest', AskOnce, request, 'putTransactionsRequestAccount'],
] as const;

/** What the bank answers if it takes the payment. */
const accepted = {
  makeTransaction: {},
  putTransactionRequest: { 'transaction-requests': [{ status: 'INITIATED' }] },
};

const secret = 'the word of the bank';
const rejections: readonly (readonly [number, string])[] = [
  [400, 'BANK_REJECTED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [405, 'BANK_REJECTED'],
  [413, 'BANK_REJECTED'],
  [415, 'BANK_REJECTED'],
  [422, 'BANK_REJECTED'],
  [402, 'BANK_REJECTED'],
];

const unknowns: readonly (readonly [string, Reply | 'reset' | 'hang', number | undefined])[] = [
  ['202', { status: 202, body: { status: 'ACCEPTED' } }, 202],
  ['a word for later', { body: { status: 'PDNG' } }, 200],
  ['another word', { body: { status: 'KO', message: secret } }, 200],
  ['400 of a proxy', { status: 400, body: `<html>${secret}</html>` }, 400],
  ['403 of a firewall', { status: 403, body: `<html>${secret}</html>` }, 403],
  ['404 without a body', { status: 404, body: '' }, 404],
  [
    '401 for a payment that was executed',
    { status: 401, body: { message: `Already executed: ${secret}` } },
    401,
  ],
  ['a failure of a repetition', { body: { status: 'FAILED', reason: 'duplicate of T-9' } }, 200],
  ['402', { status: 402, body: secret }, 402],
  ['408', { status: 408, body: secret }, 408],
  ['409', { status: 409, body: secret }, 409],
  ['410', { status: 410, body: secret }, 410],
  ['425', { status: 425, body: secret }, 425],
  ['429', { status: 429, body: secret }, 429],
  ['500', { status: 500, body: secret }, 500],
  ['502', { status: 502, body: secret }, 502],
  ['503', { status: 503, body: secret }, 503],
  ['504', { status: 504, body: secret }, 504],
  ['a redirect', { status: 307, headers: { Location: '/elsewhere' } }, 307],
  ['no JSON', { body: `<p>${secret}` }, 200],
  ['a cut answer', { body: '{"id": "TX' }, 200],
  ['two statuses', { body: '{"id":"TX","status":"COMPLETED","status":"FAILED"}' }, 200],
  ['403 with two statuses', { status: 403, body: '{"status":"COMPLETED","status":"FAILED"}' }, 403],
  ['a page', { body: `<html>${secret}</html>`, headers: { 'Content-Type': 'text/html' } }, 200],
  ['a long text', { body: secret.repeat(4) }, 200],
  ['an error alone', { body: { error: secret } }, 200],
  ['a refusal in words that bankql does not know', { status: 422, body: { message: secret } }, 422],
  ['a refusal beside an id', { body: { id: 'TX', is_rejected: true } }, 200],
  ['a reset', 'reset', undefined],
  ['silence', 'hang', undefined],
];

describe.each(kinds)('%s', (field, document, input, operation) => {
  const ask = document as typeof PayOnce;
  const variables = { input } as { input: typeof transfer };

  test.each(rejections)(
    'that the bank answers with %i is rejected as %s, and stays so',
    async (status, code) => {
      await using fixture = await startBankqlFixture();
      fixture.bank.otherwise({ status, body: { code: 'INSUFFICIENT_FUNDS', message: secret } });
      const first = await fixture.ask(ask, variables);
      const trackId = fixture.bank.calls[0]?.headers['track-id'];
      fixture.bank.otherwise({ body: accepted[field] });
      const second = await fixture.ask(ask, variables);

      for (const { data, errors } of [first, second]) {
        expect(data).toEqual({ [field]: null });
        expect(errors).toMatchObject([
          { path: [field], extensions: { code, status, operation, trackId, retryable: false } },
        ]);
        expect(errors?.[0]?.message).toContain(secret);
      }
      expect(second.errors?.[0]?.message).toBe(first.errors?.[0]?.message);
      expect(fixture.bank.calls).toHaveLength(1);
      const { data } = await fixture.ask(PaymentEnd, { key: 'key' });
      expect(data).toEqual({ payment: { state: 'REJECTED', trackId, code, operation } });
      expect(endedIn(fixture.bankql)).toMatchObject([
        { state: 'REJECTED', code, status, trackId, operation },
      ]);
    },
  );

  test('that the bank answers with 401 leaves no record: its key is free for credentials that are accepted', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ status: 401, body: { message: secret } });
    for (const calls of [1, 2]) {
      const { data, errors } = await fixture.ask(ask, variables);
      expect(data).toEqual({ [field]: null });
      expect(errors).toMatchObject([
        { extensions: { code: 'UNAUTHENTICATED', status: 401, operation, retryable: false } },
      ]);
      expect(fixture.bank.calls).toHaveLength(calls);
      expect((await fixture.ask(PaymentEnd, { key: 'key' })).data).toEqual({ payment: null });
    }
    fixture.bank.otherwise({ body: accepted[field] });
    expect((await fixture.ask(ask, variables)).data).toMatchObject({ [field]: { replayed: false } });
    expect(fixture.bank.calls).toHaveLength(3);
    expect(endedIn(fixture.bankql).map(({ state, status }) => [state, status])).toEqual([
      ['RELEASED', 401],
      ['RELEASED', 401],
      ['DONE', 200],
    ]);
  });

  test.each(unknowns)('that ends in %s is never sent again', async (name, reply, status) => {
    await using fixture = await startBankqlFixture(
      reply === 'hang' ? { bankOptions: { paymentTimeoutMs: 250 } } : {},
    );
    fixture.bank.otherwise(() => reply);
    const first = await fixture.ask(ask, variables);
    const trackId = fixture.bank.calls[0]?.headers['track-id'];
    fixture.bank.otherwise({ body: accepted[field] });
    const second = await fixture.ask(ask, variables);

    for (const result of [first, second]) {
      expect(result.data).toEqual({ [field]: null });
      expect(result.errors).toMatchObject([
        {
          path: [field],
          extensions: {
            code: 'OUTCOME_UNKNOWN',
            operation,
            trackId,
            idempotencyKey: 'key',
            retryable: false,
          },
        },
      ]);
      expect(result.errors?.[0]?.extensions.status).toBe(status);
      expect(JSON.stringify(result)).not.toContain(secret);
      const saysAccepted = /^The bank accepted the payment, and has not said that it was executed\./;
      if (name === '202' || name === 'a word for later')
        expect(result.errors?.[0]?.message).toMatch(saysAccepted);
      else expect(result.errors?.[0]?.message).not.toMatch(saysAccepted);
    }
    expect(trackId).toBeDefined();
    expect(fixture.bank.calls).toHaveLength(1);
    const { data } = await fixture.ask(PaymentEnd, { key: 'key' });
    expect(data).toEqual({ payment: { state: 'UNKNOWN', trackId, code: 'OUTCOME_UNKNOWN', operation } });
    expect(endedIn(fixture.bankql)).toMatchObject([{ state: 'UNKNOWN', code: 'OUTCOME_UNKNOWN', trackId }]);
  });

  test('that was never sent may be tried again with its key, and then is made once', async () => {
    await using bank = await startRecordingBank();
    await using gate = await closedTcpGate(bank.url);
    await using bankql = await createTestBankql({ bankUrl: gate.url });
    bank.otherwise({ body: accepted[field] });

    for (const _ of [1, 2]) {
      const refused = await bankql.ask(ask, variables);
      expect(refused.errors).toMatchObject([
        { path: [field], extensions: { code: 'BANK_UNAVAILABLE', retryable: true } },
      ]);
      expect((await bankql.ask(PaymentEnd, { key: 'key' })).data).toEqual({ payment: null });
    }
    expect(bank.calls).toEqual([]);

    await gate.open();
    const paid = await bankql.ask(ask, variables);
    const again = await bankql.ask(ask, variables);
    expect(paid.data).toMatchObject({ [field]: { replayed: false } });
    expect(again.data).toMatchObject({ [field]: { replayed: true } });
    expect(bank.calls).toHaveLength(1);
    expect(endedIn(bankql).map(({ state }) => state)).toEqual(['NOT_SENT', 'NOT_SENT', 'DONE']);
  });

  test('needs its caller, and leaves no record without', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: accepted[field] });
    const headers = { 'Ocp-Apim-Subscription-Key': 'key' };
    expect(failuresOf(await fixture.ask(ask, variables, headers))).toEqual([`${field} MISSING_CREDENTIALS`]);
    expect(failuresOf(await fixture.ask(PaymentEnd, { key: 'key' }, headers))).toEqual([
      'payment MISSING_CREDENTIALS',
    ]);
    expect(fixture.bank.calls).toEqual([]);
    expect(fixture.bankql.audit).toEqual([]);
    expect((await fixture.ask(ask, variables)).data).toMatchObject({ [field]: { replayed: false } });
  });
});

describe('putTransactionRequest', () => {
  test.each([
    ['an empty body', '', null],
    ['its list', '{"transaction-requests":[{"status":"INITIATED"}]}', [{ status: 'INITIATED' }]],
    ['a short text', 'OK', [{ status: 'OK' }]],
  ])('that is answered with %s is done, and shows what there is', async (_, body, transactionRequests) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body });
    for (const replayed of [false, true]) {
      const { data, errors } = await fixture.ask(AskAndRead, { input: request });
      expect(errors).toBeUndefined();
      expect(data).toEqual({ putTransactionRequest: { replayed, transactionRequests } });
    }
    expect(fixture.bank.calls).toHaveLength(1);
  });
});
