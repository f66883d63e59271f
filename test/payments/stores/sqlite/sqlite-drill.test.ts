import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backupStore, restoreStore } from '../../../../src/payments/stores/sqlite/backup.ts';
import { later } from '../../../support/faulty-bank.ts';
import { accept, startPaymentBank } from '../../../support/payment-bank.ts';
import { pay, transfer } from '../../../support/payment-client.ts';
import { startPaymentProcess } from '../../../support/payment-process.ts';
import { testFolder } from '../../../support/test-folder.ts';

const folder = testFolder();

/** The drill of docs/payment-stores.md, "Backups", with processes, under load, and without a person. */
test('a backup taken under load, restored after a crash, pays nothing twice but what the restore names', async () => {
  const path = join(folder, 'state.db');
  const backup = join(folder, 'backup.db');
  await using bank = await startPaymentBank();
  bank.decide = (payment) => later(20, accept(payment));
  const settings = { bankUrl: bank.url, stateUrl: `sqlite:${path}`, leaseMs: 60_000 };

  const keys: string[] = [];
  const first = await startPaymentProcess(settings);
  let paying = true;
  const lane = async () => {
    while (paying) {
      const key = `key-${keys.length}`;
      keys.push(key);
      await pay(first.url, transfer(key)).catch(() => 'killed');
    }
  };
  const lanes = Array.from({ length: 6 }, lane);
  const until = (count: number) => expect.poll(() => bank.payments.length).toBeGreaterThan(count);
  await until(20);
  const contents = await backupStore(path, backup);
  expect(contents.records).toBeGreaterThanOrEqual(14);
  await until(contents.began + 20);
  await first.kill();
  paying = false;
  await Promise.all(lanes);

  const sentBefore = new Set(bank.payments.map(({ account }) => account));
  const restored = await restoreStore(backup, path, { by: 'the drill', now: Date.now() });
  const missing = new Set(restored?.missing.map(({ accountId }) => accountId));
  expect(restored).toMatchObject({ unreadable: null, unnamed: 0, backup: { records: contents.records } });
  expect(missing.size).toBeGreaterThanOrEqual(20);
  expect(contents.records + missing.size).toBeLessThanOrEqual(keys.length);

  await using second = await startPaymentProcess(settings);
  const told = await Promise.all(
    keys.map(async (key) => [key, await pay(second.url, transfer(key))] as const),
  );
  const sent = (key: string) => bank.of(key).length;
  const twice = keys.filter((key) => sent(key) > 1);
  // Not one more, and no fewer: the test would not notice it if nothing were sent.
  expect(twice).toEqual(keys.filter((key) => missing.has(key) && sentBefore.has(key)));
  expect(Math.max(...keys.map(sent))).toBe(2);
  for (const [key, { code, replayed }] of told) {
    if (missing.has(key) || !sentBefore.has(key)) continue;
    // Their records are those of the backup's time: an end that came later is not known any more.
    expect([key, code === 'IDEMPOTENCY_IN_PROGRESS' || (code === 'DONE' && replayed)]).toEqual([key, true]);
  }
});
