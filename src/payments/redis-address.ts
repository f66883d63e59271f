/** Where a Redis is, and who asks. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly database: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/**
 * What a URL `redis[s]://[[user]:password@]host[:port][/database]` says; null where it does not say it.
 * Names and passwords are percent-encoded in it.
 */
export function parseRedisUrl(text: string): RedisAddress | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'redis:' && url.protocol !== 'rediss:')) return null;
  if (url.hostname === '' || url.search !== '' || url.hash !== '') return null;
  const database = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1];
  if (database === undefined) return null;
  try {
    return {
      host: url.hostname.replace(/^\[(.+)\]$/, '$1'),
      port: Number(url.port || 6379),
      tls: url.protocol === 'rediss:',
      database: Number(database),
      username: decodeURIComponent(url.username) || undefined,
      password: decodeURIComponent(url.password) || undefined,
    };
  } catch {
    // A % that encodes nothing. Its error would be fine, but URLs belong in no error.
    return null;
  }
}

/** The address for messages: without who asks. */
export function shownAddress({ host, port, tls, database }: RedisAddress): string {
  return `${tls ? 'rediss' : 'redis'}://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}
