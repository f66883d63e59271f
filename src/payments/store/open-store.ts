import { statSync } from 'node:fs';
import type { StoreDriver } from './driver.ts';
import { observeDriver, type StoreObserver } from './observed-driver.ts';
import { createPaymentStore } from './payment-store.ts';
import { AddressError } from './postgres/address.ts';
import type { OnStoreEvent, PaymentStore } from './store.ts';
import { parseStoreUrl, type StoreAddress, shownStoreUrl } from './store-address.ts';

interface OpenStoreOptions {
  /** The time for which a DONE or REJECTED record is kept after its last change, in milliseconds. */
  readonly retentionMs: number;
  /** Whether a PostgreSQL server that may lose payments is accepted. False by default. */
  readonly allowVolatile?: boolean;
  /** Whether a missing SQLite store is made. False by default: see missingStore. */
  readonly create?: boolean;
  /** Whether the store is only read: nothing is written to it, or next to it. False by default. */
  readonly readOnly?: boolean;
  /** For `readOnly`: whether a store to which a start could not write is refused. False by default. */
  readonly mustBeWritable?: boolean;
  /** The time limit of a call, in milliseconds; a search has more time. */
  readonly timeoutMs?: number;
  /** The time for which the start waits for another process's lock on a file, in milliseconds. */
  readonly startTimeoutMs?: number;
  readonly onEvent?: OnStoreEvent | undefined;
  /** Receives the database's calls and outages. */
  readonly observer?: StoreObserver;
}

/**
 * The time for which a payment may wait for a file on a slow disk, in milliseconds. A payment waits for two such calls, and has
 * to end before its lease is over. PostgreSQL has its own limits.
 */
const fileTimeoutMs = 4_000;
/**
 * On a busy machine with a slow disk, creating a file or its log takes seconds, and other processes that start at the same
 * time wait for this.
 */
const fileStartTimeoutMs = 30_000;

/**
 * Opens the payment store that STATE_URL names.
 * Shape:  a PaymentStore that is ready; a relative PATH is resolved against the working directory.
 * Errors: an Error that names the value and what is allowed, or the path or the server and the remedy; never a
 *         password.
 */
export async function openStore(url: string, options: OpenStoreOptions): Promise<PaymentStore> {
  const { retentionMs, onEvent, readOnly, observer } = options;
  const driver = await openDriver(readStoreUrl(url), options);
  return createPaymentStore({
    name: shownStoreUrl(url, '***'),
    driver: observer === undefined ? driver : observeDriver(driver, observer),
    ...{ retentionMs, readOnly, onEvent },
  });
}

/** Drivers are imported only when they are needed: PostgreSQL's client is large, and the store in memory loads SQLite. */
async function openDriver(store: StoreAddress, options: OpenStoreOptions): Promise<StoreDriver> {
  const { retentionMs, onEvent, allowVolatile, create = false, readOnly = false } = options;
  const { mustBeWritable = false, timeoutMs = fileTimeoutMs, startTimeoutMs = fileStartTimeoutMs } = options;
  const common = {
    readOnly,
    mustBeWritable,
    onNotice: (text: string) => onEvent?.({ kind: 'notice', text }),
  };
  switch (store.kind) {
    case 'memory':
      return (await import('./memory-store.ts')).createMemoryDriver({});
    case 'sqlite': {
      const { openSqlite } = await import('./sqlite/sqlite-driver.ts');
      return openSqlite({ ...common, path: store.path, timeoutMs, startTimeoutMs, create });
    }
    case 'postgres': {
      const { createPostgresDriver } = await import('./postgres/postgres-driver.ts');
      return createPostgresDriver({ ...common, address: store.address, retentionMs, allowVolatile });
    }
  }
}

/**
 * Makes the payment store that STATE_URL names. An existing store stays as it is.
 * Shape:  its name for messages, and whether it was made.
 * Errors: an Error that names what is wrong, and the remedy.
 */
export async function initStore(url: string): Promise<{ readonly shown: string; readonly isNew: boolean }> {
  const address = readStoreUrl(url);
  const shown = shownStoreUrl(url, '***');
  if (address.kind === 'postgres') {
    const { initPostgres } = await import('./postgres/postgres-server.ts');
    return { shown, isNew: await initPostgres(address.address) };
  }
  const isNew = address.kind !== 'sqlite' || !statSync(address.path, { throwIfNoEntry: false })?.size;
  const store = await openStore(url, {
    retentionMs: Number.MAX_SAFE_INTEGER,
    create: isNew,
    readOnly: !isNew,
  });
  await store.close();
  return { shown, isNew };
}

/** Errors: an Error that says why the address is invalid, without text that may be a password. */
function readStoreUrl(url: string): StoreAddress {
  try {
    return parseStoreUrl(url);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new Error(`STATE_URL is ${shownStoreUrl(url, '***')}, which cannot be used: ${error.message}.`);
  }
}
