/** The address of a Redis, and the credentials for it. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly database: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** A Redis whose primary is found by asking Sentinels; the credentials and the database are the primary's. */
export interface SentinelAddress extends Omit<RedisAddress, 'host' | 'port'> {
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** What the Sentinels call the primary. */
  readonly primaryName: string;
}

const defaultPort = 6379;
const defaultSentinelPort = 26_379;

/**
 * Parses a URL `redis[s]://[[user]:password@]host[:port][/database]`; null if it is malformed. Names and passwords are
 * percent-encoded in it.
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
      port: Number(url.port || defaultPort),
      tls: url.protocol === 'rediss:',
      database: Number(database),
      username: decodeURIComponent(url.username) || undefined,
      password: decodeURIComponent(url.password) || undefined,
    };
  } catch {
    // An invalid percent-encoding. Returning null keeps the URL, which may hold a password, out of any error.
    return null;
  }
}

/**
 * Parses a URL `redis[s]+sentinel://[[user]:password@]host[:port][,host[:port]…]/primary-name[/database]`; null if it
 * is malformed. Names and passwords are percent-encoded in it.
 */
export function parseSentinelUrl(text: string): SentinelAddress | null {
  const parts = /^(rediss?)\+sentinel:\/\/([^/?#]*@)?([^/?#@]+)\/([\w.%-]+)(\/\d{0,5})?$/i.exec(text);
  if (parts === null) return null;
  const [, scheme = '', user = '', hosts = '', primaryName = '', database = ''] = parts;
  // Each host is parsed as a URL of its own, since a URL cannot have several hosts.
  const addresses = hosts.split(',').map((host) => {
    const address = parseRedisUrl(`${scheme}://${user}${host}${database}`);
    return address && { ...address, port: /:\d+$/.test(host) ? address.port : defaultSentinelPort };
  });
  const [first] = addresses;
  if (first === undefined || first === null) return null;
  const sentinels = addresses.flatMap((address) =>
    address === null ? [] : [{ host: address.host, port: address.port }],
  );
  if (sentinels.length < addresses.length) return null;
  const { host: _, port: __, ...primary } = first;
  return { ...primary, sentinels, primaryName };
}

/** The address for messages, without credentials. */
export function shownAddress(address: RedisAddress | SentinelAddress): string {
  const { tls, database } = address;
  const scheme = tls ? 'rediss' : 'redis';
  if (!('sentinels' in address)) return `${scheme}://${shownHost(address)}/${database}`;
  return `${scheme}+sentinel://${address.sentinels.map(shownHost).join()}/${address.primaryName}/${database}`;
}

export const shownHost = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;
