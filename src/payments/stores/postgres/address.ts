import { readFile } from 'node:fs/promises';

/** The address of a PostgreSQL cluster, the role and its password, and the protection of the connections. */
export interface PostgresAddress {
  /** One server, or the members of a cluster; one of them takes writes. */
  readonly hosts: readonly PostgresHost[];
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** Null where the connections are not encrypted. */
  readonly tls: PostgresTls | null;
  readonly applicationName: string;
}

export interface PostgresHost {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

interface PostgresTls {
  /** As in libpq: `require` only encrypts, `verify-ca` also checks the certificate's issuer, `verify-full` its name as well. */
  readonly mode: 'require' | 'verify-ca' | 'verify-full';
  /** Files. */
  readonly rootCertificate: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** What is wrong with an address. The message repeats nothing of it, since it may hold a password. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

const defaultPort = 5432;
const schema = /^postgres(?:ql)?:\/\//i;
const url = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#@]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/i;
const known = [
  ...['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'],
  ...['application_name', 'target_session_attrs'],
];

/**
 * The address in a URL `postgres[ql]://user[:password]@host[:port][,host[:port]…]/database[?parameters]`; null for a URL
 * with another protocol. Names and passwords are percent-encoded in it.
 * Errors: AddressError.
 */
export function parsePostgresUrl(text: string): PostgresAddress | null {
  if (!schema.test(text)) return null;
  const parts = url.exec(text);
  if (parts === null) throw new AddressError('it cannot be read: percent-encode what user and password hold');
  const [, who = '', hostList = '', path = '', query = ''] = parts;
  const parameters = new URLSearchParams(query);
  if ([...parameters.keys()].some((name) => !known.includes(name)))
    throw new AddressError(`of parameters it takes ${known.join(', ')}`);
  const [, user = '', password] = /^([^:]*)(?::(.*))?$/s.exec(who) ?? [];
  if (user === '') throw new AddressError('it has to name a user');
  const database = decoded(path);
  if (database === '') throw new AddressError('it has to name a database');
  const hosts = parseHosts(hostList === '' ? (parameters.get('host') ?? '') : hostList);
  const attributes = parameters.get('target_session_attrs') ?? 'read-write';
  if (attributes !== 'read-write' && attributes !== 'primary')
    throw new AddressError('target_session_attrs can only be read-write: payments are written');
  return {
    hosts,
    user: decoded(user),
    password: password === undefined ? undefined : decoded(password) || undefined,
    database,
    tls: parseTls(parameters, hosts),
    applicationName: parameters.get('application_name') || 'bankql',
  };
}

function parseHosts(list: string): PostgresHost[] {
  if (list === '') throw new AddressError('it has to name a host');
  return list.split(',').map((text) => {
    const [, bracketed, plain, port] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
    const host = bracketed ?? decoded(plain ?? '');
    if (host === '' || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535)
      throw new AddressError('a host is written as name, name:port or [IPv6 address]:port');
    return { host, port: Number(port ?? defaultPort) };
  });
}

function parseTls(parameters: URLSearchParams, hosts: readonly PostgresHost[]): PostgresTls | null {
  const mode = parameters.get('sslmode') ?? (hosts.every(isLocal) ? 'disable' : 'verify-full');
  const file = (name: string) => parameters.get(name) || undefined;
  const [certificate, key] = [file('sslcert'), file('sslkey')];
  if ((certificate === undefined) !== (key === undefined))
    throw new AddressError('sslcert and sslkey belong together');
  if (mode === 'disable') return null;
  if (mode !== 'require' && mode !== 'verify-ca' && mode !== 'verify-full')
    throw new AddressError(
      'sslmode is disable, require, verify-ca or verify-full; others may go on unencrypted',
    );
  return { mode, rootCertificate: file('sslrootcert'), certificate, key };
}

const isLocal = ({ host }: PostgresHost) => /^(\/.*|localhost|127(\.\d{1,3}){3}|::1)$/s.test(host);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressError('a % in it has to be written as %25');
  }
}

/** The address for messages: without the role and its password. */
export function shownAddress({ hosts, database }: PostgresAddress): string {
  return `postgres://${hosts.map(shownHost).join()}/${database}`;
}

export const shownHost = ({ host, port }: PostgresHost): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Options with which pg connects to a host, by default the first. Errors: those of a file that cannot be read. */
export const clientOptions = async (address: PostgresAddress, host = address.hosts[0]) => ({
  ...host,
  user: address.user,
  database: address.database,
  // A function, so that no password is taken from elsewhere.
  password: () => address.password ?? '',
  // Like libpq: what goes through a Unix socket does not leave the machine.
  ssl: address.tls === null || host?.host.startsWith('/') === true ? false : await tlsOptions(address.tls),
  application_name: address.applicationName,
});

/** Like libpq: with a root certificate, `require` checks who signed. */
async function tlsOptions({ mode, rootCertificate, certificate, key }: PostgresTls) {
  const [ca, cert, privateKey] = await Promise.all(
    [rootCertificate, certificate, key].map((file) => file && readFile(file, 'utf8')),
  );
  return {
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ca,
    cert,
    key: privateKey,
  };
}
