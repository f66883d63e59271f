import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { createTestBankql, testOptions } from '../support/bankql.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

test.each(['sends the payment', 'reads the answer'])(
  'a defect in the code that %s makes the payment UNKNOWN, and nothing is sent again',
  async (where) => {
    await using bank = await startRecordingBank();
    bank.otherwise({ body: { id: 'TX' } });
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    const sound = (await testOptions({ bankUrl: bank.url })).bank;
    const send: typeof sound.send = async (call, more) => {
      const response = await sound.send(call, more);
      if (where === 'sends the payment') throw new TypeError('a defect');
      return Object.defineProperty({ ...response }, 'body', {
        get() {
          throw new TypeError('a defect');
        },
      });
    };
    await using bankql = await createTestBankql({
      bankUrl: bank.url,
      store,
      paymentOptions: { bank: { ...sound, send } },
    });
    expect(await pay(bankql, transfer('key'))).toMatchObject({ code: 'INTERNAL' });
    expect(bankql.audit.map(({ state }) => state)).toEqual(['PENDING', 'UNKNOWN']);
    expect(await store.search({})).toMatchObject([{ state: 'UNKNOWN', code: 'OUTCOME_UNKNOWN' }]);
    expect(await pay(bankql, transfer('key'))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(bank.calls).toHaveLength(1);
    await sound.close();
  },
);
