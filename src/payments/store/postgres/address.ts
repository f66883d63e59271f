import { readFile } from 'node:fs/promises';
import type { PoolConfig } from 'pg';
import { parse } from 'pg-connection-string';
import { checkKeyPair } from '../../../key-pair.ts';

/** The address of a PostgreSQL, the role and its password, and further options of pg, as it names them. */
export interface PostgresAddress extends Omit<PoolConfig, 'password' | 'ssl'> {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** Null if the connections are not encrypted. */
  readonly tls: PostgresTls | null;
}

/** As in libpq: `require` only encrypts, `verify-ca` also checks the certificate's issuer, `verify-full` its name as well. */
const tlsModes = ['require', 'verify-ca', 'verify-full'] as const;

interface PostgresTls {
  readonly mode: (typeof tlsModes)[number];
  /** The paths of the certificate files. */
  readonly rootCertificate: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** An invalid address. The message repeats no part of it that may be a password. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

/** The parameters that bankql accepts. Those with a list have one of its values. */
const parameters = {
  ...{ host: null, port: null, application_name: null, options: null, sslcert: null, sslkey: null },
  ...{ sslrootcert: null, connect_timeout: null, keepalives_idle: null, keepalives: ['0', '1'] },
  channel_binding: ['disable', 'prefer', 'require'],
  sslmode: ['disable', ...tlsModes],
  sslnegotiation: ['postgres', 'direct'],
  target_session_attrs: ['read-write', 'primary'],
} satisfies Record<string, readonly string[] | null>;
type Parameters = { readonly [Name in keyof typeof parameters]?: string };

/** The remedies for parameters and values that only other clients accept. */
const remedies: Readonly<Record<string, string>> = {
  password: 'write it in front of the host, as user:password@host',
  user: 'write it in front of the host, as user:password@host',
  pgbouncer:
    "such a pooler gives each transaction another connection; give the address of a pooler in session mode, or the database's own (Supabase: port 5432)",
  hostaddr: 'give the address as the host',
  ssl: 'use sslmode',
  sslmode: '; the others may go on unencrypted, and no-verify is called require here',
  target_session_attrs: '; payments are written',
};

const defaultPort = 5432;
/** The time for which a payment waits for a connection, new or from the pool, in milliseconds. */
const usualConnectTimeoutMs = 3_000;
const usualKeepAliveMs = 10_000;

function refuse(isWrong: boolean, message: string): void {
  if (isWrong) throw new AddressError(message);
}

/**
 * The address in a URL `postgres[ql]://user[:password]@host[:port]/database[?parameters]`; null for a URL with another protocol.
 * Names and passwords are percent-encoded in it.
 * Errors: AddressError.
 */
export function parsePostgresUrl(text: string): PostgresAddress | null {
  const [, authority, path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*)\/?([^?#]*)\??(.*)$/is.exec(text) ?? [];
  if (authority === undefined) return null;
  // An unencoded `/`, `?` or `#` would make a part of the password a name, which messages repeat.
  refuse(
    /[\s\p{Cc}#]/u.test(text) || /@/.test(path + query) || /@.*@/.test(authority),
    'percent-encode white space and the characters @ : / ? # in user, password and parameters',
  );
  refuse(!isEncoded(text), 'a % in it has to be written as %25');
  const given = parseParameters(query);
  const { user, password, host, port } = parseAuthority(authority, given);
  refuse(user === '', 'it has to name a user');
  refuse(host === '', 'it has to name a host');
  // Neon's pooler: the host without `-pooler` is the database's own.
  refuse(
    /-pooler\..*\.neon\.tech$/i.test(host),
    'this pooler gives each transaction another connection: leave "-pooler" out of the host',
  );
  refuse(path === '' || path.includes('/'), 'it has to name a database');
  const tls = parseTls(given, host);
  const { channel_binding = 'disable', sslnegotiation } = given;
  const isBound = channel_binding === 'require';
  const isDirect = sslnegotiation === 'direct';
  refuse(isBound && tls === null, 'channel_binding=require needs TLS, and this address has none');
  refuse(isDirect && tls === null, 'sslnegotiation=direct needs TLS, and this address has none');
  const milliseconds = (name: 'connect_timeout' | 'keepalives_idle', usualMs: number) => {
    const seconds = given[name] ?? '';
    refuse(!/^\d{0,4}$/.test(seconds), `${name} is a number of seconds`);
    return Number(seconds) * 1_000 || usualMs;
  };
  return {
    ...{ host, port, user, password, database: decodeURIComponent(path) },
    // If a server offers no channel binding, pg continues without it. So the certificate is verified instead, which protects as
    // well.
    tls: tls?.mode === 'require' && isBound ? { ...tls, mode: 'verify-full' } : tls,
    application_name: given.application_name ?? 'bankql',
    options: given.options,
    enableChannelBinding: channel_binding !== 'disable',
    sslnegotiation: isDirect ? 'direct' : 'postgres',
    connectionTimeoutMillis: milliseconds('connect_timeout', usualConnectTimeoutMs),
    keepAlive: given.keepalives !== '0',
    keepAliveInitialDelayMillis: milliseconds('keepalives_idle', usualKeepAliveMs),
  };
}

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== null;
  } catch {
    return false;
  }
}

/** An empty parameter counts as absent. */
function parseParameters(query: string): Parameters {
  const given = new Map<string, string>();
  // As in libpq, a `+` is a plus.
  for (const [name, value] of new URLSearchParams(query.replaceAll('+', '%2B'))) {
    const values = new Map<string, readonly string[] | null>(Object.entries(parameters)).get(name);
    const shown = /^\w{1,40}$/.test(name) ? name : 'one of its parameters';
    const remedy = remedies[name] ?? `leave it out (${Object.keys(parameters).join(', ')} are)`;
    refuse(values === undefined, `${shown} is not supported: ${remedy}`);
    refuse(given.has(name), `it has ${name} twice`);
    const isKnown = !values || value === '' || values.includes(value);
    refuse(!isKnown, `${name} is ${values?.join(' or ')}${remedies[name] ?? ''}`);
    given.set(name, value);
  }
  return Object.fromEntries([...given].filter(([, value]) => value !== ''));
}

/** Only host and port go to pg-connection-string: it would read files for others, and takes `require` for `verify-full`. */
function parseAuthority(authority: string, { host: given = '', port: givenPort = '' }: Parameters) {
  refuse(
    (authority.replace(/^.*@/, '') + given + givenPort).includes(','),
    'it names several hosts: give one address that leads to the primary, such as that of the cluster, its proxy or its service',
  );
  try {
    const query = new URLSearchParams({ host: given, port: givenPort });
    const { user = '', password, host, port } = parse(`postgres://${authority}/_?${query}`);
    const number = Number(port || defaultPort);
    if (/[\s@]/.test(host ?? '') || !(number >= 1 && number <= 65_535)) throw new Error();
    return { user, password: password || undefined, host: host ?? '', port: number };
  } catch {
    throw new AddressError('a host is written as name, name:port or [IPv6 address]:port');
  }
}

function parseTls({ sslmode, sslcert, sslkey, sslrootcert }: Parameters, host: string): PostgresTls | null {
  refuse((sslcert === undefined) !== (sslkey === undefined), 'sslcert and sslkey belong together');
  const isLocal = /^(\/.*|localhost|127(\.\d{1,3}){3}|::1)$/s.test(host);
  const usual = isLocal && (sslcert ?? sslrootcert) === undefined ? 'disable' : 'verify-full';
  const mode = tlsModes.find((each) => each === (sslmode ?? usual));
  // As in libpq, a Unix socket has no TLS: nothing leaves the machine.
  if (mode === undefined || host.startsWith('/')) return null;
  // `system` is libpq's name for the authorities that the system trusts.
  const rootCertificate = sslrootcert === 'system' ? undefined : sslrootcert;
  return { mode, rootCertificate, certificate: sslcert, key: sslkey };
}

/** The address for messages: without the role and its password. */
export const shownAddress = ({ host, port, database }: PostgresAddress): string =>
  `postgres://${host.includes(':') && !host.startsWith('/') ? `[${host}]` : host}:${port}/${database}`;

/** Options with which pg connects. Errors: those of a file that cannot be used. */
export const clientOptions = async ({ tls, password, ...address }: PostgresAddress) =>
  ({
    ...address,
    // A function, because otherwise pg may take a password from the environment or a file.
    password: () => password ?? '',
    ssl: tls !== null && (await tlsOptions(tls)),
  }) satisfies PoolConfig;

/** Like in libpq, `require` checks the issuer if there is a root certificate. */
async function tlsOptions({ mode, rootCertificate, certificate, key: keyFile }: PostgresTls) {
  const [ca, cert, key] = await Promise.all(
    [rootCertificate, certificate, keyFile].map((file) => file && readFile(file, 'utf8')),
  );
  if (cert && key) checkKeyPair(cert, key);
  return {
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ...{ ca, cert, key },
  };
}
