import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { backupStore } from '../../../../src/payments/stores/sqlite/backup.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { openSqliteStore as open } from '../opened-stores.ts';
import { done, lease, pending, stored } from '../store-conformance.ts';

const root = testFolder();
let files = 0;
const freshPath = () => join(root, `store-${++files}`, 'state.db');
const { trackId } = pending();

test('a backup while payments go on is one complete store, for its owner alone', async () => {
  const path = freshPath();
  const store = await open(path);
  const pay = async (n: number) => {
    await store.begin(pending({ id: `p-${n}` }), lease);
    await store.end({ id: `p-${n}`, trackId, outcome: done });
  };
  for (let n = 0; n < 50; n++) await pay(n);
  const copy = join(root, 'backup.db');
  const [counts] = await Promise.all([
    backupStore(path, copy),
    ...Array.from({ length: 50 }, (_, n) => pay(50 + n)),
  ]);
  expect(counts.records).toBeGreaterThanOrEqual(50);
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  expect(readdirSync(root).filter((name) => name.startsWith('backup.db'))).toEqual(['backup.db']);

  // Put back by hand: stop, move, copy, start.
  const restored = await open(copy, { create: false });
  expect(restored.secret).toBe(store.secret);
  expect(await restored.search({})).toHaveLength(counts.records);
  expect(await restored.begin(pending({ id: 'p-0', trackId: 'again' }), lease)).toEqual(
    stored({ id: 'p-0', ...done }),
  );
});

test('a backup of a file that nobody serves leaves nothing next to it', async () => {
  const path = freshPath();
  await (await open(path)).close();
  await backupStore(path, join(root, 'idle.db'));
  expect(readdirSync(dirname(path))).toEqual(['state.db']);
});

test('a damaged or empty file, and one that is no store, leave no copy', async () => {
  const path = freshPath();
  const store = await open(path);
  for (let n = 0; n < 200; n++) await store.begin(pending({ id: `p-${n}` }), lease);
  await store.close();
  const target = join(root, 'none.db');
  const other = join(root, 'other.db');
  using database = new DatabaseSync(other);
  database.exec('CREATE TABLE bookmark (url TEXT)');
  await expect(backupStore(other, target)).rejects.toThrow('it belongs to another program');
  const damaged = join(root, 'damaged.db');
  const bytes = Buffer.alloc(statSync(path).size, 'x');
  writeFileSync(damaged, bytes);
  await expect(backupStore(damaged, target)).rejects.toThrow(`${damaged} was not copied to ${target}`);
  await expect(backupStore(join(root, 'missing.db'), target)).rejects.toThrow('was not copied');
  expect(readdirSync(root).filter((name) => name.startsWith('none.db'))).toEqual([]);
  expect(existsSync(target)).toBe(false);
});
