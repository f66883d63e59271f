import { expect, test } from 'vitest';
import {
  clientOptions,
  parsePostgresUrl,
  shownAddress,
} from '../../../../src/payments/store/postgres/address.ts';

const read = (url: string) => parsePostgresUrl(url) ?? expect.fail();

/** User and password in the form of an address. */
const who = 'm%40e:p%2Fs%3A%20%23%25';

test.each([
  [
    'postgres://me@db/pay',
    { host: 'db', port: 5432, user: 'me', password: undefined, database: 'pay', application_name: 'bankql' },
  ],
  ['postgresql://me:pw@db:6432/pay', { host: 'db', port: 6432, password: 'pw' }],
  [`postgres://${who}@db/a%2Fb%20c`, { user: 'm@e', password: 'p/s: #%', database: 'a/b c' }],
  [
    'postgres://me@[2001:db8::7]:6543/pay',
    { host: '2001:db8::7', port: 6543, tls: { sslmode: 'verify-full' } },
  ],
  ['postgres://me@[::1]/pay', { host: '::1', tls: null }],
  ['postgres://me@localhost/pay', { tls: null }],
  ['postgres://me@127.0.0.2/pay', { tls: null }],
  ['postgres://me@127.example.org/pay', { tls: { sslmode: 'verify-full' } }],
  ['postgres://me@127.0.0.1.example.org/pay', { tls: { sslmode: 'verify-full' } }],
  ['postgres://me@db.example/pay?sslmode=disable', { tls: null }],
  ['postgres://me@localhost/pay?sslrootcert=/ca.pem', { tls: { sslmode: 'verify-full' } }],
  ['postgres://me@localhost/pay?sslmode=require', { tls: { sslmode: 'require' } }],
  ['postgres://me@db/pay?sslrootcert=/etc/a+b%20c.pem', { tls: { sslrootcert: '/etc/a+b c.pem' } }],
  ['postgres://me@db/pay?sslrootcert=system', { tls: { sslmode: 'verify-full', sslrootcert: undefined } }],
  ['postgres://me@/pay?host=/run/postgresql&port=6432', { host: '/run/postgresql', port: 6432, tls: null }],
  ['postgres://me@%2Frun%2Fpostgresql/pay', { host: '/run/postgresql', port: 5432, tls: null }],
  [
    'postgres://me@db/pay?keepalives=0&connect_timeout=10',
    { keepAlive: false, connectionTimeoutMillis: 10_000 },
  ],
  [
    'postgres://me@db/pay?keepalives=1&keepalives_idle=60',
    { keepAliveInitialDelayMillis: 60_000, connectionTimeoutMillis: 3_000 },
  ],
  [
    'postgres://me@db/pay?channel_binding=prefer',
    { enableChannelBinding: true, tls: { sslmode: 'verify-full' } },
  ],
])('the address %s is read', (url, parts) => {
  expect(read(url)).toMatchObject(parts);
});

test.each([
  [
    'Cloud SQL',
    'postgresql://app:pw@/pay?host=/cloudsql/my-project:europe-west1:pay-db',
    { host: '/cloudsql/my-project:europe-west1:pay-db', database: 'pay', password: 'pw', tls: null },
  ],
  [
    'RDS',
    'postgres://app:pw@pay.c9akciq32.eu-central-1.rds.amazonaws.com:5432/pay?sslmode=verify-full&sslrootcert=/certs/global-bundle.pem',
    { tls: { sslmode: 'verify-full', sslrootcert: '/certs/global-bundle.pem' } },
  ],
  [
    'Neon',
    'postgresql://app:pw@ep-cool-darkness-123456.eu-central-1.aws.neon.tech/pay?sslmode=require&channel_binding=require',
    // pg does not require channel binding, so the certificate has to identify the server.
    { enableChannelBinding: true, tls: { sslmode: 'verify-full' } },
  ],
  [
    'Neon, for clients without SNI',
    'postgresql://app:pw@ep-cool.aws.neon.tech/pay?sslnegotiation=direct&options=endpoint%3Dep-cool',
    { options: 'endpoint=ep-cool', sslnegotiation: 'direct', tls: { sslmode: 'verify-full' } },
  ],
  [
    'Supabase',
    'postgresql://postgres.abcdefgh:pw@aws-0-eu-central-1.pooler.supabase.com:5432/postgres?sslmode=require',
    { user: 'postgres.abcdefgh', tls: { sslmode: 'require' } },
  ],
  ['Heroku', 'postgres://u1a2:p3b4@ec2-1-2-3-4.compute-1.amazonaws.com:5432/d5c6', { database: 'd5c6' }],
  [
    'Azure',
    'postgres://app%40srv:pw@srv.postgres.database.azure.com:5432/pay?sslmode=require',
    { user: 'app@srv', tls: { sslmode: 'require' } },
  ],
  [
    'CloudNativePG and Patroni behind a service',
    'postgresql://app:pw@pay-rw.bank.svc:5432/pay?target_session_attrs=read-write&application_name=pay%20api',
    { host: 'pay-rw.bank.svc', application_name: 'pay api' },
  ],
])('reads the address that %s gives', (_, url, parts) => {
  expect(read(url)).toMatchObject(parts);
});

test.each([
  ['postgres://me:s3cr@a,b:1/pay', 'it names several hosts: give one address that leads to the primary'],
  ['postgres://me:s3cr@a:1,b:2/pay', 'several hosts'],
  ['postgres://me:s3cr@/pay?host=a,b', 'several hosts'],
  ['postgres://me:s3cr@db', 'it has to name a database'],
  ['postgres://me:s3cr@db/pay/other', 'it has to name a database'],
  ['postgres://db/pay', 'it has to name a user'],
  ['postgres://me:s3cr@/pay', 'it has to name a host'],
  ['postgres://me:s3cr@db:99999/pay', 'a host is written as'],
  ['postgres://me:s3cr@[::1/pay', 'a host is written as'],
  ['postgres://me:s3cr@db/pay?port=x', 'a host is written as'],
  ['postgres://me:s3c@r@db/pay', 'percent-encode'],
  ['postgres://me:s3c#r@db/pay', 'percent-encode'],
  ['postgres://me:5?s3cr=x@db/pay', 'percent-encode'],
  ['postgres://me:5/s3cr@db/pay', 'percent-encode'],
  ['postgres://me:s3cr@db/pay\n', 'white space'],
  ['postgres://me:s3cr%@db/pay', 'written as %25'],
  ['postgres://me:s3cr%ff@db/pay', 'written as %25'],
  [
    'postgres://me:s3cr@db/pay?sslmode=prefer',
    'sslmode is disable or require or verify-ca or verify-full; the others may go on unencrypted',
  ],
  ['postgres://me:s3cr@db/pay?sslmode=allow', 'sslmode is'],
  ['postgres://me:s3cr@db/pay?sslmode=no-verify', 'no-verify is called require here'],
  ['postgres://me:s3cr@db/pay?sslmode=require&sslmode=disable', 'sslmode twice'],
  ['postgres://me:s3cr@db/pay?sslcert=x', 'sslcert and sslkey belong together'],
  ['postgres://me:s3cr@localhost/pay?sslnegotiation=direct', 'sslnegotiation=direct needs TLS'],
  ['postgres://me:s3cr@localhost/pay?channel_binding=require', 'channel_binding=require needs TLS'],
  ['postgres://me:s3cr@db/pay?target_session_attrs=any', 'target_session_attrs is read-write or primary'],
  ['postgres://me:s3cr@db/pay?connect_timeout=soon', 'connect_timeout is a number of seconds'],
  ['postgres://me@db/pay?password=s3cr', 'password is not supported: write it in front of the host'],
  [
    'postgres://me:s3cr@db:6543/pay?pgbouncer=true&connection_limit=1',
    'pgbouncer is not supported: .*session mode.*Supabase: port 5432',
  ],
  [
    'postgres://me:s3cr@ep-cool-name-123456-pooler.eu-central-1.aws.neon.tech/pay',
    'another connection: leave "-pooler" out of the host',
  ],
  ['postgres://me:s3cr@db/pay?keepalives_interval=5', 'keepalives_interval is not supported: leave it out'],
  ['postgres://me:s3cr@db/pay?tcp_user_timeout=5', 'tcp_user_timeout is not supported'],
  ['postgres://me:s3cr@db/pay?ssl=true', 'ssl is not supported: use sslmode'],
  ['postgres://me:s3cr@db/pay?s3cr.1=2', 'one of its parameters is not supported'],
])('the error for %s says what is wrong, and shows no password', (url, reason) => {
  expect(() => parsePostgresUrl(url)).toThrow(
    expect.objectContaining({
      name: 'AddressError',
      message: expect.stringMatching(new RegExp(reason)),
    }),
  );
  expect(() => parsePostgresUrl(url)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('s3c') }),
  );
});

test.each([
  [`postgres://${who}@db:1/pay?sslmode=require`, 'postgres://db:1/pay'],
  ['postgres://me@[::1]/pay', 'postgres://[::1]:5432/pay'],
  ['postgres://me@/pay?host=/cloudsql/a:b:c', 'postgres:///cloudsql/a:b:c:5432/pay'],
])('the address %s is shown without its user and password', (url, shown) => {
  expect(shownAddress(read(url))).toBe(shown);
});

test.each(['redis://localhost', 'sqlite:postgres://a', 'mypostgres://a/b', 'memory:'])(
  '%s is no address of PostgreSQL',
  (url) => {
    expect(parsePostgresUrl(url)).toBeNull();
  },
);

/** The options of a TLS connection for Node, unchanged since 0.4. */
const checked = { rejectUnauthorized: true };
const unnamed = { ...checked, checkServerIdentity: expect.any(Function) };
const unchecked = { ...unnamed, rejectUnauthorized: false };

test.each([
  ['me@db/pay', checked],
  ['me@db/pay?sslmode=', checked],
  ['me@db/pay?sslmode=disable', false],
  ['me@db/pay?sslmode=require', unchecked],
  ['me@db/pay?sslmode=require&sslrootcert=CA', { ...unnamed, ca: expect.any(String) }],
  ['me@db/pay?sslmode=verify-ca', unnamed],
  ['me@db/pay?sslmode=verify-full&sslrootcert=system', checked],
  ['me@db/pay?channel_binding=require&sslmode=require', checked],
  [
    'me@db/pay?channel_binding=require&sslmode=verify-ca&sslrootcert=CA',
    { ...unnamed, ca: expect.any(String) },
  ],
  ['me@localhost/pay', false],
  ['me@[::1]/pay', false],
  ['me@127.0.0.1/pay?sslmode=require', unchecked],
  ['me@localhost/pay?sslrootcert=CA', { ...checked, ca: expect.any(String) }],
  ['me@127.0.0.1.example/pay', checked],
  ['me@%2Frun%2Fpg/pay?sslmode=verify-full', false],
  ['me@/pay?host=/run/pg', false],
])('the connection to postgres://%s has the same TLS options as in 0.4', async (url, protection) => {
  const { ssl } = await clientOptions(read(`postgres://${url.replace('=CA', `=${import.meta.filename}`)}`));
  expect(ssl).toEqual(protection);
  // If Node checks the name itself, the options contain no function.
  expect(Object.hasOwn(Object(ssl), 'checkServerIdentity')).toBe(
    Object.hasOwn(Object(protection), 'checkServerIdentity'),
  );
});

test('pg gets the parameters, and takes no password from its environment', async () => {
  const url =
    'postgres://me@db/pay?channel_binding=require&options=endpoint%3De&keepalives_idle=9&sslnegotiation=direct';
  const options = await clientOptions(read(url));
  expect(options).toMatchObject({
    options: 'endpoint=e',
    enableChannelBinding: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 9_000,
    sslnegotiation: 'direct',
    ssl: { rejectUnauthorized: true },
  });
  expect(options.password()).toBe('');
});
