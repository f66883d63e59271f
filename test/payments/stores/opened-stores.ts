import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { createPaymentStore } from '../../../src/payments/payment-store.ts';
import type { OnStoreEvent, PaymentStore } from '../../../src/payments/store.ts';
import { openSqlite } from '../../../src/payments/stores/sqlite/sqlite-driver.ts';
import { retentionMs } from './store-conformance.ts';

type SqliteOptions = Parameters<typeof openSqlite>[0];

/** A SQLite store, made if it is missing, that is closed after the test and waits for the disk for as long as it takes. */
export async function openSqliteStore(
  path: string,
  { onEvent, ...change }: Partial<SqliteOptions> & { readonly onEvent?: OnStoreEvent } = {},
): Promise<PaymentStore> {
  const usual = { create: true, readOnly: false, retentionMs, timeoutMs: 60_000, startTimeoutMs: 60_000 };
  const driver = await openSqlite({ ...usual, path, ...change });
  const { readOnly } = change;
  const store = createPaymentStore({ name: path, driver, retentionMs, readOnly, onEvent });
  onTestFinished(() => store.close());
  return store;
}

/** Lets time pass for all that a file holds. */
export function passInFile(path: string, ms: number): void {
  using database = new DatabaseSync(path, { timeout: 60_000 });
  database
    .prepare(
      'UPDATE payment SET created_at = created_at - $ms, updated_at = updated_at - $ms, lease_until = lease_until - $ms',
    )
    .run({ ms });
}
