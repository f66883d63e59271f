import { DatabaseSync } from 'node:sqlite';
import type { StoreDriver } from '../driver.ts';
import { createProtocolStore, type StoreOptions } from '../protocol-store.ts';
import { type PaymentStore, StoreUnavailable } from '../store.ts';
import { type RowMethods, rowMethods } from './sqlite/rows.ts';
import { upgradeSchema } from './sqlite/schema.ts';
import { rowDriver } from './sqlite/sqlite-store.ts';

/**
 * A payment store that forgets everything when the process ends: for the sandbox and for tests only.
 * Shape:  a PaymentStore; it belongs to one process. A record's age is counted from its last change.
 * Errors: StoreUnavailable after close, and never before.
 */
export const createMemoryStore = ({
  retentionMs,
  onEvent,
}: Pick<StoreOptions, 'retentionMs' | 'onEvent'>): Promise<PaymentStore> =>
  createProtocolStore({
    name: 'in memory',
    retentionMs,
    onEvent,
    markFiles: [],
    allowVolatile: true,
    countsAreConfirmed: false,
    open: async () => createMemoryDriver(),
  });

/** SQLite's rows, in this thread. */
export function createMemoryDriver(): StoreDriver {
  const database = new DatabaseSync(':memory:');
  upgradeSchema(database, true);
  const methods = rowMethods(database);

  async function ask<Name extends keyof RowMethods, T>(
    method: Name,
    args: Parameters<RowMethods[Name]>,
  ): Promise<T> {
    if (!database.isOpen) throw new StoreUnavailable('The payment store in memory is closed.');
    return Reflect.apply(methods[method], null, args) as T;
  }
  return {
    ...rowDriver(ask, ask),
    async settleWrites() {},
    async close() {
      if (database.isOpen) database.close();
    },
  };
}
