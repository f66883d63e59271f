import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { resolve as absolute, dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { messageOf } from '../../../errors.ts';
import { readSecret } from './database.ts';

/**
 * All pages are copied in one step: if there were several, each write between two of them would restart the
 * copy, and under load it would never end.
 */
const allPages = 2 ** 31 - 1;

/** The maximum wait for locks, in milliseconds. It may be long, because no payment waits for it. */
const busyTimeoutMs = 5_000;

/**
 * Copies a SQLite store's file while bankql serves, and checks the copy.
 * Shape:  how many payments the copy holds, and when the newest began. The copy is one file, mode 0600. It gets its name only when
 *         it is complete and synced to disk.
 * Errors: an Error that names the file and the reason; no copy is left. An existing file is never overwritten.
 */
export async function backupStore(path: string, target: string): Promise<z.infer<typeof contents>> {
  const draft = `${absolute(target)}.${randomUUID().slice(0, 8)}`;
  try {
    const url = pathToFileURL(absolute(path));
    // Without a `-wal` file, nobody has the store open. `immutable` prevents SQLite from creating one and leaving it there.
    if (!existsSync(`${path}-wal`)) url.searchParams.set('immutable', '1');
    using source = new DatabaseSync(url, { readOnly: true, timeout: busyTimeoutMs });
    closeSync(openSync(draft, 'wx', 0o600));
    await backup(source, draft, { rate: allPages });
    const counts = checkCopy(draft);
    sync(draft);
    putInPlace(draft, target);
    sync(dirname(absolute(target)));
    return counts;
  } catch (error) {
    throw new Error(`${path} was not copied to ${target}: ${messageOf(error)}.`, { cause: error });
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(draft + end, { force: true });
  }
}

/**
 * Gives the copy its name without replacing a file: `wx` fails if the file exists, which a rename alone would replace. A hard
 * link would need only one step, but exFAT, SMB and FUSE have no hard links.
 */
function putInPlace(draft: string, target: string): void {
  closeSync(openSync(target, 'wx', 0o600));
  try {
    renameSync(draft, target);
  } catch (error) {
    rmSync(target);
    throw error;
  }
}

/** `newestAt`: in milliseconds since 1970; null if there is no payment. */
const contents = z.object({ records: z.number(), newestAt: z.number().nullable() });

/** Errors: an Error that describes the fault of the copy. */
function checkCopy(path: string): z.infer<typeof contents> {
  using database = new DatabaseSync(path);
  const check = database.prepare('PRAGMA integrity_check').get()?.integrity_check;
  if (check !== 'ok') throw new Error(`it is damaged (${String(check).slice(0, 200)})`);
  if (readSecret(database) === null) throw new Error('it is empty');
  // Makes the copy a single file, without -wal and -shm.
  database.exec('PRAGMA journal_mode = DELETE');
  const all = 'SELECT count(*) AS records, max(created_at) AS newestAt FROM payment';
  return contents.parse(database.prepare(all).get());
}

/** Writes a file, or the names in a folder, to disk, so that it survives a power failure. */
function sync(path: string): void {
  const opened = openSync(path, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
