import { expect, test } from 'vitest';
import { parseStoreUrl, passwordsOf, shownStoreUrl } from '../../../src/payments/stores/store-address.ts';

/** Who asks, as an address has it. */
const [ops, slash] = ['ops:s3cr', 'ops:s3/cr'];

test.each([
  ['memory:', { kind: 'memory' }],
  ['sqlite:a/b.db', { kind: 'sqlite', path: 'a/b.db' }],
  [`postgres://${ops}@a/pay`, { kind: 'postgres', address: { database: 'pay', password: 's3cr' } }],
])('reads %s', (url, named) => {
  expect(parseStoreUrl(url)).toMatchObject(named);
});

// What else is refused: address.test.ts and open-store.test.ts.

test.each([
  'sqlite:s.db\n',
  'sqlite:s.db ',
  'sqlite:s.db\r\n',
  ' memory:',
  '\uFEFFsqlite:s.db',
  'sqlite:a\tb',
  'postgres://me@a/pay\n',
])('refuses %j: without its white space it would be another store', (url) => {
  expect(() => parseStoreUrl(url)).toThrow('white space');
});

test.each([
  [`redis://${slash}@a/x`, 'redis://…@a/x'],
  [`redis:${ops}@a`, 'redis:…@a'],
  ['postgres://a/pay?password=s3cr', 'postgres://a/pay?…'],
  ['redis://a#s3cr', 'redis://a?…'],
  ['redis://:s3cr', 'redis://…'],
  ['postgres://ops:s3cr/a:1/pay', 'postgres://…'],
  ['redis+sentinel://a:1,b:99999/pay/x', 'redis+sentinel://a:1,b:99999/pay/x'],
])('shows of %s nothing that may be a password', (url, shown) => {
  expect(shownStoreUrl(url, '…')).toBe(shown);
});

/** User and password, as an address has them. */
const who = 'me:p%2F%40';

test.each([`postgres://${who}@a/pay`, `postgresql://${who}@a/pay?sslmode=require`])(
  'knows the password of %s, as it is written and as it is sent',
  (url) => {
    expect(passwordsOf(url)).toEqual(expect.arrayContaining(['p%2F%40', 'p/@']));
  },
);

test.each(['memory:', 'sqlite:x', 'postgres://me@a/pay'])('finds no password in %s', (url) => {
  expect(passwordsOf(url)).toEqual([]);
});

test('knows the written password of an address that cannot be used', () => {
  expect(passwordsOf(`postgres://${who}@a`)).toEqual(['p%2F%40']);
});
