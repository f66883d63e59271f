import { expect, test } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import type { Credentials } from '../../src/bank/credentials.ts';
import { postMakeTransaction } from '../../src/contract/transaction.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { bankDefaults } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

/** A payment with a new key is admitted before it begins, since it counts against its caller's limit. */

const given = {
  idempotencyKey: 'key',
  bankId: 'BANK',
  credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' },
  description: 'rent',
};

const intentOf = ({ idempotencyKey, bankId, credentials, description }: typeof given) => ({
  idempotencyKey,
  input: {
    ids: { bankId: bankId, accountId: 'A' },
    body: { from: {}, to: {}, description },
    credentials,
  },
});

async function start(baseUrl: string) {
  const bank = createBankClient({ ...bankDefaults, baseUrl });
  const store = await createMemoryStore({ retentionMs: 86_400_000 });
  let records = 0;
  // Each record asks which request it belongs to.
  const requestId = () => `request ${++records}`;
  const asked: string[] = [];
  /** Why the next one is not admitted. */
  const refusals: Error[] = [];
  async function admit({ authId }: Credentials, operation: string) {
    asked.push(`${authId} ${operation}`);
    const refusal = refusals.pop();
    if (refusal !== undefined) throw refusal;
  }
  const payments = createPaymentService({ bank, store, requestId, admit });
  return {
    payments,
    store,
    asked,
    refusals,
    records: () => records,
    async [Symbol.asyncDispose]() {
      await payments.idle();
      await store.close();
      await bank.close();
    },
  };
}

/** The reasons for which a payment is refused before anything is stored, in the order in which they are found. */
const faults: readonly (readonly [code: string, words: string, change: object])[] = [
  ['BAD_USER_INPUT', 'idempotencyKey', { idempotencyKey: 'schlüssel' }],
  ['BAD_USER_INPUT', 'BANK_ID', { bankId: 'a/b' }],
  ['MISSING_CREDENTIALS', 'Auth-ID', { credentials: { ...given.credentials, authId: null } }],
  ['BAD_USER_INPUT', 'description', { description: 'x'.repeat(513) }],
];

test.each(faults.map((fault, n) => [...fault.slice(0, 2), n] as [string, string, number]))(
  'is refused before it is asked for: %s (%s), whatever else is wrong that is found later',
  async (code, words, n) => {
    await using service = await start('http://bank.test');
    const intent = intentOf(Object.assign({}, given, ...faults.slice(n).map(([, , change]) => change)));
    const refused = await service.payments.pay(postMakeTransaction, intent).catch((error) => error);
    expect(refused).toMatchObject({ message: expect.stringContaining(words), extensions: { code } });
    await service.store.close();
    await expect(service.payments.pay(postMakeTransaction, intent)).rejects.toEqual(refused);
    expect(service.asked).toEqual([]);
  },
);

test('is asked for until it begins and never again, and a refused one leaves no record', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise({ body: {} });
  await using service = await start(bank.url);
  const intent = intentOf(given);
  const refusal = new Error('not now');
  service.refusals.push(refusal);
  await expect(service.payments.pay(postMakeTransaction, intent)).rejects.toBe(refusal);
  expect([service.records(), await service.store.search({})]).toEqual([0, []]);
  expect(bank.calls).toEqual([]);
  await service.payments.pay(postMakeTransaction, intent);
  const twice = ['a postMakeTransaction', 'a postMakeTransaction'];
  expect(service.asked).toEqual(twice);
  service.refusals.push(refusal);
  expect(await service.payments.pay(postMakeTransaction, intent)).toMatchObject({ replayed: true });
  // The key is known, whatever it was used for.
  const other = service.payments.pay(postMakeTransaction, intentOf({ ...given, description: 'another' }));
  await expect(other).rejects.toMatchObject({ extensions: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  expect(service.asked).toEqual(twice);
  expect(bank.calls.length).toBe(1);
});

test('fails before it is asked for while the store is away', async () => {
  await using service = await start('http://bank.test');
  await service.store.close();
  const refused = await service.payments.pay(postMakeTransaction, intentOf(given)).catch((error) => error);
  expect(refused).toMatchObject({ extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key' } });
  expect(service.asked).toEqual([]);
});
