import fs, {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import type { PaymentStore } from '../../../../src/payments/store.ts';
import { backupStore, restoreStore } from '../../../../src/payments/stores/sqlite/backup.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { openSqlite as open } from '../opened-stores.ts';
import { done, pending, start, stored } from '../store-conformance.ts';

const root = testFolder();
let folders = 0;
const freshPath = () => join(root, `${++folders}`, 'state.db');

const begin = (store: PaymentStore, ...ids: string[]) =>
  Promise.all(ids.map((id, n) => store.begin(pending({ id, createdAt: start + n }), start)));

const decision = { by: 'Ada: the disk broke', now: start } as const;

/** What the file says was decided about it, for whoever asks later. */
function decisions(path: string) {
  using database = new DatabaseSync(path, { readOnly: true });
  return JSON.parse(String(database.prepare('SELECT text FROM meta').get()?.text)).decisions;
}

describe('a backup', () => {
  test('of an open store holds what its log alone holds, in one file for its owner alone', async () => {
    const path = freshPath();
    const store = await open(path);
    await begin(store, 'a', 'b', 'c');
    await store.end({
      id: 'b',
      trackId: pending().trackId,
      outcome: { ...done, state: 'UNKNOWN' },
      at: start + 5,
    });
    // Nothing of it is in the file itself yet.
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    const target = join(dirname(path), 'backup.db');
    const contents = await backupStore(path, target);
    expect(contents).toMatchObject({ records: 3, pending: 2, unknown: 1, began: 3, newestAt: start + 2 });
    expect(statSync(target).mode & 0o777).toBe(0o600);
    await begin(store, 'd');
    await store.close();
    expect(readdirSync(dirname(path)).sort()).toEqual(['backup.db', 'state.db', 'state.db.mark']);

    const copy = await open(target);
    expect(await copy.search({}, start)).toHaveLength(3);
    expect(await copy.find('a', start)).toEqual(stored({ id: 'a' }));
  });

  test('never takes the place of a file, and leaves nothing beside it', async () => {
    const path = freshPath();
    await begin(await open(path), 'a');
    const target = join(dirname(path), 'backup.db');
    writeFileSync(target, 'precious');
    await expect(backupStore(path, target)).rejects.toThrow(
      /state\.db was not copied to .*backup\.db: EEXIST/,
    );
    expect(statSync(target).size).toBe(8);
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith('backup'))).toEqual(['backup.db']);
  });

  test.each([
    ['no file', () => {}, /unable to open/],
    ['no database', (path: string) => writeFileSync(path, 'x'.repeat(5_000)), /not a database/],
    [
      "another program's file",
      (path: string) => new DatabaseSync(path).exec('CREATE TABLE bookmark (url TEXT)'),
      /another program/,
    ],
  ])('of %s is refused', async (_, make, reason) => {
    const path = join(root, `none-${++folders}.db`);
    make(path);
    const target = join(root, `target-${folders}.db`);
    await expect(backupStore(path, target)).rejects.toThrow(reason);
    expect(existsSync(target)).toBe(false);
  });
});

describe('a restore', () => {
  /** A store with a backup of its first two payments, and one begun after it. */
  async function setUp(witness?: string) {
    const path = freshPath();
    const store = await open(path, { witness });
    await begin(store, 'a', 'b');
    const backup = join(dirname(path), 'backup.db');
    await backupStore(path, backup);
    await store.end({ id: 'a', trackId: pending().trackId, outcome: done, at: start + 1 });
    await store.begin(pending({ id: 'later', trackId: 'attempt-9', createdAt: start + 9 }), start);
    return { path, store, backup };
  }

  test('names what began after the backup, keeps the replaced file, and fits its mark', async () => {
    const { path, store, backup } = await setUp();
    await store.close();
    const restored = await restoreStore(backup, path, decision);
    expect(restored).toMatchObject({
      backup: { records: 2, began: 2 },
      missing: [stored({ id: 'later', trackId: 'attempt-9', createdAt: start + 9 })],
      unnamed: 0,
      unreadable: null,
      replaced: `${path}.replaced-2026-01-15T00-00-00.000Z`,
    });
    const names = ['backup.db', basename(restored?.replaced ?? ''), 'state.db', 'state.db.mark'].sort();
    expect(readdirSync(dirname(path)).sort()).toEqual(names);
    expect(statSync(path).mode & 0o777).toBe(0o600);

    const next = await open(path);
    expect(next.loss).toBeNull();
    expect(await next.begin(pending({ id: 'a', trackId: 'again' }), start)).toEqual(stored({ id: 'a' }));
    expect(await next.begin(pending({ id: 'later', trackId: 'again' }), start)).toBeNull();
    expect(decisions(path)).toEqual([
      { at: start, by: decision.by, what: expect.stringMatching(/^restored a backup: .*"later"/) },
    ]);
    const replaced = await open(restored?.replaced ?? '');
    expect(await replaced.find('later', start)).not.toBeNull();
    expect(await replaced.find('a', start)).toMatchObject({ state: 'DONE' });
  });

  test('is refused while a bankql has the file open, which stays as it is', async () => {
    const { path, store, backup } = await setUp();
    await expect(restoreStore(backup, path, decision)).rejects.toThrow('a bankql has it open: stop it first');
    expect(await store.find('later', start)).not.toBeNull();
    expect(await store.begin(pending({ id: 'more' }), start)).toBeNull();
    expect(readdirSync(dirname(path)).filter((name) => name.includes('replaced'))).toEqual([]);
  });

  test('changes nothing where it is not confirmed', async () => {
    const { path, store, backup } = await setUp();
    await store.close();
    const before = readdirSync(dirname(path));
    const asked: unknown[] = [];
    const confirm = async (plan: unknown) => {
      asked.push(plan);
      return false;
    };
    expect(await restoreStore(backup, path, { ...decision, confirm })).toBeNull();
    expect(asked).toMatchObject([{ missing: [{ id: 'later' }] }]);
    expect(readdirSync(dirname(path))).toEqual(before);
    expect(await (await open(path)).find('later', start)).not.toBeNull();
  });

  test.each([
    ['is gone', (path: string) => rmSync(path), null],
    ['is damaged', (path: string) => writeFileSync(path, 'x'.repeat(9_000)), /not a database/],
    [
      "is another program's",
      (path: string) => {
        rmSync(path);
        new DatabaseSync(path).exec('CREATE TABLE bookmark (url TEXT)');
      },
      /another program/,
    ],
  ])('where the file in use %s counts what is missing by the mark', async (_, damage, unreadable) => {
    const { path, store, backup } = await setUp();
    await store.close();
    damage(path);
    const restored = await restoreStore(backup, path, decision);
    expect(restored).toMatchObject({ missing: [], unnamed: 1, backup: { records: 2 } });
    if (unreadable === null) expect(restored?.unreadable).toBeNull();
    else expect(restored?.unreadable).toMatch(unreadable);
    const next = await open(path);
    expect(next.loss).toBeNull();
    expect(await next.begin(pending({ id: 'b', trackId: 'again' }), start)).not.toBeNull();
  });

  test('makes the witness fit as well, and counts what only it knows of', async () => {
    const witness = join(root, `witness-${++folders}`);
    const { path, store, backup } = await setUp(witness);
    await store.close();
    for (const file of [path, `${path}.mark`]) rmSync(file);
    const restored = await restoreStore(backup, path, { ...decision, witness });
    expect(restored).toMatchObject({ missing: [], unnamed: 1, replaced: null });
    expect((await open(path, { witness })).loss).toBeNull();
  });

  test('takes the place of a store that was made anew, which names none of the lost ones', async () => {
    const { path, store, backup } = await setUp();
    await store.close();
    rmSync(path);
    const anew = await open(path);
    expect(anew.loss).toContain('it is new and holds none of them');
    await anew.close();
    expect(await restoreStore(backup, path, decision)).toMatchObject({ missing: [], unnamed: 1 });
    expect((await open(path)).loss).toBeNull();
  });

  /** A backup, and a log as a killed process leaves it. It lacks the file's first page, and cannot mend the file. */
  async function setUpLog() {
    const { path, store, backup } = await setUp();
    await store.close();
    const again = await open(path);
    await again.begin(pending({ id: 'logged', createdAt: start + 10 }), start);
    const log = readFileSync(`${path}-wal`);
    await again.close();
    rmSync(path);
    return { path, backup, log };
  }

  function expectRestored(path: string) {
    using database = new DatabaseSync(path);
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    expect(database.prepare('SELECT id FROM payment ORDER BY id').all()).toEqual([{ id: 'a' }, { id: 'b' }]);
  }

  test('is whole where the file in use is gone and its log remains, which is kept', async () => {
    const { path, backup, log } = await setUpLog();
    writeFileSync(`${path}-wal`, log);
    writeFileSync(`${path}-shm`, 'left over');
    const restored = await restoreStore(backup, path, decision);
    expect(readFileSync(`${restored?.replaced}-wal`)).toEqual(log);
    expect(existsSync(`${path}-wal`) || existsSync(`${path}-shm`)).toBe(false);
    expect(lstatSync(path).isFile()).toBe(true);
    expectRestored(path);
  });

  test.each([
    ['is gone', null],
    ['is damaged', Buffer.alloc(9_000, 'x')],
  ])('that is cut off anywhere leaves the old or the restored store, where the file %s', async (_, file) => {
    const { backup, log } = await setUpLog();
    const calls = ['linkSync', 'renameSync', 'rmSync'] as const;
    const ends: string[] = [];
    for (let crashAt = 1, whole = false; !whole; crashAt++) {
      const path = freshPath();
      mkdirSync(dirname(path));
      if (file !== null) writeFileSync(path, file);
      writeFileSync(`${path}-wal`, log);
      let made = 0;
      // Nothing is done from then on, not even to tidy up: as after the end of the process.
      for (const name of calls) {
        const original = fs[name];
        vi.spyOn(fs, name).mockImplementation((...args: unknown[]) => {
          if (++made >= crashAt) throw new Error('the power is gone');
          return Reflect.apply(original, fs, args);
        });
      }
      syncBuiltinESMExports();
      whole = await restoreStore(backup, path, decision).then(
        () => true,
        () => false,
      );
      vi.restoreAllMocks();
      syncBuiltinESMExports();
      // Once the parts are kept, the log, of no use to a file that cannot be read, goes first.
      const logs = readdirSync(dirname(path)).filter((name) => name.endsWith('-wal'));
      const isOld =
        (file === null ? !existsSync(path) : existsSync(path) && readFileSync(path).equals(file)) &&
        logs.some((name) => readFileSync(join(dirname(path), name)).equals(log));
      ends.push(isOld ? 'old' : 'restored');
      if (!isOld) expectRestored(path);
    }
    expect(ends).toContain('old');
    expect(ends.filter((end) => end === 'restored').length).toBeGreaterThan(1);
  });

  test('leaves a file that cannot be read, and its log, as they are where it is not confirmed', async () => {
    const { path, backup, log } = await setUpLog();
    const file = Buffer.alloc(9_000, 'x');
    writeFileSync(path, file);
    writeFileSync(`${path}-wal`, log);
    expect(await restoreStore(backup, path, { ...decision, confirm: async () => false })).toBeNull();
    expect([path, `${path}-wal`].map((name) => readFileSync(name))).toEqual([file, log]);
  });

  test('of a damaged backup changes nothing', async () => {
    const { path, store, backup } = await setUp();
    await store.close();
    const broken = join(dirname(path), 'broken.db');
    copyFileSync(backup, broken);
    writeFileSync(broken, 'x'.repeat(3_000), { flag: 'r+' });
    await expect(restoreStore(broken, path, decision)).rejects.toThrow(
      /broken\.db was not restored to .*state\.db: /,
    );
    expect(await (await open(path)).find('later', start)).not.toBeNull();
  });
});
