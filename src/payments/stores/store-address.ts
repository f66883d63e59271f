import { AddressError, type PostgresAddress, parsePostgresUrl } from './postgres/address.ts';
import { parseRedisUrl, parseSentinelUrl, type RedisAddress, type SentinelAddress } from './redis/address.ts';

/** Where payments are recorded. */
export type StoreAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly address: PostgresAddress }
  | { readonly kind: 'redis'; readonly address: RedisAddress | SentinelAddress };

const allowed =
  'memory: (forgets all payments at the end of the process; for the sandbox), sqlite:PATH with a path such as sqlite:.bankql/state.db or sqlite:/var/lib/bankql/state.db, postgres://user[:password]@host[:port][,host[:port]…]/database[?sslmode=…], redis[s]://[[user]:password@]host[:port][/database], or redis[s]+sentinel://[[user]:password@]host[:port][,host[:port]…]/primary-name[/database], with user and password percent-encoded';

/**
 * What STATE_URL says. Whether a store is there, only opening it tells.
 * Errors: AddressError.
 */
export function parseStoreUrl(url: string): StoreAddress {
  if (url === 'memory:') return { kind: 'memory' };
  const path = /^sqlite:(.+)$/s.exec(url)?.[1];
  // `sqlite://state.db` would name a file of the root folder, and `sqlite::memory:` one called ":memory:".
  if (path !== undefined && !path.startsWith('//') && !path.startsWith(':')) return { kind: 'sqlite', path };
  const cluster = parsePostgresUrl(url);
  if (cluster !== null) return { kind: 'postgres', address: cluster };
  const address = parseRedisUrl(url) ?? parseSentinelUrl(url);
  if (address !== null) return { kind: 'redis', address };
  throw new AddressError(`${faultOf(url)}: use ${allowed}`);
}

/** What is wrong with an address that is none of PostgreSQL. */
function faultOf(url: string): string {
  if (!/^rediss?(\+sentinel)?:\/\//i.test(url)) return 'it names no payment store';
  if (/[?#]/.test(url))
    return 'an address of Redis has no parameters, and ? and # in a password are %3F and %23';
  if (/%(?![\da-f]{2})/i.test(url)) return 'a % in it has to be written as %25';
  if (/\/\/.*\/.*@/s.test(url)) return 'a / in user or password has to be written as %2F';
  return /^rediss?:/i.test(url)
    ? 'a Redis has a host, a port up to 65535, and a number as its database'
    : "Sentinels have hosts, ports up to 65535, and the primary's name behind them";
}

/** A URL for messages, be it readable or not: without who asks, and without what may hold a password. */
export function shownStoreUrl(url: string, mask: string): string {
  return (
    url
      .replace(/(:\/{0,2}).*@/s, `$1${mask}@`)
      // Without an @, what follows a colon and is no port may be a password all the same.
      .replace(/(:\/\/)(?!.*@)[^/]*:(?!\d{1,5}(?:[,/?#]|$)).*$/s, `$1${mask}`)
      .replace(/[?#].*$/s, `?${mask}`)
  );
}
