import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { resolve as absolute, dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { messageOf } from '../../../errors.ts';
import { rowIn, storedRow } from '../../driver.ts';
import { createMarkWriter, type HighWaterMark, keepOwner, readableMark } from '../../high-water-mark.ts';
import { acceptMarks, heldMark, parseMetadata } from '../../lost-records.ts';
import type { PaymentRecord } from '../../store.ts';
import { storedColumns } from '../payment-columns.ts';
import { isBusy, upgradeSchema } from './schema.ts';
import { markFiles } from './sqlite-store.ts';

/** Backups of a SQLite store's file, and their way back. */

const metaRow = z.object({ text: z.string(), began: z.number(), newestAt: z.number().nullable() });
const countsRow = z.object({ records: z.number(), pending: z.number(), unknown: z.number() });

/** All pages in one step: several steps would restart at each write between them, forever under load. */
const allPages = 2 ** 31 - 1;

/** How long to wait for locks, in milliseconds. It may be long, because no payment waits for it. */
const busyTimeoutMs = 5_000;

/** A name next to the path for an incomplete file. */
const draftOf = (path: string): string => `${absolute(path)}.${randomUUID().slice(0, 8)}`;

function removeDatabase(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true });
}

/** Syncs the folder, so that a created or renamed file survives a power failure. */
function syncFolder(path: string): void {
  const folder = openSync(dirname(absolute(path)), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Copies a store to a new file, verifies the copy, and upgrades it to this version. Errors: any, naming the reason. */
async function copyStore(source: DatabaseSync, copy: string): Promise<DatabaseSync> {
  closeSync(openSync(copy, 'wx', 0o600));
  await backup(source, copy, { rate: allPages });
  const database = new DatabaseSync(copy);
  try {
    checkIntegrity(database);
    // A single file, without -wal and -shm, that survives a power failure.
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
    upgradeSchema(database, false);
    database.exec('COMMIT');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Errors: an Error that says what is damaged. */
function checkIntegrity(database: DatabaseSync): void {
  const check = database.prepare('PRAGMA integrity_check').get()?.integrity_check;
  if (check !== 'ok') throw new Error(`it is damaged (${String(check).slice(0, 200)})`);
}

const readMeta = (database: DatabaseSync) =>
  metaRow.parse(database.prepare('SELECT text, began, newest_at AS newestAt FROM main.meta').get());

/** The contents of an open file of this version, and its high-water mark. */
function contentsOf(database: DatabaseSync) {
  const { text, ...counts } = readMeta(database);
  const found = database
    .prepare(
      `SELECT count(*) AS records, count(*) FILTER (WHERE state = 'PENDING') AS pending,
        count(*) FILTER (WHERE state = 'UNKNOWN') AS unknown FROM main.payment`,
    )
    .get();
  return { ...countsRow.parse(found), ...heldMark(parseMetadata(text), counts) };
}

export type StoreContents = Readonly<ReturnType<typeof contentsOf>>;

/**
 * Copies a SQLite store's file while bankql serves, and verifies the copy.
 * Shape:  what the copy holds. The copy is one file, mode 0600. It gets its name only when it is complete and synced to
 *         disk.
 * Errors: an Error that names the file and the reason; then there is no copy. An existing file is never overwritten.
 */
export async function backupStore(path: string, target: string): Promise<StoreContents> {
  const draft = draftOf(target);
  try {
    using source = new DatabaseSync(absolute(path), { readOnly: true, timeout: busyTimeoutMs });
    using copy = await copyStore(source, draft);
    const contents = contentsOf(copy);
    // Unlike a rename, this fails where the name is taken.
    linkSync(draft, target);
    syncFolder(target);
    return contents;
  } catch (error) {
    throw new Error(`${path} was not copied to ${target}: ${messageOf(error)}.`, { cause: error });
  } finally {
    removeDatabase(draft);
  }
}

export interface RestorePlan {
  readonly backup: StoreContents;
  /** The records of the file in use that are not in the backup: sending one of them again would pay again. */
  readonly missing: readonly PaymentRecord[];
  /** How many further payments began after the backup, according to the high-water mark; their records are unknown. */
  readonly unnamed: number;
  /**
   * Whether the file in use or a mark is of the backup's store, and not older than the backup. Otherwise nothing says what began
   * after the backup: `missing` and `unnamed` may be far from all.
   */
  readonly isCounted: boolean;
  /** Why the file in use could not be read, so that `missing` is empty; null if it was read, or does not exist. */
  readonly unreadable: string | null;
}

interface RestoreOptions {
  /** The person who decided it, and the reason: it stays in the store. */
  readonly by: string;
  readonly now: number;
  /** As OpenStoreOptions has it: its mark is made to fit as well. */
  readonly witness?: string | undefined;
  /** Asked for confirmation of the plan before anything is replaced; without it the restore goes ahead. */
  readonly confirm?: ((plan: RestorePlan) => Promise<boolean>) | undefined;
}

interface Restored extends RestorePlan {
  /** The new path of the replaced file, with its log next to it as `-wal` if it had one; null if neither existed. */
  readonly replaced: string | null;
}

/**
 * Puts a backup in the place of a SQLite store's file, which is kept as PATH.replaced-<time>, and makes the marks fit.
 * Shape:  what was done; null if `confirm` said no, and nothing was changed.
 * Errors: an Error that says why nothing was changed: a bankql has the file open, or the backup is damaged or not a
 *         backup. After an interruption, the path is the complete old file or the complete restored one. Only the log of an
 *         unreadable file may have moved already: it then has the name of the replaced file.
 */
export async function restoreStore(
  from: string,
  path: string,
  options: RestoreOptions,
): Promise<Restored | null> {
  const target = absolute(path);
  const files = markFiles(target, options.witness);
  const marks = files.flatMap((file) => readableMark(file) ?? []);
  const draft = draftOf(target);
  let mark: HighWaterMark;
  let restored: Restored;
  try {
    using source = new DatabaseSync(absolute(from), { readOnly: true, timeout: busyTimeoutMs });
    using copy = await copyStore(source, draft);
    const saved = contentsOf(copy);
    const whyNot = whyUnreadable(target);
    using current = existsSync(target) && whyNot === null ? lockFile(target) : null;
    const { inUse, missing, unreadable } =
      current === null ? { inUse: null, missing: [], unreadable: whyNot } : readCurrent(current, draft);
    const known = inUse === null ? [saved] : [saved, inUse];
    // Payments that a mark counts and neither file contains.
    const unnamed = marks.map(({ storeId, began }) => {
      const same = known.filter((contents) => contents.storeId === storeId);
      return began - Math.max(0, ...same.map((contents) => contents.began));
    });
    const allMarks = inUse === null ? marks : [...marks, inUse];
    const isCounted = allMarks.some(
      ({ storeId, began }) => storeId === saved.storeId && began >= saved.began,
    );
    const plan = { backup: saved, missing, unnamed: Math.max(0, ...unnamed), isCounted, unreadable };
    if (options.confirm !== undefined && !(await options.confirm(plan))) return null;
    mark = recordDecision(copy, allMarks, plan, options);
    restored = { ...plan, replaced: replaceFile(draft, realPath(target), options.now) };
  } catch (error) {
    throw new Error(`${from} was not restored to ${path}: ${messageOf(error)}.`, { cause: error });
  } finally {
    removeDatabase(draft);
  }
  await writeMarks(mark, files);
  return restored;
}

/**
 * Why the file cannot be opened; null if it can, or does not exist. Opened read-only: a writable connection would, when
 * it is closed, write its log into a file that it cannot read, and delete the log.
 */
function whyUnreadable(path: string): string | null {
  if (!existsSync(path)) return null;
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    database.prepare('PRAGMA schema_version').get();
    return null;
  } catch (error) {
    return isBusy(error) ? null : messageOf(error);
  }
}

/** Opens the file with an exclusive lock, held while it is open. Errors: an Error where a bankql has it open. */
function lockFile(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 500 });
  try {
    // Leaving WAL mode fails while another process has the file open. It also checkpoints the log.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; COMMIT');
    // Left behind by readers; no other process has it open.
    rmSync(`${path}-shm`, { force: true });
  } catch (error) {
    if (isBusy(error)) {
      database.close();
      throw new Error('a bankql has it open: stop it first', { cause: error });
    }
    // It is damaged, or no database: copying it will say so.
  }
  return database;
}

/** The contents of the file in use, and its records that the copy of the backup lacks; or why it cannot be read. */
function readCurrent(current: DatabaseSync, draft: string) {
  try {
    checkIntegrity(current);
    current.prepare('ATTACH $draft AS backup').run({ draft });
    // An older file is read as if it were of this version, and stays as it is.
    current.exec('BEGIN');
    upgradeSchema(current, false);
    const rows = current
      .prepare(`SELECT ${storedColumns} FROM main.payment AS record
        WHERE NOT EXISTS (SELECT 1 FROM backup.payment WHERE id = record.id) ORDER BY created_at, id`)
      .all();
    const missing: PaymentRecord[] = rows.map((row) => rowIn(storedRow.parse(row)).held.record);
    return { inUse: contentsOf(current), missing, unreadable: null };
  } catch (error) {
    return { inUse: null, missing: [], unreadable: messageOf(error) };
  } finally {
    for (const undo of ['ROLLBACK', 'DETACH backup'])
      try {
        current.exec(undo);
      } catch {
        // It did not come so far.
      }
  }
}

/** Writes the decision into the copy, so that all that was there before fits it. Shape: its high-water mark. */
function recordDecision(
  copy: DatabaseSync,
  marks: readonly HighWaterMark[],
  plan: RestorePlan,
  { by, now }: RestoreOptions,
): HighWaterMark {
  const { text, ...counts } = readMeta(copy);
  const done = { ...plan, missing: plan.missing.map(({ id }) => id) };
  const decision = { at: now, by, what: `restored a backup: ${JSON.stringify(done)}` };
  const next = acceptMarks(parseMetadata(text), counts, marks, decision);
  copy
    .prepare('UPDATE meta SET version = $version, text = $text')
    .run({ version: randomUUID(), text: JSON.stringify(next) });
  return heldMark(next, counts);
}

/** The file that a link names: SQLite keeps the log next to that file. */
const realPath = (path: string): string => (existsSync(path) ? realpathSync(path) : path);

/**
 * Replaces the file and its log by the copy: at no time may the old log be replayed over the copy. A file that can be read has no
 * log any more, and to one that cannot be read its log is of no use.
 * Shape: where the replaced file is now; null if there was neither a file nor a log.
 */
function replaceFile(draft: string, path: string, now: number): string | null {
  keepOwner(draft, path);
  const replaced = `${path}.replaced-${new Date(now).toISOString().replaceAll(':', '-')}`;
  const parts = ['', '-wal'].filter((end) => existsSync(path + end));
  for (const end of parts) linkSync(path + end, replaced + end);
  syncFolder(path);
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
  // The removal of the log has to be durable before the copy takes the file's name.
  syncFolder(path);
  renameSync(draft, path);
  syncFolder(path);
  return parts.length > 0 ? replaced : null;
}

async function writeMarks(mark: HighWaterMark, files: readonly string[]): Promise<void> {
  const failures: string[] = [];
  for (const file of files)
    await createMarkWriter(file, (reason) => {
      if (reason !== null) failures.push(`${file} (${reason})`);
    })(mark);
  if (failures.length > 0)
    throw new Error(
      `The backup is in its place, but its mark could not be written to ${failures.join(', ')}.`,
    );
}
