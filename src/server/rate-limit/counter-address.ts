import { type PostgresAddress, parsePostgresUrl } from '../../payments/stores/postgres/address.ts';

/** Where REST calls are counted. */
type CounterAddress =
  /** By this process, or by the primary process for all of its workers. */
  | { readonly kind: 'memory' }
  | ({ readonly kind: 'redis' } & RedisAddress)
  | { readonly kind: 'postgres'; readonly address: PostgresAddress };

/** The address of a Redis, and the credentials for it. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly database: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/**
 * Parses RATE_LIMIT_URL: `memory:`, `redis[s]://[[user]:password@]host[:port][/database]`, or a URL of PostgreSQL with one
 * host. Names and passwords are percent-encoded. Null if it is malformed: an error could repeat a password.
 * Errors: AddressError for a malformed URL of PostgreSQL.
 */
export function parseCounterUrl(text: string): CounterAddress | null {
  if (text === 'memory:') return { kind: 'memory' };
  const address = parsePostgresUrl(text);
  if (address !== null) return { kind: 'postgres', address };
  return parseRedisUrl(text);
}

function parseRedisUrl(text: string): CounterAddress | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'redis:' && url.protocol !== 'rediss:')) return null;
  if (url.hostname === '' || url.search !== '' || url.hash !== '') return null;
  const database = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1];
  if (database === undefined) return null;
  try {
    return {
      kind: 'redis',
      host: url.hostname.replace(/^\[(.+)\]$/, '$1'),
      port: Number(url.port || 6379),
      tls: url.protocol === 'rediss:',
      database: Number(database),
      username: decodeURIComponent(url.username) || undefined,
      password: decodeURIComponent(url.password) || undefined,
    };
  } catch {
    return null;
  }
}
