import { expect, test } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { postMakeTransaction } from '../../src/contract/transaction.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { bankDefaults } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

/** Whether a payment is known is asked before it counts against its caller's limit; `pay` follows. */

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
  const payments = createPaymentService({ bank, store, requestId });
  return {
    payments,
    store,
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
  'is refused as the payment is: %s (%s), whatever else is wrong that is found later',
  async (code, words, n) => {
    await using service = await start('http://bank.test');
    const intent = intentOf(Object.assign({}, given, ...faults.slice(n).map(([, , change]) => change)));
    const asked = await service.payments.isKnown(postMakeTransaction, intent).catch((error) => error);
    expect(asked).toMatchObject({ message: expect.stringContaining(words), extensions: { code } });
    await expect(service.payments.pay(postMakeTransaction, intent)).rejects.toEqual(asked);
    await service.store.close();
    await expect(service.payments.isKnown(postMakeTransaction, intent)).rejects.toEqual(asked);
  },
);

test('is known from its beginning on, and asking makes no record', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise({ body: {} });
  await using service = await start(bank.url);
  const intent = intentOf(given);
  expect(await service.payments.isKnown(postMakeTransaction, intent)).toBe(false);
  expect([service.records(), await service.store.search({}, Date.now())]).toEqual([0, []]);
  await service.payments.pay(postMakeTransaction, intent);
  expect(await service.payments.isKnown(postMakeTransaction, intent)).toBe(true);
  // The key is known, whatever it was used for.
  const other = intentOf({ ...given, description: 'another' });
  expect(await service.payments.isKnown(postMakeTransaction, other)).toBe(true);
  expect([service.records(), bank.calls.length]).toEqual([1, 1]);
});

test('fails as the payment does while the store is away', async () => {
  await using service = await start('http://bank.test');
  await service.store.close();
  const asked = await service.payments.isKnown(postMakeTransaction, intentOf(given)).catch((error) => error);
  expect(asked).toMatchObject({ extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key' } });
  await expect(service.payments.pay(postMakeTransaction, intentOf(given))).rejects.toEqual(asked);
});
