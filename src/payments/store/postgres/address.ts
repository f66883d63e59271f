import { readFile } from 'node:fs/promises';
import type { PoolConfig } from 'pg';
import { parse } from 'pg-connection-string';
import { z } from 'zod';
import { checkKeyPair } from '../../../key-pair.ts';

/** The address of a PostgreSQL, the role and its password, and further options of pg, as it names them. */
export type PostgresAddress = NonNullable<ReturnType<typeof parsePostgresUrl>>;

/** An invalid address. The message repeats no part of it that may be a password. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

const oneOf = <const T extends readonly string[]>(values: T, rest = '') =>
  z.enum(values, `is ${values.join(' or ')}${rest}`);

/** The time for which a payment waits for a connection, new or from the pool, in milliseconds. */
const usualConnectTimeoutMs = 3_000;
const usualKeepAliveMs = 10_000;

/** Converts seconds to milliseconds; 0 means the default. */
const seconds = (usualMs: number) =>
  z
    .string()
    .regex(/^\d{1,4}$/, 'is a number of seconds')
    .transform((digits) => Number(digits) * 1_000 || usualMs)
    .default(usualMs);

/** The parameters that bankql accepts, as libpq names them. */
const parameters = z.strictObject({
  host: z.string().default(''),
  port: z.string().default(''),
  application_name: z.string().default('bankql'),
  options: z.string().optional(),
  sslcert: z.string().optional(),
  sslkey: z.string().optional(),
  sslrootcert: z.string().optional(),
  connect_timeout: seconds(usualConnectTimeoutMs),
  keepalives_idle: seconds(usualKeepAliveMs),
  keepalives: oneOf(['0', '1']).default('1'),
  channel_binding: oneOf(['disable', 'prefer', 'require']).default('disable'),
  /**
   * As in libpq: `require` only encrypts, `verify-ca` also checks the certificate's issuer, and `verify-full` the issuer and
   * the name.
   */
  sslmode: oneOf(
    ['disable', 'require', 'verify-ca', 'verify-full'],
    '; the others may go on unencrypted, and no-verify is called require here',
  ).optional(),
  sslnegotiation: oneOf(['postgres', 'direct']).default('postgres'),
  target_session_attrs: oneOf(['read-write', 'primary'], '; payments are written').optional(),
});
type Parameters = z.infer<typeof parameters>;

/** The remedies for parameters of other clients. */
const remedies: Readonly<Record<string, string>> = {
  password: 'write it in front of the host, as user:password@host',
  user: 'write it in front of the host, as user:password@host',
  pgbouncer:
    "such a pooler gives each transaction another connection; give the address of a pooler in session mode, or the database's own (Supabase: port 5432)",
  hostaddr: 'give the address as the host',
  ssl: 'use sslmode',
};

function refuse(isWrong: boolean, message: string): void {
  if (isWrong) throw new AddressError(message);
}

/**
 * The address in a URL `postgres[ql]://user[:password]@host[:port]/database[?parameters]`; null for a URL
 * with another protocol. Names and passwords are percent-encoded in the URL. Errors: AddressError.
 */
export function parsePostgresUrl(text: string) {
  const [, authority, path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*)\/?([^?#]*)\??(.*)$/is.exec(text) ?? [];
  if (authority === undefined) return null;
  // A password with an unencoded `/`, `?` or `#` is refused: a part of it would become a name, and messages
  // repeat names.
  refuse(
    /[\s\p{Cc}#]/u.test(text) || /@/.test(path + query) || /@.*@/.test(authority),
    'percent-encode white space and the characters @ : / ? # in user, password and parameters',
  );
  refuse(!isEncoded(text), 'a % in it has to be written as %25');
  const given = parseParameters(query);
  const { user, password, host, port } = parseAuthority(authority, given);
  refuse(user === '', 'it has to name a user');
  refuse(host === '', 'it has to name a host');
  // This is Neon's pooler: the host without `-pooler` is that of the database itself.
  refuse(
    /-pooler\..*\.neon\.tech$/i.test(host),
    'this pooler gives each transaction another connection: leave "-pooler" out of the host',
  );
  refuse(path === '' || path.includes('/'), 'it has to name a database');
  const { application_name, options, channel_binding, sslnegotiation } = given;
  const tls = parseTls(given, host);
  const noTls = 'needs TLS, and this address has none';
  refuse(tls === null && channel_binding === 'require', `channel_binding=require ${noTls}`);
  refuse(tls === null && sslnegotiation === 'direct', `sslnegotiation=direct ${noTls}`);
  return {
    ...{ user, password, host, port, database: decodeURIComponent(path), tls },
    ...{ application_name, options, sslnegotiation, enableChannelBinding: channel_binding !== 'disable' },
    connectionTimeoutMillis: given.connect_timeout,
    keepAlive: given.keepalives === '1',
    keepAliveInitialDelayMillis: given.keepalives_idle,
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
  // As in libpq, `+` means a plus sign, and not a blank.
  const given = [...new URLSearchParams(query.replaceAll('+', '%2B'))];
  const names = given.map(([name]) => name);
  const { data, error } = parameters.safeParse(
    Object.fromEntries(given.map(([name, value]) => [name, value || undefined])),
  );
  const [issue] = error?.issues ?? [];
  if (issue?.code === 'unrecognized_keys') {
    const [name = ''] = issue.keys;
    const shown = /^\w{1,40}$/.test(name) ? name : 'one of its parameters';
    const remedy = remedies[name] ?? `leave it out (${Object.keys(parameters.shape).join(', ')} are)`;
    throw new AddressError(`${shown} is not supported: ${remedy}`);
  }
  if (data === undefined) throw new AddressError(`${issue?.path.join()} ${issue?.message}`);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  refuse(twice !== undefined, `it has ${twice} twice`);
  return data;
}

/** pg-connection-string does not get the other parameters: it would read files, and for it `require` means `verify-full`. */
function parseAuthority(authority: string, { host: given, port: givenPort }: Parameters) {
  refuse(
    (authority.replace(/^.*@/, '') + given + givenPort).includes(','),
    'it names several hosts: give one address that leads to the primary, such as that of the cluster, its proxy or its service',
  );
  try {
    const query = new URLSearchParams({ host: given, port: givenPort });
    const { user = '', password, host, port } = parse(`postgres://${authority}/_?${query}`);
    const number = Number(port || 5432);
    if (/[\s@]/.test(host ?? '') || !(number >= 1 && number <= 65_535)) throw new Error();
    return { user, password: password || undefined, host: host ?? '', port: number };
  } catch {
    throw new AddressError('a host is written as name, name:port or [IPv6 address]:port');
  }
}

/** The protection of the connections, and the paths of the certificate files; null if the connections are not encrypted. */
function parseTls({ sslmode, sslcert, sslkey, sslrootcert, channel_binding }: Parameters, host: string) {
  refuse((sslcert === undefined) !== (sslkey === undefined), 'sslcert and sslkey belong together');
  const isLocal = /^(\/.*|localhost|127(\.\d{1,3}){3}|::1)$/s.test(host);
  const usual = isLocal && (sslcert ?? sslrootcert) === undefined ? 'disable' : 'verify-full';
  const mode = sslmode ?? usual;
  // As in libpq, a Unix socket has no TLS: nothing leaves the machine.
  if (mode === 'disable' || host.startsWith('/')) return null;
  return {
    // pg continues if a server offers no channel binding. A verified certificate gives the same protection.
    sslmode: mode === 'require' && channel_binding === 'require' ? 'verify-full' : mode,
    // `system` is libpq's name for the authorities that the system trusts.
    sslrootcert: sslrootcert === 'system' ? undefined : sslrootcert,
    sslcert,
    sslkey,
  };
}

/** The address for messages: without the role and its password. */
export const shownAddress = ({ host, port, database }: PostgresAddress): string =>
  `postgres://${host.includes(':') && !host.startsWith('/') ? `[${host}]` : host}:${port}/${database}`;

/** Options with which pg connects. Errors: those of a file that cannot be used. */
export const clientOptions = async ({ tls, password, ...address }: PostgresAddress) =>
  ({
    ...address,
    // The password is a function, because otherwise pg may take one from the environment or a file.
    password: () => password ?? '',
    ssl: tls !== null && (await tlsOptions(tls)),
  }) satisfies PoolConfig;

/** As in libpq, `require` checks the issuer if there is a root certificate. */
async function tlsOptions({ sslmode, ...files }: NonNullable<PostgresAddress['tls']>) {
  const [ca, cert, key] = await Promise.all(
    [files.sslrootcert, files.sslcert, files.sslkey].map((file) => file && readFile(file, 'utf8')),
  );
  if (cert && key) checkKeyPair(cert, key);
  return {
    rejectUnauthorized: sslmode !== 'require' || ca !== undefined,
    ...(sslmode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ...{ ca, cert, key },
  };
}
