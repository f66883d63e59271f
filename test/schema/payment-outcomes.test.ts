import { describe, expect, test } from 'vitest';
import { GatewayAnswers } from '../../src/bank/gateway-answers.ts';
import { createTestBankql } from '../support/bankql.ts';
import { endedIn, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { type Reply, startRecordingBank } from '../support/recording-bank.ts';
import { requested } from '../support/requested.ts';
import { closedTcpGate } from '../support/tcp-gate.ts';

/**
 * The outcomes of a payment in GraphQL, after one answer of each kind from the bank.
 * test/payments/answer/what-an-answer-proves.test.ts tests all other answers, and
 * test/payments/answer-lost-late-or-unreadable.test.ts sends most of them over a socket.
 */

const input = 'accountId: "ACC", to: { accountId: "TO" }, idempotencyKey: "key"';
const kinds = {
  makeTransaction: {
    document: `mutation { makeTransaction(input: { ${input}, value: { amount: "1" } }) { replayed } }`,
    operation: 'postMakeTransaction',
    accepted: () => ({}),
  },
  putTransactionRequest: {
    document: `mutation { putTransactionRequest(input: { ${input}, transactionRequestType: "T" }) { replayed } }`,
    operation: 'putTransactionsRequestAccount',
    accepted: requested,
  },
};
const recorded = '{ payment(idempotencyKey: "key") { state trackId code: failureCode operation } }';

const secret = 'the word of the bank';
const unknowns: readonly (readonly [string, Reply | 'reset' | 'hang', number | undefined])[] = [
  ['202', { status: 202, body: { status: 'ACCEPTED' } }, 202],
  ['a word for later', { body: { status: 'PDNG' } }, 200],
  [
    '401 of a bank that wants a confirmation',
    { status: 401, body: { code: 'SCA_REQUIRED', message: secret } },
    401,
  ],
  ['401 that leads to the payment', { status: 401, headers: { Location: '/payments/T' } }, 401],
  ['another word', { body: { status: 'KO', message: secret } }, 200],
  ['403 of a firewall', { status: 403, body: `<html>${secret}</html>` }, 403],
  ['a refusal in words that bankql does not know', { status: 422, body: { message: secret } }, 422],
  ['429', { status: 429, body: secret }, 429],
  ['500', { status: 500, body: secret }, 500],
  ['a redirect', { status: 307, headers: { Location: '/elsewhere' } }, 307],
  ['a reset', 'reset', undefined],
  ['silence', 'hang', undefined],
];

describe.each(Object.entries(kinds))('%s', (field, { document, operation, accepted }) => {
  test.each([
    [400, 'BANK_REJECTED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
  ])('that the bank answers with %i is rejected as %s, and stays rejected', async (status, code) => {
    await using fixture = await startBankqlFixture();
    const message = 'The account is closed';
    fixture.bank.otherwise({ status, body: { code: 'INSUFFICIENT_FUNDS', message } });
    const first = await fixture.ask(document);
    const trackId = fixture.bank.calls[0]?.headers['track-id'];
    fixture.bank.otherwise((call) => ({ body: accepted(call) }));
    const second = await fixture.ask(document);

    for (const { data, errors } of [first, second]) {
      expect(data).toEqual({ [field]: null });
      expect(errors).toMatchObject([
        {
          path: [field],
          message: expect.stringContaining(message),
          extensions: { code, status, operation, trackId, retryable: false },
        },
      ]);
    }
    expect(second.errors?.[0]?.message).toBe(first.errors?.[0]?.message);
    expect(fixture.bank.calls).toHaveLength(1);
    const { data } = await fixture.ask(recorded);
    expect(data).toEqual({ payment: { state: 'REJECTED', trackId, code, operation } });
    expect(endedIn(fixture.bankql)).toMatchObject([{ state: 'REJECTED', code, status, trackId, operation }]);
  });

  test('that the bank answers with 401 leaves no record, so its key can be used again', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ status: 401, body: { message: 'Unauthorized' } });
    for (const calls of [1, 2]) {
      const { data, errors } = await fixture.ask(document);
      expect(data).toEqual({ [field]: null });
      expect(errors).toMatchObject([
        { extensions: { code: 'UNAUTHENTICATED', status: 401, operation, retryable: false } },
      ]);
      expect(fixture.bank.calls).toHaveLength(calls);
      expect((await fixture.ask(recorded)).data).toEqual({ payment: null });
    }
    fixture.bank.otherwise((call) => ({ body: accepted(call) }));
    expect((await fixture.ask(document)).data).toEqual({ [field]: { replayed: false } });
    expect(fixture.bank.calls).toHaveLength(3);
    const ends = endedIn(fixture.bankql).map(({ state, status }) => `${state} ${status}`);
    expect(ends).toEqual(['RELEASED 401', 'RELEASED 401', 'DONE 200']);
  });

  test('that the bank answers with the same 401 as a read leaves no record, in any language', async () => {
    await using fixture = await startBankqlFixture();
    const says = (id: string, message: string) => ({
      status: 401,
      body: { requestId: id, code: 'LOGIN-1', message },
    });
    fixture.bank.otherwise(says('r-1', 'Η σύνδεση έληξε στις 10:00'));
    expect(failuresOf(await fixture.ask('{ bank { branches { totalCount } } }'))).toEqual([
      'bank.branches UNAUTHENTICATED',
    ]);
    fixture.bank.otherwise(says('r-2', 'Η σύνδεση έληξε στις 10:05'));
    expect((await fixture.ask(document)).errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
    expect((await fixture.ask(recorded)).data).toEqual({ payment: null });
    fixture.bank.otherwise(says('r-3', 'Η πληρωμή εκτελέστηκε στις 10:05'));
    expect((await fixture.ask(document)).errors).toMatchObject([{ extensions: { code: 'OUTCOME_UNKNOWN' } }]);
    expect((await fixture.ask(document)).errors).toMatchObject([{ extensions: { code: 'OUTCOME_UNKNOWN' } }]);
    expect(fixture.bank.calls).toHaveLength(3);
  });

  const refusedKey = {
    statusCode: 401,
    message:
      'Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API.',
  };
  const quota = {
    statusCode: 403,
    message: 'Out of call volume quota. Quota will be replenished in 00:07:11.',
  };
  const gateways = (hasOperatorKey: boolean) =>
    new GatewayAnswers({ hasOperatorKey, notSent: ['Slow down, please. Wait # s.', 'Key expired'] });
  const waits = { retryable: true, retryAfter: 60 };

  // If a client took one of these for the bank's refusal, it would pay again with a new key.
  test.each<[string, Reply, boolean, { readonly code: string; readonly [detail: string]: unknown }]>([
    [
      'over its quota',
      { status: 403, body: quota, headers: { 'Retry-After': '431' } },
      false,
      { code: 'RATE_LIMITED', ...waits },
    ],
    [
      'over its rate',
      { status: 429, body: { message: 'API rate limit exceeded' } },
      false,
      { code: 'RATE_LIMITED', ...waits, retryAfter: 1 },
    ],
    [
      'over a limit in the operator’s words',
      { status: 429, body: 'Slow down, please. Wait 12 s.', headers: { 'Retry-After': '12' } },
      false,
      { code: 'RATE_LIMITED', ...waits, retryAfter: 12 },
    ],
    [
      'without the caller’s key',
      { status: 401, body: refusedKey },
      false,
      { code: 'UNAUTHENTICATED', retryable: false },
    ],
    [
      'with an old key, in the operator’s words',
      { status: 403, body: { error: 'Key expired' } },
      false,
      { code: 'UNAUTHENTICATED', retryable: false },
    ],
    [
      'without the operator’s key',
      { status: 401, body: refusedKey },
      true,
      { code: 'BANK_UNAVAILABLE', ...waits },
    ],
  ])(
    'that a gateway refuses %s leaves the key free, and the error says so',
    async (_, reply, hasOperatorKey, details) => {
      await using fixture = await startBankqlFixture({ bankOptions: { gateways: gateways(hasOperatorKey) } });
      fixture.bank.otherwise(reply);
      const { errors } = await fixture.ask(document);
      expect(errors).toMatchObject([
        {
          message: expect.stringMatching(
            /[^.]\. Nothing was executed: the same idempotency key may be used again\.$/,
          ),
          extensions: { ...details, operation, status: reply.status, idempotencyKey: 'key' },
        },
      ]);
      expect(errors?.[0]?.extensions).not.toHaveProperty('trackId');
      expect((await fixture.ask(recorded)).data).toEqual({ payment: null });
      fixture.bank.otherwise((call) => ({ body: accepted(call) }));
      expect((await fixture.ask(document)).data).toEqual({ [field]: { replayed: false } });
      expect(fixture.bank.calls).toHaveLength(2);
      const ends = endedIn(fixture.bankql).map(({ state, code, status }) => [state, code, status]);
      expect(ends).toEqual([
        ['RELEASED', details.code, reply.status],
        ['DONE', null, 200],
      ]);
    },
  );

  test.each(unknowns)('that ends in %s is never sent again', async (name, reply, status) => {
    await using fixture = await startBankqlFixture(
      reply === 'hang' ? { bankOptions: { paymentTimeoutMs: 250 } } : {},
    );
    fixture.bank.otherwise(() => reply);
    const first = await fixture.ask(document);
    const trackId = fixture.bank.calls[0]?.headers['track-id'];
    expect(trackId).toBeDefined();
    fixture.bank.otherwise((call) => ({ body: accepted(call) }));
    const second = await fixture.ask(document);

    const code = 'OUTCOME_UNKNOWN';
    for (const result of [first, second]) {
      expect(result.data).toEqual({ [field]: null });
      expect(result.errors).toMatchObject([
        { path: [field], extensions: { code, operation, trackId, idempotencyKey: 'key', retryable: false } },
      ]);
      expect(result.errors?.[0]?.extensions.status).toBe(status);
      expect(JSON.stringify(result)).not.toContain(secret);
      expect(
        result.errors?.[0]?.message.startsWith(
          'The bank accepted the payment, and has not said that it was executed.',
        ),
      ).toBe(name === '202' || name === 'a word for later');
    }
    expect(fixture.bank.calls).toHaveLength(1);
    const { data } = await fixture.ask(recorded);
    expect(data).toEqual({ payment: { state: 'UNKNOWN', trackId, code, operation } });
    expect(endedIn(fixture.bankql)).toMatchObject([{ state: 'UNKNOWN', code, trackId }]);
  });

  test('that was not sent can be repeated with its key, and is then made once', async () => {
    await using bank = await startRecordingBank();
    await using gate = await closedTcpGate(bank.url);
    await using bankql = await createTestBankql({ bankUrl: gate.url });
    bank.otherwise((call) => ({ body: accepted(call) }));

    for (const _ of [1, 2]) {
      expect((await bankql.ask(document)).errors).toMatchObject([
        { path: [field], extensions: { code: 'BANK_UNAVAILABLE', idempotencyKey: 'key', retryable: true } },
      ]);
      expect((await bankql.ask(recorded)).data).toEqual({ payment: null });
    }
    expect(bank.calls).toEqual([]);

    await gate.open();
    for (const replayed of [false, true])
      expect((await bankql.ask(document)).data).toEqual({ [field]: { replayed } });
    expect(bank.calls).toHaveLength(1);
    expect(endedIn(bankql).map(({ state }) => state)).toEqual(['NOT_SENT', 'NOT_SENT', 'DONE']);
  });

  test('needs the credentials of the caller, and leaves no record without them', async () => {
    await using fixture = await startBankqlFixture();
    const headers = { 'Ocp-Apim-Subscription-Key': 'key' };
    expect(failuresOf(await fixture.ask(document, {}, headers))).toEqual([`${field} MISSING_CREDENTIALS`]);
    expect(failuresOf(await fixture.ask(recorded, {}, headers))).toEqual(['payment MISSING_CREDENTIALS']);
    expect(fixture.bank.calls).toEqual([]);
    expect(fixture.bankql.audit).toEqual([]);
    expect((await fixture.ask(recorded)).data).toEqual({ payment: null });
  });
});

test.each([
  ['an empty body', () => '', null],
  ['its list', requested, [{ status: 'INITIATED' }]],
  ['a short text', () => 'OK', [{ status: 'OK' }]],
] as const)(
  'a transaction request that is answered with %s is DONE',
  async (_, bodyOf, transactionRequests) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise((call) => ({ body: bodyOf(call) }));
    const document = kinds.putTransactionRequest.document.replace(
      '{ replayed }',
      '{ replayed transactionRequests { status } }',
    );
    for (const replayed of [false, true])
      expect(await fixture.ask(document)).toEqual({
        data: { putTransactionRequest: { replayed, transactionRequests } },
      });
    expect(fixture.bank.calls).toHaveLength(1);
  },
);
