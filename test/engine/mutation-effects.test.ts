import { expect, test } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { postMakeTransaction } from '../../src/contract/transaction.ts';
import { MutationEffects } from '../../src/engine/context.ts';
import { BankqlError, type ErrorCode, type ErrorDetails } from '../../src/errors.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { bankDefaults } from '../support/bankql.ts';

const credentials = { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' };
const payment = {
  idempotencyKey: 'key-1',
  input: { ids: { bankId: 'BANK', accountId: 'A' }, body: { from: {}, to: {} }, credentials },
};

/** What an answer without data tells of a payment that failed: whoever reads that its key is free may pay again. */

async function toldAfter(error: Error) {
  const bank = createBankClient({ ...bankDefaults, baseUrl: 'http://bank.test' });
  const store = await createMemoryStore({ retentionMs: 1000 });
  const service = createPaymentService({ bank, store, leaseMs: 1000, audit: () => {} });
  const effects = new MutationEffects();
  const payments = effects.payments({ ...service, pay: () => Promise.reject(error) });
  const paying = payments.pay(postMakeTransaction, payment);
  await expect(paying).rejects.toBe(error);
  await effects.settled();
  await bank.close();
  return effects.extensions;
}

const known = { operation: 'postMakeTransaction', idempotencyKey: 'key-1' };

test.each<[ErrorCode, string, ErrorDetails?]>([
  ['BANK_UNAVAILABLE', 'NOT_SENT'],
  ['BANK_TIMEOUT', 'NOT_SENT'],
  ['UNAUTHENTICATED', 'NOT_SENT', { status: 401 }],
  ['IDEMPOTENCY_IN_PROGRESS', 'PENDING'],
  ['OUTCOME_UNKNOWN', 'UNKNOWN', { status: 503 }],
  ['BANK_REJECTED', 'REJECTED'],
  ['FORBIDDEN', 'REJECTED', { status: 403 }],
])('%s: %s', async (code, state, details) => {
  const told = await toldAfter(new BankqlError(code, 'It failed.', details));
  expect(told).toEqual({ ...known, state, paymentCode: code });
});

test.each<[ErrorCode]>([
  ['STATE_UNAVAILABLE'],
  ['OVERLOADED'],
  ['RATE_LIMITED'],
  ['IDEMPOTENCY_KEY_REUSED'],
  ['BAD_USER_INPUT'],
])('%s: nothing is told of the key, with which an earlier request may have paid', async (code) => {
  expect(await toldAfter(new BankqlError(code, 'It failed.'))).toEqual({ ...known, paymentCode: code });
});

test('what should not happen leaves it unknown', async () => {
  expect(await toldAfter(new Error('bug'))).toEqual({ ...known, state: 'UNKNOWN', paymentCode: 'INTERNAL' });
});
