import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/payments/stores/open-store.ts';
import { testFolder } from '../../support/test-folder.ts';
import { pending, retentionMs, start } from './store-conformance.ts';

const folder = testFolder();

test('opens memory:', async () => {
  const store = await openStore('memory:', { retentionMs });
  expect(await store.begin(pending(), start)).toBeNull();
  await store.close();
});

test.each([
  ['absolute', join(folder, 'a', 'state.db')],
  ['relative', relative('.', join(folder, 'b', 'state.db'))],
])('opens a file with a path that is %s', async (_, path) => {
  const store = await openStore(`sqlite:${path}`, { timeoutMs: 60_000, retentionMs });
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
])('refuses %j, and names what is allowed', async (url) => {
  await expect(openStore(url, { retentionMs })).rejects.toThrow(`STATE_URL is ${url}`);
  await expect(openStore(url, { retentionMs })).rejects.toThrow(/memory:.+sqlite:PATH/);
});

/** Who asks, as an address has it. */
const [ops, at] = ['ops:s3cr', 'ops:s3c@r'];
// More of them: address.test.ts.
test.each([
  [`postgres://${ops}@db`, 'it has to name a database'],
  [`postgres://${at}@a/pay`, 'percent-encode'],
  [`postgres://${ops}@a,b/pay`, 'it names several hosts'],
  ['postgresql://ops@a/pay?password=s3cr', 'password is not supported'],
])('says what is wrong with %s, and not the password', async (url, reason) => {
  const refused = openStore(url, { retentionMs });
  await expect(refused).rejects.toThrow(/^STATE_URL is postgres.+, which cannot be used: /);
  await expect(refused).rejects.toThrow(reason);
  await expect(refused).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringMatching(/s3c/) }),
  );
});

test.each([
  ['redis://ops:s3c/r@t@cache:6379', 'redis://***@cache:6379'],
  ['redis:ops:s3cr@cache', 'redis:***@cache'],
  ['redis://cache?password=s3cr', 'redis://cache?***'],
  ['redis://ops:s3cr%@cache', 'redis://***@cache'],
  ['redis+sentinel://ops:s3/cr@a,b/pay', 'redis+sentinel://***@a,b/pay'],
])('does not repeat a password: %s', async (url, shown) => {
  const refused = openStore(url, { retentionMs });
  await expect(refused).rejects.toThrow(`STATE_URL is ${shown}, which`);
  await expect(refused).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringMatching(/s3c|ops/) }),
  );
});

test.each(['redis://cache', 'rediss://cache:6380/2', 'redis+sentinel://a,b/pay'])(
  'refuses %s with one sentence that says why, and what to use',
  async (url) => {
    await expect(openStore(url, { retentionMs })).rejects.toThrow(
      `STATE_URL is ${url}, which cannot be used: Redis no longer stores payments, because a failover or a restart can lose records that it confirmed, and lost records are payments sent twice: use postgres://… for several machines, or sqlite:PATH for one.`,
    );
  },
);
