import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../../src/payments/store.ts';
import { rowColumns } from '../../../../src/payments/stores/payment-columns.ts';
import { createSqliteStore } from '../../../../src/payments/stores/sqlite/sqlite-store.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { openSqlite as open } from '../opened-stores.ts';
import { describePaymentStore, done, pending, retentionMs, start, stored } from '../store-conformance.ts';

const root = testFolder();
let folders = 0;

const freshPath = () => join(root, `state-${++folders}`, 'state.db');

/** Runs SQL on the file, as an operator would; the stores in this process have to be closed. */
function sql(path: string, text: string): void {
  const database = new DatabaseSync(path);
  database.exec(text);
  database.close();
}

const modeOf = (path: string) => statSync(path).mode & 0o777;

describePaymentStore('the SQLite store', () => open(freshPath()));

describe('the file', () => {
  test('keeps payments across a restart', async () => {
    const path = freshPath();
    const first = await open(path);
    await first.begin(pending(), start);
    await first.begin(pending({ id: 'b' }), start);
    await first.end({ id: 'b', trackId: pending().trackId, outcome: done, at: start });
    await first.close();

    const second = await open(path);
    expect(await second.begin(pending({ trackId: 'attempt-2' }), start)).toEqual(stored());
    expect(await second.find('b', start)).toEqual(stored({ id: 'b', ...done }));
    expect(await second.end({ id: pending().id, trackId: 'attempt-1', outcome: done, at: start })).toBe(true);
  });

  test('is for its owner alone, as are its companions and the folders made for it', async () => {
    const path = join(root, 'made', 'deeper', 'state.db');
    const store = await open(path);
    await store.begin(pending(), start);
    expect([path, `${path}-wal`, `${path}-shm`].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
    expect([join(root, 'made'), dirname(path)].map(modeOf)).toEqual([0o700, 0o700]);
  });

  test('is closed to others where it was open to them', async () => {
    const path = freshPath();
    await (await open(path)).close();
    chmodSync(path, 0o644);
    await open(path);
    expect(modeOf(path)).toBe(0o600);
  });

  test('is written through a write-ahead log, which close empties into it', async () => {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending(), start);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  test('loses old finished records in steps, and nothing else', async () => {
    const path = freshPath();
    const store = await open(path);
    const finished = Array.from({ length: 600 }, (_, n) => `old-${n}`);
    await Promise.all(finished.map((id) => store.begin(pending({ id }), start)));
    await Promise.all(
      finished.map((id) => store.end({ id, trackId: 'attempt-1', outcome: done, at: start })),
    );
    const later = start + retentionMs + 1;
    const count = () => {
      const reader = new DatabaseSync(path, { readOnly: true });
      const row = reader.prepare("SELECT count(*) AS n FROM payment WHERE id LIKE 'old-%'").get();
      reader.close();
      return row?.n;
    };
    await store.begin(pending({ id: 'a', leaseUntil: later + 120_000 }), later);
    // A payment does not wait for it: they go in steps, behind its answer.
    await expect.poll(count).toBe(0);
    expect(await store.search({ states: ['PENDING'] }, later)).toHaveLength(1);
  });
});

describe('a file that cannot be the store stops the start, with its path and the remedy', () => {
  const refusal = (path: string) =>
    createSqliteStore({ path, retentionMs, timeoutMs: 500 }).then(
      async (store) => {
        await store.close();
        throw new Error(`${path} was opened`);
      },
      (error: unknown) => String(error),
    );

  async function refused(path: string, reason: RegExp): Promise<void> {
    const message = await refusal(path);
    expect(message).toContain(path);
    expect(message).toMatch(reason);
    expect(message).toContain('STATE_URL has to name');
  }

  test('a folder', () => refused(root, /not a regular file/));

  test('a path below a file', async () => {
    const path = freshPath();
    writeFileSync(dirname(path), '');
    await refused(path, /EEXIST|ENOTDIR/);
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

  test('a newer version', async () => {
    const path = freshPath();
    await (await open(path)).close();
    sql(path, 'PRAGMA user_version = 4');
    await refused(path, /its version is 4, and this bankql knows up to 3/);
  });

  test('a lock that does not go away', async () => {
    const path = freshPath();
    await (await open(path)).close();
    using other = new DatabaseSync(path);
    other.exec('BEGIN EXCLUSIVE');
    await expect(open(path, { startTimeoutMs: 100 })).rejects.toThrow(
      `${path} is not available: another process has kept it locked for 0.1 s. A program that restores or upgrades the file, or edits it, may be the reason: start bankql again when it has ended.`,
    );
  });
});

describe('a file that changes under the running store', () => {
  test('is missed while it is away, is never made anew, and is used again when it is back', async () => {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending(), start);
    renameSync(dirname(path), `${dirname(path)}-away`);
    mkdirSync(dirname(path));
    for (let attempt = 0; attempt < 3; attempt++) {
      const lost = store.begin(pending({ id: 'another' }), start);
      await expect(lost).rejects.toThrow(StoreUnavailable);
      await expect(lost).rejects.toThrow(path);
    }
    expect(existsSync(path)).toBe(false);
    rmSync(dirname(path), { recursive: true });
    renameSync(`${dirname(path)}-away`, dirname(path));
    expect(await store.begin(pending({ trackId: 'attempt-2' }), start)).toEqual(stored());
  });

  test('is opened anew where another store has taken its place; payments wait for an operator', async () => {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending(), start);
    const copy = freshPath();
    await (await open(copy)).close();
    for (const end of ['-wal', '-shm']) rmSync(path + end);
    renameSync(copy, path);
    await expect(store.find(pending().id, start)).rejects.toThrow('another file has taken its place');
    expect(await store.find(pending().id, start)).toBeNull();
    await expect(store.begin(pending({ id: 'another' }), start)).rejects.toThrow(
      'it is new and holds none of them',
    );
    await store.acceptLoss('Ada: it was moved by mistake', start);
    expect(await store.begin(pending({ id: 'another' }), start)).toBeNull();
    await store.close();
    expect(await (await open(path)).find('another', start)).toEqual(stored({ id: 'another' }));
  });

  test('is refused where it is empty or broken', async () => {
    const path = freshPath();
    const store = await open(path);
    const empty = join(dirname(path), 'empty');
    writeFileSync(empty, '');
    renameSync(empty, path);
    await expect(store.find('a', start)).rejects.toThrow('another file has taken its place');
    await expect(store.find('a', start)).rejects.toThrow('it has lost its tables');
    const broken = join(dirname(path), 'broken');
    writeFileSync(broken, 'x'.repeat(10_000));
    renameSync(broken, path);
    await expect(store.find('a', start)).rejects.toThrow('not a database');
  });
});

describe('searches', () => {
  /** A store with many finished records, which a search by account has to look through. */
  async function openWithMany() {
    const path = freshPath();
    const store = await open(path);
    await store.begin(pending({ id: 'first' }), start);
    await store.end({ id: 'first', trackId: pending().trackId, outcome: done, at: start });
    await store.close();
    const columns = rowColumns.filter((name) => name !== 'id');
    sql(
      path,
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
        INSERT INTO payment (id, ${columns.join(', ')}) SELECT 'p' || i, ${columns.join(', ')} FROM n, payment`,
    );
    return open(path);
  }
  const slow = { accountId: 'nobody' };

  test('hold up no payment, nor do counts', async () => {
    const store = await openWithMany();
    const order: string[] = [];
    const reads = [store.search(slow, start), store.search(slow, start), store.status(start)];
    await Promise.all([
      ...reads.map((read) => read.then(() => order.push('read'))),
      store.begin(pending({ id: 'new' }), start).then(() => order.push('begin')),
    ]);
    expect(order[0]).toBe('begin');
    expect(await reads[2]).toMatchObject({ records: expect.any(Number) });
  });

  test('find what was begun and finished right before', async () => {
    const store = await open(freshPath());
    for (let n = 0; n < 20; n++) {
      await store.begin(pending({ id: `p${n}`, createdAt: start + n }), start);
      expect(await store.search({ states: ['PENDING'] }, start)).toHaveLength(1);
      await store.end({ id: `p${n}`, trackId: pending().trackId, outcome: done, at: start });
      expect(await store.search({ newestFirst: true, limit: 1 }, start)).toMatchObject([
        { id: `p${n}`, state: 'DONE' },
      ]);
    }
  });
});
