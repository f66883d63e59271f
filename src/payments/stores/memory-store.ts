import { DatabaseSync } from 'node:sqlite';
import type { StoreDriver } from '../driver.ts';
import { newMetadata } from '../lost-records.ts';
import { prepareProtocol, type StoreOptions } from '../protocol-store.ts';
import { type PaymentStore, StoreUnavailable } from '../store.ts';
import { type AskDatabase, createOperations, driverOver } from './sqlite/operations.ts';
import { upgradeSchema } from './sqlite/schema.ts';

/**
 * A payment store that forgets everything when the process ends: for the sandbox and for tests only.
 * Shape:  a PaymentStore; it belongs to one process. A record's age is counted from its last change.
 * Errors: StoreUnavailable after close, and never before.
 */
export function createMemoryStore({
  retentionMs,
  onEvent,
}: Pick<StoreOptions, 'retentionMs' | 'onEvent'>): PaymentStore {
  const initial = { version: 'first', metadata: newMetadata(null) };
  const { version, metadata } = initial;
  const { run } = prepareProtocol({
    name: 'in memory',
    retentionMs,
    onEvent,
    markFiles: [],
    allowVolatile: true,
    countsAreConfirmed: false,
    initial,
  });
  return run(createMemoryDriver({ version, text: JSON.stringify(metadata) }));
}

/**
 * The tables of a SQLite store in memory, which the garbage collector frees.
 * `metadata`: what it begins with.
 */
export function createMemoryDriver(
  metadata: { readonly version: string; readonly text: string } | null = null,
): StoreDriver {
  const database = new DatabaseSync(':memory:');
  upgradeSchema(database, true);
  const operations = createOperations(database);
  if (metadata !== null) operations.writeMetadata(null, metadata);
  const ask: AskDatabase = async (name, args) => {
    if (!database.isOpen) throw new StoreUnavailable('The payment store in memory is closed.');
    return Reflect.apply(operations[name], null, args) as never;
  };
  return {
    ...driverOver(ask, ask),
    async close() {
      if (database.isOpen) database.close();
    },
  };
}
