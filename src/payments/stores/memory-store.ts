import { DatabaseSync } from 'node:sqlite';
import { rowCounts, type StoreDriver, storedRow } from '../driver.ts';
import { createPaymentStore } from '../payment-store.ts';
import { type OnStoreEvent, type PaymentStore, StoreUnavailable } from '../store.ts';
import { rowMethods } from './sqlite/rows.ts';
import { createTables, readSecret } from './sqlite/schema.ts';

interface MemoryStoreOptions {
  /** How long a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  readonly onEvent?: OnStoreEvent | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * A payment store that forgets everything when the process ends: for the sandbox and for tests only.
 * Shape:  a PaymentStore; it belongs to one process.
 * Errors: StoreUnavailable after close, and never before.
 */
export const createMemoryStore = (options: MemoryStoreOptions): PaymentStore =>
  createPaymentStore({
    name: 'in memory',
    driver: createMemoryDriver(options),
    clock: options.now,
    ...options,
  });

/** SQLite's rows, in this thread. */
export function createMemoryDriver({ retentionMs, now = Date.now }: MemoryStoreOptions): StoreDriver {
  const database = new DatabaseSync(':memory:');
  database.function('time_now', () => Math.round(now()));
  createTables(database);
  const secret = readSecret(database) ?? '';
  const methods = rowMethods(database, retentionMs, 'time_now()');

  async function ask<Value>(call: () => Value): Promise<Value> {
    if (!database.isOpen) throw new StoreUnavailable('The payment store in memory is closed.');
    return call();
  }
  return {
    secret,
    loss: null,
    uncertainMs: 0,
    insert: (row) => ask(() => storedRow.parse(methods.insert(row))),
    compareAndSet: (id, version, change) => ask(() => methods.compareAndSet(id, version, change)),
    recover: (...args) => ask(() => methods.recover(...args)),
    find: (id) => ask(() => storedRow.nullable().parse(methods.find(id))),
    search: (query) => ask(() => storedRow.array().parse(methods.search(query))),
    count: () => ask(() => rowCounts.parse(methods.count())),
    purge: () => ask(methods.purge),
    async acceptLoss() {},
    async close() {
      if (database.isOpen) database.close();
    },
  };
}
