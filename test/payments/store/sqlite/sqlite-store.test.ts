import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { initStore, openStore } from '../../../../src/payments/store/open-store.ts';
import { createPaymentStore } from '../../../../src/payments/store/payment-store.ts';
import { searchSql, sqliteNow } from '../../../../src/payments/store/payment-table.ts';
import { backupStore } from '../../../../src/payments/store/sqlite/backup.ts';
import { createTables } from '../../../../src/payments/store/sqlite/database.ts';
import { openSqlite } from '../../../../src/payments/store/sqlite/sqlite-driver.ts';
import {
  type OnStoreEvent,
  type PaymentStore,
  StoreUnavailable,
} from '../../../../src/payments/store/store.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { describePaymentStore, done, lease, pending, retentionMs, stored } from '../store-conformance.ts';

type SqliteOptions = Parameters<typeof openSqlite>[0];

type Change = Partial<SqliteOptions> & { readonly onEvent?: OnStoreEvent; readonly expiryPauseMs?: number };

/** A SQLite store. It is made if it is missing, and its calls wait for the disk without a deadline. */
async function connect(
  path: string,
  { onEvent, expiryPauseMs, ...change }: Change = {},
): Promise<PaymentStore> {
  const limits = { timeoutMs: 60_000, startTimeoutMs: 60_000 };
  const usual = { ...limits, create: true, readOnly: false, mustBeWritable: false };
  const driver = await openSqlite({ ...usual, path, ...change });
  const { readOnly } = change;
  return createPaymentStore({ name: path, driver, retentionMs, expiryPauseMs, readOnly, onEvent });
}

/** A store that is closed after the test. */
async function open(path: string, change?: Change): Promise<PaymentStore> {
  const store = await connect(path, change);
  onTestFinished(() => store.close());
  return store;
}

/** Moves the times in a file back, as if time had passed. */
function passInFile(path: string, ms: number): void {
  using database = new DatabaseSync(path, { timeout: 60_000 });
  database
    .prepare(
      'UPDATE payment SET created_at = created_at - $ms, updated_at = updated_at - $ms, lease_until = lease_until - $ms',
    )
    .run({ ms });
}

const root = testFolder();
let folders = 0;

const freshPath = () => join(root, `state-${++folders}`, 'state.db');
const { id, trackId } = pending();

/** Runs SQL on the file, as an operator would. */
function sql(path: string, text: string): void {
  using database = new DatabaseSync(path, { timeout: 60_000 });
  database.exec(text);
}

const modeOf = (path: string) => statSync(path).mode & 0o777;

const shared: { readonly path: string; store?: PaymentStore } = { path: freshPath() };
afterAll(() => shared.store?.close());
describePaymentStore('the SQLite store', async () => {
  const { path } = shared;
  shared.store ??= await connect(path, { expiryPauseMs: 0 });
  sql(path, 'DELETE FROM payment');
  return { store: shared.store, pass: async (ms) => passInFile(path, ms) };
});

describe('a store is made on purpose', () => {
  test('a missing file stops the start with one line that explains it, and gives both remedies', async () => {
    const path = freshPath();
    await expect(openStore(`sqlite:${path}`, { retentionMs })).rejects.toThrow(
      `There is no payment store at ${path}: without the records of earlier payments their idempotency keys are free again, and payments may be sent twice. If it is a new store, make it with \`bankql payments init\`; if not, put the backup back, or mount the volume that holds it.`,
    );
    expect(existsSync(dirname(path))).toBe(false);
  });

  test('an empty file is no store', async () => {
    const path = freshPath();
    mkdirSync(dirname(path));
    writeFileSync(path, '');
    await expect(open(path, { create: false })).rejects.toThrow('There is no payment store at');
    expect(statSync(path).size).toBe(0);
  });

  test('init makes the folder and the file, for their owner alone; made again, it changes nothing', async () => {
    const path = join(root, 'made', 'deeper', 'state.db');
    await initStore(`sqlite:${path}`);
    const store = await open(path, { create: false });
    await store.begin(pending(), lease);
    expect([path, `${path}-wal`, `${path}-shm`].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
    expect([join(root, 'made'), dirname(path)].map(modeOf)).toEqual([0o700, 0o700]);
    await initStore(`sqlite:${path}`);
    expect(await store.find(id)).toEqual(stored());
  });

  test('four starts of a default store at once make one', async () => {
    const path = freshPath();
    const stores = await Promise.all(Array.from({ length: 4 }, () => open(path)));
    expect(new Set(stores.map(({ secret }) => secret)).size).toBe(1);
  });
});

describe('the file', () => {
  test('keeps payments across a restart, and has no companions then', async () => {
    const path = freshPath();
    const first = await open(path);
    await first.begin(pending(), lease);
    await first.begin(pending({ id: 'b' }), lease);
    await first.end({ id: 'b', trackId, outcome: done });
    await first.close();
    expect(readdirSync(dirname(path))).toEqual(['state.db']);

    const second = await open(path, { create: false });
    expect(await second.begin(pending({ trackId: 'attempt-2' }), lease)).toEqual(stored());
    expect(await second.find('b')).toEqual(stored({ id: 'b', ...done }));
    expect(await second.end({ id, trackId, outcome: done })).toBe(true);
  });

  test('is closed to others where it was open to them', async () => {
    const path = freshPath();
    await (await open(path)).close();
    chmodSync(path, 0o644);
    await open(path);
    expect(modeOf(path)).toBe(0o600);
  });

  test('keeps a mode that lets nobody else read it', async () => {
    const path = freshPath();
    await (await open(path)).close();
    chmodSync(path, 0o700);
    await open(path);
    expect(modeOf(path)).toBe(0o700);
  });

  // Only root may act as a user who does not own the file.
  test.skipIf(process.getuid?.() !== 0)(
    'is used, with a warning, where it stays open to others',
    async () => {
      const path = freshPath();
      await (await open(path)).close();
      chmodSync(root, 0o755);
      chmodSync(dirname(path), 0o777);
      chmodSync(path, 0o666);
      const notices: string[] = [];
      process.seteuid?.(65_534);
      try {
        const store = await open(path, { create: false, onNotice: (text) => notices.push(text) });
        expect(await store.begin(pending(), lease)).toBeNull();
      } finally {
        process.seteuid?.(0);
      }
      expect(modeOf(path)).toBe(0o666);
      expect(notices).toEqual([
        expect.stringMatching(
          /state\.db is open to other users of this machine, and its mode cannot be changed: EPERM/,
        ),
      ]);
    },
  );

  test('loses old finished records in steps, and nothing else', async () => {
    const path = freshPath();
    const store = await open(path);
    const finished = Array.from({ length: 600 }, (_, n) => `old-${n}`);
    await Promise.all(finished.map((old) => store.begin(pending({ id: old }), lease)));
    await Promise.all(finished.map((old) => store.end({ id: old, trackId, outcome: done })));
    passInFile(path, retentionMs + 1);
    await store.close();
    const later = await open(path, { expiryPauseMs: 0 });
    await later.begin(pending(), lease);
    // The payment does not wait for this work, which runs after its answer.
    const left = () => {
      using database = new DatabaseSync(path, { timeout: 60_000 });
      return database.prepare('SELECT id FROM payment').all();
    };
    await expect.poll(left).toEqual([{ id }]);
  });
});

describe('a file that cannot be the store stops the start, with its path and the reason', () => {
  async function refused(path: string, reason: RegExp): Promise<void> {
    const error = await open(path, { timeoutMs: 500, startTimeoutMs: 500 }).then(
      () => null,
      (failure: unknown) => String(failure),
    );
    expect(error).toContain(path);
    expect(error).toMatch(reason);
  }

  test('a folder', () => refused(root, /not a regular file/));

  test('a path below a file', async () => {
    const path = freshPath();
    writeFileSync(dirname(path), '');
    await refused(path, /(EEXIST|ENOTDIR).*STATE_URL has to name/s);
  });

  test('a folder that cannot be made', () => refused('/proc/bankql/state.db', /ENOENT|EACCES/));

  test('a file that is no database, which stays as it is', async () => {
    const path = freshPath();
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'not a database '.repeat(1_000), { mode: 0o644 });
    await refused(path, /not a database/);
    expect(modeOf(path)).toBe(0o644);
    expect(statSync(path).size).toBe(15_000);
  });

  test("another program's database, which stays as it is", async () => {
    const path = freshPath();
    mkdirSync(dirname(path), { recursive: true });
    sql(path, 'CREATE TABLE bookmark (url TEXT)');
    const { size } = statSync(path);
    await refused(path, /belongs to another program/);
    expect(statSync(path).size).toBe(size);
  });

  test.each([
    [
      4,
      /bankql 0\.4 or older made it \(format 4\): settle .* make a new store .* accept-loss --from-log FILE/,
    ],
    [6, /a newer bankql made it \(format 6\): use that version/],
  ])('the format %i of another version of bankql, with what to do', async (format, reason) => {
    const path = freshPath();
    await (await open(path)).close();
    sql(path, `PRAGMA user_version = ${format}`);
    await refused(path, reason);
  });

  // Root may write every file.
  test.skipIf(process.getuid?.() === 0)('a file or a folder that a start could not write', async () => {
    const path = freshPath();
    await (await open(path)).close();
    const check = { create: false, readOnly: true, mustBeWritable: true };
    for (const [name, mode, allowed] of [
      [path, 0o400, 0o600],
      [dirname(path), 0o500, 0o700],
    ] as const) {
      chmodSync(name, mode);
      await expect(connect(path, check)).rejects.toThrow(`cannot be used: this user may not write ${name}.`);
      chmodSync(name, allowed);
    }
    await (await connect(path, check)).close();
  });

  test('a lock that does not go away', async () => {
    const path = freshPath();
    await (await open(path)).close();
    using other = new DatabaseSync(path);
    other.exec('BEGIN EXCLUSIVE');
    await refused(path, /another process has kept it locked for 0.5 s/);
  });
});

test("another process's lock refuses a payment without a trace", async () => {
  const path = freshPath();
  const store = await open(path, { timeoutMs: 500 });
  using other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  await expect(store.begin(pending(), lease)).rejects.toThrow(StoreUnavailable);
  other.exec('COMMIT');
  await expect.poll(() => store.begin(pending({ trackId: 'attempt-2' }), lease).catch(() => 0)).toBeNull();
});

describe('a file that changes under the running store', () => {
  test('is missed while it is away, is never made anew, and is used again when it is back', async () => {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending(), lease);
    renameSync(dirname(path), `${dirname(path)}-away`);
    mkdirSync(dirname(path));
    for (let attempt = 0; attempt < 3; attempt++) {
      const lost = store.begin(pending({ id: 'another' }), lease);
      await expect(lost).rejects.toThrow(StoreUnavailable);
      await expect(lost).rejects.toThrow('its file is gone');
    }
    expect(existsSync(path)).toBe(false);
    rmSync(dirname(path), { recursive: true });
    renameSync(`${dirname(path)}-away`, dirname(path));
    expect(await store.begin(pending({ trackId: 'attempt-2' }), lease)).toEqual(stored());
  });

  test('is refused, for good, where another store has taken its place', async () => {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending(), lease);
    const copy = freshPath();
    await (await open(copy)).close();
    for (const end of ['-wal', '-shm']) rmSync(path + end);
    renameSync(copy, path);
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(store.find(id)).rejects.toThrow('another file has taken its place');
      await expect(store.search({})).rejects.toThrow('another file has taken its place');
      await expect(store.begin(pending({ id: 'another' }), lease)).rejects.toThrow(StoreUnavailable);
    }
    await store.close();
    expect(await (await open(path)).count()).toMatchObject({ newestAt: null });
  });
});

describe('a store that is only read', () => {
  const look = (path: string) => open(path, { create: false, readOnly: true });
  const names = (path: string) => readdirSync(dirname(path)).sort();

  test('leaves nothing next to a file that nobody serves, and removes nothing', async () => {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending(), lease);
    await store.close();
    const reader = await look(path);
    expect(await reader.find(id)).toEqual(stored());
    expect(names(path)).toEqual(['state.db']);
    await reader.close();
    expect(names(path)).toEqual(['state.db']);
  });

  test('sees what a bankql that serves has stored, and leaves its files', async () => {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending(), lease);
    passInFile(path, lease);
    const before = names(path);
    const reader = await look(path);
    // The lease has ended: the reader returns UNKNOWN, but does not write it.
    expect(await reader.find(id)).toMatchObject({ state: 'UNKNOWN' });
    await expect(reader.begin(pending({ id: 'b' }), lease)).rejects.toThrow(StoreUnavailable);
    await reader.close();
    expect(names(path)).toEqual(before);
    expect(await store.end({ id, trackId, outcome: null })).toBe(true);
    expect(await store.find(id)).toBeNull();
  });
});

test('thousands of lookups and searches at once are answered, and a payment waits behind few of them', async () => {
  const store = await open(freshPath(), { timeoutMs: 60_000 });
  let answered = 0;
  const count = () => void answered++;
  const asked = Array.from({ length: 3000 }, (_, n) =>
    (n % 2 === 0 ? store.find(`p-${n}`) : store.search({ idPrefix: `p-${n}` })).then(count),
  );
  expect(await store.begin(pending(), lease)).toBeNull();
  expect(answered).toBeLessThan(3000);
  await Promise.all(asked);
});

describe('searches', () => {
  const dialect = { table: 'payment', mark: '?', now: sqliteNow } as const;

  test('have a thread of their own, so that they and payments do not wait for each other', async () => {
    const path = freshPath();
    const store = await open(path, { timeoutMs: 60_000 });
    await store.begin(pending(), lease);
    // A purge may follow a payment.
    using other = new DatabaseSync(path, { timeout: 60_000 });
    other.exec('BEGIN IMMEDIATE');
    const begun = store.begin(pending({ id: 'new' }), lease);
    // Meanwhile, the thread for payments waits for the lock.
    expect(await store.search({ newestFirst: true })).toEqual([stored()]);
    other.exec('COMMIT');
    expect(await begun).toBeNull();
    expect(await store.search({ newestFirst: true })).toHaveLength(2);
  });

  test.each([
    [{}, 'payment_by_time'],
    [{ newestFirst: true }, 'payment_by_time'],
    [{ since: 1, until: 2 }, 'payment_by_time'],
    [{ accountId: 'a' }, 'payment_by_time'],
    [{ states: ['DONE'] }, 'payment_by_time'],
    [{ caller: 'c' }, 'payment_by_caller'],
    [{ caller: 'c', payer: 'p', accountId: 'a', newestFirst: true }, 'payment_by_caller'],
    [{ caller: 'c', states: ['DONE', 'UNKNOWN'] }, 'payment_by_caller'],
    [{ caller: 'c', states: ['UNKNOWN'] }, 'payment_unfinished_by_caller'],
    [{ states: ['UNKNOWN', 'PENDING'] }, 'payment_unfinished'],
    [{ states: ['PENDING'], newestFirst: true }, 'payment_unfinished'],
    [{ idPrefix: 'ab' }, 'sqlite_autoindex_payment_1'],
    [{ trackId: 't' }, 'payment_by_track_id'],
    [{ trackId: 't', caller: 'c' }, 'payment_by_track_id'],
    [{ requestId: 'r', states: ['DONE'] }, 'payment_by_request_id'],
  ] as const)('for %j read rows in their order by an index', (query, index) => {
    using database = new DatabaseSync(':memory:');
    createTables(database);
    const isFew = 'idPrefix' in query || 'trackId' in query || 'requestId' in query;
    for (const after of [undefined, { created_at: 5, id: 'x' }]) {
      const { text, values } = searchSql({ ...query, limit: 100, after }, dialect);
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
      const [searched, ...more] = plan.map(({ detail }) => String(detail));
      expect(searched).toContain(`USING INDEX ${index}`);
      // SQLite's query plan contains a sort only if few rows can match.
      expect(more).toEqual(isFew ? ['USE TEMP B-TREE FOR ORDER BY'] : []);
    }
  });
});

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

  // An operator has put the copy back: stop, move, copy, start.
  const restored = await open(copy, { create: false });
  expect(restored.secret).toBe(store.secret);
  expect(await restored.search({})).toHaveLength(counts.records);
  expect(await restored.begin(pending({ id: 'p-0', trackId: 'again' }), lease)).toEqual(
    stored({ id: 'p-0', ...done }),
  );
});

test('a backup replaces no file, no link, and no folder, and leaves nothing next to a store that nobody serves', async () => {
  const path = freshPath();
  await (await open(path)).close();
  const folder = testFolder();
  const names = ['file', 'empty', 'link', 'folder'].map((name) => join(folder, name));
  const [file = '', empty = '', link = '', directory = ''] = names;
  writeFileSync(file, 'precious');
  writeFileSync(empty, '');
  symlinkSync(join(folder, 'nothing'), link);
  mkdirSync(directory);
  for (const name of names)
    await expect(backupStore(path, name)).rejects.toThrow(`was not copied to ${name}: EEXIST`);
  expect(readFileSync(file, 'utf8')).toBe('precious');
  expect(readdirSync(folder).sort()).toEqual(['empty', 'file', 'folder', 'link']);
  await backupStore(path, join(folder, 'copy'));
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
