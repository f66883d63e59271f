import { closeSync, openSync } from 'node:fs';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { openLogOutput } from '../../src/commands/log-output.ts';
import { operations } from '../../src/contract/operations.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { bankDefaults } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

test('a payment that cannot be logged is not sent, and its key stays free', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise(() => ({ body: {} }));
  const client = createBankClient({ ...bankDefaults, baseUrl: bank.url });
  const store = createMemoryStore({ retentionMs: 86_400_000 });
  const payWith = (path: string) => {
    const fd = openSync(path, 'w');
    const output = openLogOutput(fd, true, { maxLength: 10_000 });
    const log = pino(output.stream);
    const payments = createPaymentService({
      bank: client,
      store,
      leaseMs: 10_000,
      audit(entry) {
        log.info(entry);
        output.check();
      },
    });
    return payments
      .pay(operations.postMakeTransaction, {
        idempotencyKey: 'key',
        input: {
          ids: { BANK_ID: 'B', ACCOUNT_ID: 'A' },
          body: { from: {}, to: {} },
          credentials: { subscriptionKey: 'key', authProviderName: 'provider', authId: 'caller' },
        },
      })
      .finally(() => closeSync(fd));
  };
  await expect(payWith('/dev/full')).rejects.toMatchObject({ extensions: { code: 'STATE_UNAVAILABLE' } });
  expect(bank.calls).toEqual([]);
  expect(await store.search({}, Date.now())).toEqual([]);
  expect(await payWith('/dev/null')).toMatchObject({ replayed: false });
  expect(bank.calls).toHaveLength(1);
  await client.close();
});

test('lines that cannot be written are kept up to a length, and dropping one is said', () => {
  const fd = openSync('/dev/full', 'w');
  let dropped = 0;
  const output = openLogOutput(fd, true, { maxLength: 10_000, onDropped: () => dropped++ });
  const log = pino(output.stream);
  for (let n = 0; n < 200; n++) {
    log.info({ n, text: 'x'.repeat(100) });
    expect(() => output.check()).toThrow();
  }
  expect(dropped).toBeGreaterThan(100);
  expect(dropped).toBeLessThan(200);
  closeSync(fd);
});
