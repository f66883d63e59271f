import type { PaymentStore } from '../store.ts';
import { checkWitness } from './high-water-mark.ts';
import { createMemoryStore } from './memory-store.ts';
import { AddressError, type PostgresAddress, parsePostgresUrl } from './postgres/address.ts';
import { parseRedisUrl, parseSentinelUrl } from './redis/address.ts';
import { createSqliteStore } from './sqlite/sqlite-store.ts';
import type { StoreClock } from './store-clock.ts';
import type { OnStoreEvent } from './store-event.ts';

export type { OnStoreEvent, StoreEvent } from './store-event.ts';

export interface OpenStoreOptions {
  /** How long a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  /** For PostgreSQL and Redis; see PostgresStoreOptions and RedisStoreOptions. */
  readonly allowVolatile?: boolean;
  readonly waitReplicas?: number;
  /** Whether to create a missing store; true by default. */
  readonly create?: boolean;
  /** A file, away from the store, that holds its high-water mark as well; see high-water-mark.ts. Not for `memory:`. */
  readonly witness?: string | undefined;
  readonly onEvent?: OnStoreEvent | undefined;
  /** Only for PostgreSQL and Redis: whose clock is used; the server's, except in tests. */
  readonly clock?: StoreClock;
}

/** How long a payment may wait for its record; the bank's own deadline is thirty times as long. */
const timeoutMs = 500;

const allowed =
  'memory: (forgets all payments at the end of the process; for the sandbox), sqlite:PATH with a path such as sqlite:.bankql/state.db or sqlite:/var/lib/bankql/state.db, postgres://user[:password]@host[:port][,host[:port]…]/database[?sslmode=…], redis[s]://[[user]:password@]host[:port][/database], or redis[s]+sentinel://[[user]:password@]host[:port][,host[:port]…]/primary-name[/database], with user and password percent-encoded';

/**
 * The payment store that STATE_URL names.
 * Shape:  a PaymentStore that is ready; a relative PATH is resolved against the working directory.
 * Errors: an Error that names the value and what is allowed, or the path or the server and the remedy; never a
 *         password.
 */
export async function openStore(url: string, options: OpenStoreOptions): Promise<PaymentStore> {
  const { retentionMs, create = true, witness, onEvent } = options;
  if (url === 'memory:') return createMemoryStore({ retentionMs });
  if (witness !== undefined) await checkWitness(witness);
  const path = /^sqlite:(.+)$/s.exec(url)?.[1];
  // `sqlite://state.db` would name a file of the root folder, and `sqlite::memory:` one called ":memory:".
  if (path !== undefined && !path.startsWith('//') && !path.startsWith(':')) {
    return createSqliteStore({ path, create, retentionMs, timeoutMs, witness, onEvent });
  }
  const cluster = readPostgresUrl(url);
  // The libraries of servers are large: nobody else waits for them.
  if (cluster !== null) {
    const { createPostgresStore } = await import('./postgres/postgres-store.ts');
    return createPostgresStore({ ...options, address: cluster, timeoutMs });
  }
  const address = parseRedisUrl(url) ?? parseSentinelUrl(url);
  if (address !== null) {
    const { createRedisStore } = await import('./redis/redis-store.ts');
    return createRedisStore({ ...options, address, timeoutMs });
  }
  throw new Error(`STATE_URL is ${withoutPassword(url)}, which names no payment store: use ${allowed}.`);
}

/** Errors: an Error that says what is wrong with it, without repeating what may be a password. */
function readPostgresUrl(url: string): PostgresAddress | null {
  try {
    return parsePostgresUrl(url);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new Error(`STATE_URL is ${withoutPassword(url)}, which cannot be used: ${error.message}.`);
  }
}

/** A URL may hold a password, and the message goes to the terminal and to logs. */
function withoutPassword(url: string): string {
  return url.replace(/(:\/{0,2}).*@/s, '$1***@').replace(/[?#].*$/s, '?***');
}
