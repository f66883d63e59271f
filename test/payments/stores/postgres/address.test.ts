import { expect, test } from 'vitest';
import { parsePostgresUrl, shownAddress } from '../../../../src/payments/stores/postgres/address.ts';

/** What is refused: open-store.test.ts. */

/** User and password, as an address has them. */
const who = 'm%40e:p%2F';

test.each([
  [
    'postgres://me@db/pay',
    { hosts: [{ host: 'db', port: 5432 }], user: 'me', password: undefined, database: 'pay' },
  ],
  ['postgres://me@db/pay', { tls: { mode: 'verify-full' } }],
  ['postgres://me@localhost,127.0.0.2,[::1]/pay', { tls: null }],
  ['postgres://me@127.example.org/pay', { tls: { mode: 'verify-full' } }],
  ['postgres://me@127.0.0.1.example.org/pay', { tls: { mode: 'verify-full' } }],
  ['postgres://me@localhost,db/pay', { tls: { mode: 'verify-full' } }],
  [
    'postgresql://me@db/pay?sslmode=require&sslrootcert=/ca.pem',
    { tls: { mode: 'require', rootCertificate: '/ca.pem' } },
  ],
  [
    `postgres://${who}@a,b:1,[::1]:2/pay?sslmode=disable`,
    {
      hosts: [
        { host: 'a', port: 5432 },
        { host: 'b', port: 1 },
        { host: '::1', port: 2 },
      ],
      user: 'm@e',
      password: 'p/',
      tls: null,
    },
  ],
  [
    'postgres://me@/pay?host=/run/postgresql',
    { hosts: [{ host: '/run/postgresql', port: 5432 }], tls: null },
  ],
])('reads %s', (url, parts) => {
  expect(parsePostgresUrl(url)).toMatchObject(parts);
});

test.each([
  [`postgres://${who}@a,b:1,[::1]/pay?sslmode=require`, 'postgres://a:5432,b:1,[::1]:5432/pay'],
  ['postgres://me@%2Frun%2Fpostgresql/pay', 'postgres:///run/postgresql:5432/pay'],
])('shows %s without who asks', (url, shown) => {
  expect(shownAddress(parsePostgresUrl(url) ?? expect.fail())).toBe(shown);
});

test('says of another URL that it is none of PostgreSQL', () => {
  for (const url of ['redis://localhost', 'sqlite:postgres://a', 'mypostgres://a/b'])
    expect(parsePostgresUrl(url)).toBeNull();
});
