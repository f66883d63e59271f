import { onTestFinished } from 'vitest';
import type { PaymentStore } from '../../../src/payments/store.ts';
import {
  createPostgresStore,
  type PostgresStoreOptions,
} from '../../../src/payments/stores/postgres/postgres-store.ts';
import { createSqliteStore } from '../../../src/payments/stores/sqlite/sqlite-store.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { retentionMs } from './store-conformance.ts';

/** Stores of one test, which are closed after it, and wait for the disk or the server for as long as it takes. */

async function closedAfterTest(opening: Promise<PaymentStore>): Promise<PaymentStore> {
  const store = await opening;
  onTestFinished(() => store.close());
  return store;
}

const usual = { retentionMs, timeoutMs: 60_000 };

export const openSqlite = (
  path: string,
  change: Partial<Parameters<typeof createSqliteStore>[0]> = {},
): Promise<PaymentStore> => closedAfterTest(createSqliteStore({ ...usual, path, ...change }));

export const openPostgres = (
  { address }: TestPostgres,
  change: Partial<PostgresStoreOptions> = {},
): Promise<PaymentStore> => closedAfterTest(createPostgresStore({ ...usual, address, ...change }));
