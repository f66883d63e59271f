import { checkWitness } from '../high-water-mark.ts';
import type { PaymentStore } from '../store.ts';
import { AddressError } from './postgres/address.ts';
import type { PostgresStoreOptions } from './postgres/postgres-store.ts';
import { createSqliteStore } from './sqlite/sqlite-store.ts';
import { parseStoreUrl, type StoreAddress, shownStoreUrl } from './store-address.ts';

/** The other stores ignore the options that are only for PostgreSQL. */
export type OpenStoreOptions = Omit<PostgresStoreOptions, 'address' | 'timeoutMs'> & {
  readonly timeoutMs?: number;
};

/**
 * How long a payment may wait for a server to store its record; the bank's own deadline is thirty times as long. Another server
 * may have taken over.
 */
const serverTimeoutMs = 500;
/**
 * How long it may wait for a file: a slow disk is all there is. A payment waits twice, and has to end before its lease is over,
 * which lasts ten seconds longer than the sending.
 */
const fileTimeoutMs = 4_000;

/**
 * The payment store that STATE_URL names.
 * Shape:  a PaymentStore that is ready; a relative PATH is resolved against the working directory.
 * Errors: an Error that names the value and what is allowed, or the path or the server and the remedy; never a
 *         password.
 */
export async function openStore(url: string, options: OpenStoreOptions): Promise<PaymentStore> {
  const { readOnly = false, witness } = options;
  const named = readStoreUrl(url);
  if (named.kind === 'memory') {
    // It loads SQLite into this thread, which no other store needs.
    const { createMemoryStore } = await import('./memory-store.ts');
    return createMemoryStore(options);
  }
  if (witness !== undefined && !readOnly) await checkWitness(witness);
  // The libraries of servers are large: nobody else waits for them.
  switch (named.kind) {
    case 'sqlite':
      return createSqliteStore({ timeoutMs: fileTimeoutMs, ...options, path: named.path });
    case 'postgres': {
      const { createPostgresStore } = await import('./postgres/postgres-store.ts');
      return createPostgresStore({ timeoutMs: serverTimeoutMs, ...options, address: named.address });
    }
  }
}

/** Errors: an Error that says what is wrong with it, without repeating what may be a password. */
function readStoreUrl(url: string): StoreAddress {
  try {
    return parseStoreUrl(url);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new Error(`STATE_URL is ${shownStoreUrl(url, '***')}, which cannot be used: ${error.message}.`);
  }
}
