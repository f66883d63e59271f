import { readFile } from 'node:fs/promises';
import type { PoolConfig } from 'pg';
import { parse } from 'pg-connection-string';
import { checkKeyPair } from '../../../key-pair.ts';

/** Options of pg, as it names them. */
type FurtherOptions = Pick<
  PoolConfig,
  | ('application_name' | 'options' | 'enableChannelBinding' | 'sslnegotiation')
  | ('connectionTimeoutMillis' | 'keepAlive' | 'keepAliveInitialDelayMillis')
>;

/** The address of a PostgreSQL, the role and its password, and the protection of the connections. */
export interface PostgresAddress extends FurtherOptions {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** Null where the connections are not encrypted. */
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

/** The parameters that bankql accepts, and the accepted values of some. */
const parameterValues = {
  host: null,
  port: null,
  application_name: null,
  channel_binding: ['disable', 'prefer', 'require'],
  connect_timeout: null,
  keepalives: ['0', '1'],
  keepalives_idle: null,
  options: null,
  sslmode: ['disable', ...tlsModes],
  sslcert: null,
  sslkey: null,
  sslnegotiation: ['postgres', 'direct'],
  sslrootcert: null,
  target_session_attrs: ['read-write', 'primary'],
} satisfies Record<string, readonly string[] | null>;
type Parameter = keyof typeof parameterValues;

/** The replacements for parameters and values of other clients. */
const remedies: Readonly<Record<string, string>> = {
  password: 'write it in front of the host, as user:password@host',
  user: 'write it in front of the host, as user:password@host',
  pgbouncer:
    "such a pooler gives each transaction another connection; give the address of a pooler in session mode, or the database's own (Supabase: port 5432)",
  hostaddr: 'give the address as the host',
  ssl: 'use sslmode',
};
const valueRemedies: Readonly<Record<string, string>> = {
  sslmode: '; the others may go on unencrypted, and no-verify is called require here',
  target_session_attrs: '; payments are written',
};

const defaultPort = 5432;
/** How long a payment waits for a connection, new or from the pool. */
const usualConnectTimeoutMs = 3_000;
const usualKeepAliveMs = 10_000;

const severalHosts =
  'it names several hosts: give one address that leads to the primary, such as that of the cluster, its proxy or its service';

/**
 * The address in a URL `postgres[ql]://user[:password]@host[:port]/database[?parameters]`; null for a URL with another protocol.
 * Names and passwords are percent-encoded in it.
 * Errors: AddressError.
 */
export function parsePostgresUrl(text: string): PostgresAddress | null {
  const [, authority, path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*)\/?([^?#]*)\??(.*)$/is.exec(text) ?? [];
  if (authority === undefined) return null;
  // A `/`, `?` or `#` that is not encoded would make a part of the password a name, which messages repeat.
  if (/[\s\p{Cc}#]/u.test(text) || /@/.test(path + query) || /@.*@/.test(authority))
    throw new AddressError(
      'percent-encode white space and the characters @ : / ? # in user, password and parameters',
    );
  const parameters = parseParameters(query);
  const given = (name: Parameter) => parameters.get(name) || undefined;
  const { user, password, host, port } = parseAuthority(authority, given('host'), given('port'));
  if (user === '') throw new AddressError('it has to name a user');
  if (host === '') throw new AddressError('it has to name a host');
  // Neon's pooler. The host without this word is the database's own.
  if (/-pooler\..*\.neon\.tech$/i.test(host))
    throw new AddressError(
      'this pooler gives each transaction another connection: leave "-pooler" out of the host',
    );
  const database = decoded(path);
  if (database === '' || path.includes('/')) throw new AddressError('it has to name a database');
  const tls = parseTls(given, host);
  const binding = given('channel_binding') ?? 'disable';
  if (binding === 'require' && tls === null)
    throw new AddressError('channel_binding=require needs TLS, and this address has none');
  return {
    ...{ host, port, user, password: password || undefined, database },
    // pg continues if a server offers no channel binding. A verified certificate protects as well.
    tls: tls?.mode === 'require' && binding === 'require' ? { ...tls, mode: 'verify-full' } : tls,
    application_name: given('application_name') ?? 'bankql',
    options: given('options'),
    enableChannelBinding: binding !== 'disable',
    sslnegotiation: given('sslnegotiation') === 'direct' ? 'direct' : 'postgres',
    connectionTimeoutMillis: milliseconds('connect_timeout', given) ?? usualConnectTimeoutMs,
    keepAlive: given('keepalives') !== '0',
    keepAliveInitialDelayMillis: milliseconds('keepalives_idle', given) ?? usualKeepAliveMs,
  };
}

function parseParameters(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const pair of query.split('&').filter((text) => text !== '')) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    const shown = /^\w{1,40}$/.test(name) ? name : 'one of its parameters';
    const values: readonly string[] | null | undefined = Object.entries(parameterValues).find(
      ([known]) => known === name,
    )?.[1];
    if (values === undefined)
      throw new AddressError(
        `${shown} is not supported: ${remedies[name] ?? `leave it out (${Object.keys(parameterValues).join(', ')} are)`}`,
      );
    if (parameters.has(name)) throw new AddressError(`it has ${name} twice`);
    // As in libpq, a `+` is a plus.
    const text = decoded(value);
    if (values !== null && text !== '' && !values.includes(text))
      throw new AddressError(`${name} is ${values.join(' or ')}${valueRemedies[name] ?? ''}`);
    parameters.set(name, text);
  }
  return parameters;
}

/** pg-connection-string does not get the other parameters: it would read files, and for it `require` means `verify-full`. */
function parseAuthority(authority: string, hostParameter?: string, portParameter?: string) {
  const parameters = new URLSearchParams();
  if (hostParameter !== undefined) parameters.set('host', hostParameter);
  if (portParameter !== undefined) parameters.set('port', portParameter);
  const hosts = authority.replace(/^.*@/, '') + (hostParameter ?? '') + (portParameter ?? '');
  if (hosts.includes(',')) throw new AddressError(severalHosts);
  decoded(authority);
  try {
    const { user = '', password = '', host, port } = parse(`postgres://${authority}/_?${parameters}`);
    const number = Number(port || defaultPort);
    if (/[\s@]/.test(host ?? '') || !(number >= 1 && number <= 65_535)) throw new Error();
    return { user, password, host: host ?? '', port: number };
  } catch {
    throw new AddressError('a host is written as name, name:port or [IPv6 address]:port');
  }
}

function parseTls(given: (name: Parameter) => string | undefined, host: string): PostgresTls | null {
  const [certificate, key, root] = [given('sslcert'), given('sslkey'), given('sslrootcert')];
  if ((certificate === undefined) !== (key === undefined))
    throw new AddressError('sslcert and sslkey belong together');
  const wantsTls = certificate !== undefined || root !== undefined;
  const wanted = given('sslmode') ?? (isLocal(host) && !wantsTls ? 'disable' : 'verify-full');
  const mode = tlsModes.find((each) => each === wanted);
  // As in libpq, a Unix socket has no TLS: nothing leaves the machine.
  if (mode !== undefined && !host.startsWith('/'))
    // `system` is libpq's name for the authorities that the system trusts.
    return { mode, rootCertificate: root === 'system' ? undefined : root, certificate, key };
  if (given('sslnegotiation') === 'direct')
    throw new AddressError('sslnegotiation=direct needs TLS, and this address has none');
  return null;
}

const isLocal = (host: string) => /^(\/.*|localhost|127(\.\d{1,3}){3}|::1)$/s.test(host);

function milliseconds(name: Parameter, given: (name: Parameter) => string | undefined): number | undefined {
  const text = given(name);
  if (text === undefined || text === '0') return undefined;
  if (!/^\d{1,4}$/.test(text)) throw new AddressError(`${name} is a number of seconds`);
  return Number(text) * 1_000;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressError('a % in it has to be written as %25');
  }
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

/** Like libpq: with a root certificate, `require` checks who signed. */
async function tlsOptions({ mode, rootCertificate, certificate, key }: PostgresTls) {
  const [ca, cert, privateKey] = await Promise.all(
    [rootCertificate, certificate, key].map((file) => file && readFile(file, 'utf8')),
  );
  if (cert && privateKey) checkKeyPair(cert, privateKey);
  return {
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ca,
    cert,
    key: privateKey,
  };
}
