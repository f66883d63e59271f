import { checkWitness } from '../high-water-mark.ts';
import type { OnStoreEvent, PaymentStore } from '../store.ts';
import { createMemoryStore } from './memory-store.ts';
import { AddressError } from './postgres/address.ts';
import { createSqliteStore } from './sqlite/sqlite-store.ts';
import { parseStoreUrl, type StoreAddress, shownStoreUrl } from './store-address.ts';

export interface OpenStoreOptions {
  /** How long a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  /** For PostgreSQL; see PostgresStoreOptions. */
  readonly allowVolatile?: boolean;
  readonly waitReplicas?: number;
  /** Whether the store is only read: nothing is written to it, or to its folder. False by default. */
  readonly readOnly?: boolean;
  /** Whether to create a missing store; true by default. */
  readonly create?: boolean;
  /** A file, away from the store, that holds its high-water mark as well; see lost-records.ts. Not for `memory:`. */
  readonly witness?: string | undefined;
  readonly onEvent?: OnStoreEvent | undefined;
  /** Only for PostgreSQL: whose clock counts; the server's, except in tests. */
  readonly clock?: 'server' | 'caller';
}

/** How long a payment may wait for its record; the bank's own deadline is thirty times as long. */
const timeoutMs = 500;

/**
 * The payment store that STATE_URL names.
 * Shape:  a PaymentStore that is ready; a relative PATH is resolved against the working directory.
 * Errors: an Error that names the value and what is allowed, or the path or the server and the remedy; never a
 *         password.
 */
export async function openStore(url: string, options: OpenStoreOptions): Promise<PaymentStore> {
  const { retentionMs, readOnly = false, create = !readOnly, witness, onEvent } = options;
  const named = readStoreUrl(url);
  if (named.kind === 'memory') return createMemoryStore({ retentionMs, onEvent });
  if (witness !== undefined && !readOnly) await checkWitness(witness);
  // The libraries of servers are large: nobody else waits for them.
  switch (named.kind) {
    case 'sqlite':
      return createSqliteStore({
        path: named.path,
        readOnly,
        create,
        retentionMs,
        timeoutMs,
        witness,
        onEvent,
      });
    case 'postgres': {
      const { createPostgresStore } = await import('./postgres/postgres-store.ts');
      return createPostgresStore({ ...options, address: named.address, timeoutMs });
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
