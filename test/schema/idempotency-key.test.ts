import { describe, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { requested } from '../support/requested.ts';

const transfer = {
  accountId: 'ACC',
  bankId: 'B1',
  to: { bankId: 'TB', accountId: 'TA' },
  value: { amount: '5.00', currency: 'EUR' },
  description: 'd',
  idempotencyKey: 'key',
};
const request = { ...transfer, viewId: 'V', transactionRequestType: 'T' };

async function start() {
  const fixture = await startBankqlFixture();
  fixture.bank.otherwise((call) => ({
    body: call.method === 'PUT' ? requested(call) : {},
  }));
  const mutate = (field: string, type: string) => (input: object) =>
    fixture.ask<Record<string, { replayed: boolean; payment: object } | null>, object>(
      `mutation ($input: ${type}!) { ${field}(input: $input) { replayed payment { trackId } } }`,
      { input },
    );
  return {
    ...fixture,
    makeTransaction: mutate('makeTransaction', 'MakeTransactionInput'),
    putTransactionRequest: mutate('putTransactionRequest', 'PutTransactionRequestInput'),
  };
}

describe('an idempotency key', () => {
  test('is required in the input; the header Idempotency-Key does not replace it', async () => {
    await using fixture = await startBankqlFixture();
    const { idempotencyKey, ...input } = transfer;
    const document =
      'mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }';
    const headers = { ...credentials, 'Idempotency-Key': idempotencyKey };
    const { errors } = await fixture.ask(document, { input }, headers);
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
    expect(fixture.bank.calls).toEqual([]);
  });

  test('identifies a payment by its REST request: a default that is written out changes nothing', async () => {
    await using fixture = await start();
    const least = { accountId: 'ACC', to: { accountId: 'x' }, value: { amount: '1' }, idempotencyKey: 'key' };
    const first = await fixture.makeTransaction(least);
    const again = await fixture.makeTransaction({ ...least, bankId: 'BANK', description: null });
    expect(again.data).toEqual({ makeTransaction: { ...first.data?.makeTransaction, replayed: true } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  // The line and the body of its request identify a payment. written-bodies.json shows that the body contains each input.
  test.each([
    ['makeTransaction', transfer, { bankId: 'B2' }],
    ['makeTransaction', transfer, { accountId: 'OTHER' }],
    ['makeTransaction', transfer, { to: { ...transfer.to, accountId: 'x' } }],
    ['makeTransaction', transfer, { to: { accountId: 'TA' } }],
    ['makeTransaction', transfer, { value: { ...transfer.value, amount: '5.0' } }],
    ['makeTransaction', transfer, { value: { amount: '5.00' } }],
    ['makeTransaction', transfer, { description: null }],
    ['makeTransaction', transfer, { challengeType: 'C' }],
    ['putTransactionRequest', request, { viewId: 'W' }],
    ['putTransactionRequest', request, { transactionRequestType: 'U' }],
    ['putTransactionRequest', request, { value: null }],
    ['putTransactionRequest', request, { challengeType: 'C' }],
  ] as const)('of %s is refused for another payment: %#', async (field, input, change) => {
    await using fixture = await start();
    await fixture[field](input);
    const result = await fixture[field]({ ...input, ...change });
    expect(result.data).toEqual({ [field]: null });
    expect(result.errors).toMatchObject([
      {
        message: expect.stringMatching(/ask payment\(idempotencyKey\).*before you pay under another key/),
        path: [field],
        extensions: { code: 'IDEMPOTENCY_KEY_REUSED', idempotencyKey: 'key', retryable: false },
      },
    ]);
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('is shared by both kinds of payment', async () => {
    await using fixture = await start();
    await fixture.putTransactionRequest(request);
    expect(failuresOf(await fixture.makeTransaction(transfer))).toEqual([
      'makeTransaction IDEMPOTENCY_KEY_REUSED',
    ]);
    expect(fixture.bank.calls).toHaveLength(1);
  });
});
