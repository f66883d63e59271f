import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeFormat } from '../../../../src/payments/store/missing-store.ts';
import { initStore, openStore } from '../../../../src/payments/store/open-store.ts';
import { backupStore } from '../../../../src/payments/store/sqlite/backup.ts';
import type { PaymentStore } from '../../../../src/payments/store/store.ts';
import { createTestBankql } from '../../../support/bankql.ts';
import { reply } from '../../../support/faulty-bank.ts';
import { accept, startPaymentBank } from '../../../support/payment-bank.ts';
import { pay } from '../../../support/payment-client.ts';
import { durable, startPostgres } from '../../../support/postgres.ts';
import { payments } from './payments.ts';

/**
 * `node test/payments/store/formats/write-format.ts` writes a SQLite store and a PostgreSQL store in the format of this bankql,
 * and the answers that clients got. Run it once for each format, when its version is released: stores-of-earlier-versions.test.ts
 * reads the stores of all released formats. Never run it for a released format.
 */
const folder = join(import.meta.dirname, String(storeFormat));
const work = mkdtempSync(join(tmpdir(), 'bankql-format-'));

/**
 * Makes the payments in a store.
 * Shape: the answer that each client got.
 */
async function write(url: string) {
  await initStore(url);
  const opened = await openStore(url, { retentionMs: 86_400_000 });
  const isLost = new Set<string>();
  const store: PaymentStore = {
    ...opened,
    async begin(record, leaseMs) {
      if (record.accountId !== 'pending') return opened.begin(record, leaseMs);
      // The process of this payment ends before it writes the outcome, and the lease ends as well.
      isLost.add(record.trackId);
      return opened.begin(record, 0);
    },
    end: async (attempt) => !isLost.has(attempt.trackId) && opened.end(attempt),
  };
  await using bank = await startPaymentBank();
  bank.decide = (payment) => {
    if (payment.account === 'rejected') return reply(422, '{"code":"AM04","message":"Insufficient funds"}');
    return payment.account === 'unknown' ? reply(500, '{"message":"down"}') : accept(payment);
  };
  await using bankql = await createTestBankql({ bankUrl: bank.url, store });
  const told: Record<string, unknown> = {};
  for (const { name, input, code: _code, ...options } of payments) {
    const { code, trackId, transactionId } = await pay(bankql, input, options);
    told[name] = { code, trackId, transactionId };
  }
  await opened.close();
  return told;
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const path = join(work, 'state.db');
const sqlite = await write(`sqlite:${path}`);
await backupStore(path, join(folder, 'state.db'));
await using server = await startPostgres(durable);
const postgres = await write(server.url);
writeFileSync(join(folder, 'postgres.sql'), await server.dump());
writeFileSync(join(folder, 'told.json'), `${JSON.stringify({ sqlite, postgres }, null, 2)}\n`);
rmSync(work, { recursive: true });
