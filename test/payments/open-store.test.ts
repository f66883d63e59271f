import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openStore } from '../../src/payments/open-store.ts';
import { pending, retentionMs, start } from './store-conformance.ts';

const folder = mkdtempSync(join(tmpdir(), 'bankql-open-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('opens memory:', async () => {
  const store = await openStore('memory:', { retentionMs });
  expect(await store.begin(pending(), start)).toBeNull();
  await store.close();
});

it.each([
  ['absolute', join(folder, 'a', 'state.db')],
  ['relative', relative('.', join(folder, 'b', 'state.db'))],
])('opens a file with a path that is %s', async (_, path) => {
  const store = await openStore(`sqlite:${path}`, { retentionMs });
  expect(existsSync(path)).toBe(true);
  expect(await store.begin(pending(), start)).toBeNull();
  await store.close();
});

it.each([
  '',
  'memory',
  'memory:x',
  'sqlite',
  'sqlite:',
  'sqlite::memory:',
  'sqlite://state.db',
  'SQLITE:x',
  'redis://localhost:6379',
  'file:/tmp/state.db',
])('refuses %j, and names what is allowed', async (url) => {
  await expect(openStore(url, { retentionMs })).rejects.toThrow(`STATE_URL is ${url}`);
  await expect(openStore(url, { retentionMs })).rejects.toThrow(/memory:.+sqlite:PATH/);
});

it('does not repeat a password', async () => {
  const refused = openStore('redis://ops:s3c/r@t@cache:6379', { retentionMs });
  await expect(refused).rejects.toThrow('redis://***@cache:6379');
  await expect(refused).rejects.not.toThrow(/s3c|ops/);
});
