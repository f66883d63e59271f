import { DatabaseSync } from 'node:sqlite';
import type { StoreDriver } from './driver.ts';
import { createPaymentStore } from './payment-store.ts';
import { createTables, readSecret, rowMethods } from './sqlite/database.ts';
import { type AskRows, driverOver } from './sqlite/sqlite-driver.ts';
import type { OnStoreEvent, PaymentStore } from './store.ts';

interface MemoryStoreOptions {
  /** The time for which a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  readonly onEvent?: OnStoreEvent | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * A payment store that forgets everything when the process ends: for the sandbox and for tests only.
 * Shape: a PaymentStore; it belongs to one process.
 */
export const createMemoryStore = (options: MemoryStoreOptions): PaymentStore =>
  createPaymentStore({
    name: 'in memory',
    driver: createMemoryDriver(options),
    clock: options.now,
    ...options,
  });

/** A driver over SQLite in memory, in this thread. */
export function createMemoryDriver({ now = Date.now }: Pick<MemoryStoreOptions, 'now'>): StoreDriver {
  const database = new DatabaseSync(':memory:');
  database.function('time_now', () => Math.round(now()));
  createTables(database);
  const methods = rowMethods(database, 'time_now()');
  const ask: AskRows = async (method, ...args) => Reflect.apply(methods[method], null, args);
  return { ...driverOver(readSecret(database) ?? '', ask), close: async () => database.close() };
}
