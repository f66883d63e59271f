import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/payments/store/open-store.ts';
import { parseStoreUrl, passwordsOf } from '../../../src/payments/store/store-address.ts';
import { testFolder } from '../../support/test-folder.ts';
import { pending, retentionMs, start } from './store-conformance.ts';

const folder = testFolder();

test('memory: opens a store in memory', async () => {
  const store = await openStore('memory:', { retentionMs });
  expect(await store.begin(pending(), start)).toBeNull();
  await store.close();
});

test.each([
  ['absolute', join(folder, 'a', 'state.db')],
  ['relative', relative('.', join(folder, 'b', 'state.db'))],
])('sqlite: opens a file by a path that is %s', async (_, path) => {
  const store = await openStore(`sqlite:${path}`, { timeoutMs: 60_000, retentionMs, create: true });
  expect(existsSync(path)).toBe(true);
  expect(await store.begin(pending(), start)).toBeNull();
  await store.close();
});

test.each([
  '',
  'memory',
  'memory:x',
  'sqlite',
  'sqlite:',
  'sqlite::memory:',
  'sqlite://state.db',
  'SQLITE:x',
  'file:/tmp/state.db',
  'mysql://a/pay',
])('%j is refused, and the error names what is allowed', async (url) => {
  await expect(openStore(url, { retentionMs })).rejects.toThrow(`STATE_URL is ${url}`);
  await expect(openStore(url, { retentionMs })).rejects.toThrow(/memory:.+sqlite:PATH/);
});

/** The credentials of an address: user and password. */
const [ops, at] = ['ops:s3cr', 'ops:s3c@r'];
const unknown = 'it names no payment store';
// More reasons: postgres-url.test.ts.
test.each([
  [`postgres://${ops}@db`, 'postgres://***@db', 'it has to name a database'],
  [`postgres://${at}@a/pay`, 'postgres://***@a/pay', 'percent-encode'],
  [`postgres://${ops}@a,b/pay`, 'postgres://***@a,b/pay', 'it names several hosts'],
  ['postgres://a/pay?password=s3cr', 'postgres://a/pay?***', 'password is not supported'],
  ['postgres://ops:s3cr/a:1/pay', 'postgres://***', 'a host is written as'],
  ['redis://ops:s3c/r@t@cache:6379', 'redis://***@cache:6379', unknown],
  ['redis:ops:s3cr@cache', 'redis:***@cache', unknown],
  ['redis://cache?password=s3cr', 'redis://cache?***', unknown],
  ['redis://ops:s3cr%@cache', 'redis://***@cache', unknown],
  ['redis+sentinel://ops:s3/cr@a,b/pay', 'redis+sentinel://***@a,b/pay', unknown],
  ['redis://a#s3cr', 'redis://a?***', unknown],
  ['redis://:s3cr', 'redis://***', unknown],
  ['redis+sentinel://a:1,b:99999/pay/x', 'redis+sentinel://a:1,b:99999/pay/x', unknown],
])('the error for %s says what is wrong, and shows no password', async (url, shown, reason) => {
  const refused = openStore(url, { retentionMs });
  await expect(refused).rejects.toThrow(`STATE_URL is ${shown}, which cannot be used: `);
  await expect(refused).rejects.toThrow(reason);
  await expect(refused).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringMatching(/s3c|ops/) }),
  );
});

describe('the address of a payment store', () => {
  test.each([
    ['memory:', { kind: 'memory' }],
    ['sqlite:a/b.db', { kind: 'sqlite', path: 'a/b.db' }],
    [`postgres://${ops}@a/pay`, { kind: 'postgres', address: { database: 'pay', password: 's3cr' } }],
  ])('is read: %s', (url, named) => {
    expect(parseStoreUrl(url)).toMatchObject(named);
  });

  test.each([
    'sqlite:s.db\n',
    'sqlite:s.db ',
    'sqlite:s.db\r\n',
    ' memory:',
    '\uFEFFsqlite:s.db',
    'sqlite:a\tb',
    'postgres://me@a/pay\n',
  ])('is refused with white space, because without it another store is meant: %j', (url) => {
    expect(() => parseStoreUrl(url)).toThrow('white space');
  });

  /** User and password, as an address has them. */
  const who = 'me:p%2F%40';

  test.each([`postgres://${who}@a/pay`, `postgresql://${who}@a/pay?sslmode=require`])(
    'has its password found, as it is written and as it is sent: %s',
    (url) => {
      expect(passwordsOf(url)).toEqual(expect.arrayContaining(['p%2F%40', 'p/@']));
    },
  );

  test.each(['memory:', 'sqlite:x', 'postgres://me@a/pay'])('has no password: %s', (url) => {
    expect(passwordsOf(url)).toEqual([]);
  });

  test('has its password found although it cannot be used', () => {
    expect(passwordsOf(`postgres://${who}@a`)).toEqual(['p%2F%40']);
  });
});
