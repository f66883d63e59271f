import { existsSync, linkSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { resolve as absolute, basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { type HighWaterMark, successorOf } from '../high-water-mark.ts';
import {
  busyTimeoutMs,
  checkIntegrity,
  contentsOf,
  copyStore,
  draftOf,
  reasonOf,
  removeDatabase,
  type StoreContents,
  syncFolder,
} from './copy.ts';
import { isBusy } from './database-file.ts';
import { acceptedMark, createMarkWriters, markFiles } from './mark-files.ts';
import { makePlan, type RestorePlan } from './restore-plan.ts';

export interface RestoreOptions {
  /** Who decided it, and why: it stays in the store. */
  readonly by: string;
  readonly now: number;
  /** As OpenStoreOptions has it: its mark is made to fit as well. */
  readonly witness?: string | undefined;
  /** Asked for confirmation of the plan before anything is replaced; without it the restore goes ahead. */
  readonly confirm?: ((plan: RestorePlan) => Promise<boolean>) | undefined;
}

export interface Restored extends RestorePlan {
  /** Where the replaced file is now, its log beside it as `-wal` where it had one; null where there was neither. */
  readonly replaced: string | null;
}

/**
 * Puts a backup in the place of a SQLite store's file, which is kept as PATH.replaced-<time>, and makes the marks fit.
 * Shape:  what was done; null where `confirm` said no, and nothing was changed.
 * Errors: an Error that says why nothing was changed: a bankql has the file open, or the backup is none or damaged; or
 *         that the file in its place is not whole, and where the replaced one is.
 *         Where it was interrupted the path is either the old file or the restored one, whole.
 */
export async function restoreStore(
  backup: string,
  path: string,
  options: RestoreOptions,
): Promise<Restored | null> {
  const target = absolute(path);
  const files = markFiles(target, options.witness);
  const draft = draftOf(target);
  const old = draftOf(target);
  let mark: HighWaterMark;
  let restored: Restored;
  try {
    using source = new DatabaseSync(absolute(backup), { readOnly: true, timeout: busyTimeoutMs });
    const saved = await copyStore(source, draft);
    const unreadable = whyUnreadable(target);
    using current = existsSync(target) && unreadable === null ? lockFile(target) : null;
    const inUse = current === null ? unreadable : await copyStore(current, old).catch(reasonOf);
    const plan = makePlan(saved, inUse, { draft, old, files });
    if (options.confirm !== undefined && !(await options.confirm(plan))) return null;
    mark = successor(saved, inUse, files);
    recordDecision(draft, mark, plan, options);
    restored = { ...plan, replaced: replaceFile(draft, realPath(target), options.now) };
    checkRestored(target, { ...saved, ...mark }, restored);
  } catch (error) {
    throw new Error(`${backup} was not restored to ${path}: ${reasonOf(error)}.`, { cause: error });
  } finally {
    removeDatabase(draft);
    removeDatabase(old);
  }
  await writeMarks(mark, files);
  return restored;
}

/**
 * Why the file cannot be opened; null if it can, or there is none. Opened read-only: a writable connection would, when
 * it is closed, write its log into a file that it cannot read, and delete the log.
 */
function whyUnreadable(path: string): string | null {
  if (!existsSync(path)) return null;
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    database.prepare('PRAGMA schema_version').get();
    return null;
  } catch (error) {
    return isBusy(error) ? null : reasonOf(error);
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

/** The mark of the restored store: all that was there before fits it. */
function successor(
  saved: StoreContents,
  inUse: StoreContents | string | null,
  files: readonly string[],
): HighWaterMark {
  const { storeId, began, newestAt } = saved;
  const own = { storeId, began, newestAt };
  const newer =
    inUse === null || typeof inUse === 'string' || inUse.began === 0 ? own : successorOf(own, inUse);
  return acceptedMark(newer, files);
}

function recordDecision(
  draft: string,
  { storeId, began, newestAt }: HighWaterMark,
  { backup, missing, unnamed, unreadable }: RestorePlan,
  { by, now }: RestoreOptions,
): void {
  using database = new DatabaseSync(draft);
  database
    .prepare('UPDATE meta SET storeId = $storeId, began = $began, newestAt = $newestAt')
    .run({ storeId, began, newestAt });
  const done = { backup, missing: missing.map(({ id }) => id), unnamed, unreadable };
  database
    .prepare('INSERT INTO decision (at, decidedBy, what) VALUES ($now, $by, $what)')
    .run({ now, by, what: `restored a backup: ${JSON.stringify(done)}` });
}

/** The file that a link names: SQLite keeps the log beside that one. */
const realPath = (path: string): string => (existsSync(path) ? realpathSync(path) : path);

/**
 * Replaces the file and its log by the copy atomically: at no time may the old log be replayed over the copy, or a file
 * be read without its log.
 * Shape: where the replaced file is now; null where there was neither a file nor a log.
 */
function replaceFile(draft: string, path: string, now: number): string | null {
  const time = new Date(now).toISOString().replaceAll(':', '-');
  const replaced = `${path}.replaced-${time}`;
  // A file that could be read has no log any more.
  const hasLog = existsSync(`${path}-wal`);
  const parts = ['', '-wal'].filter((end) => existsSync(path + end));
  for (const end of parts) linkSync(path + end, replaced + end);
  let ready = draft;
  if (hasLog) {
    // Two files cannot be replaced at once, but SQLite looks for the log beside the file that a link names.
    ready = `${path}.restored-${time}`;
    renameSync(draft, ready);
    const link = draftOf(path);
    symlinkSync(basename(ready), link);
    syncFolder(path);
    renameSync(link, path);
    syncFolder(path);
    rmSync(`${path}-wal`);
  }
  rmSync(`${path}-shm`, { force: true });
  // The removal of the log has to be durable before the copy takes the file's name.
  syncFolder(path);
  renameSync(ready, path);
  syncFolder(path);
  return parts.length > 0 ? replaced : null;
}

/** Errors: an Error where the file at its final path is not what was to be restored. */
function checkRestored(path: string, expected: StoreContents, { replaced }: Restored): void {
  const kept = replaced === null ? '' : `; the file before it is ${replaced}`;
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    checkIntegrity(database);
    const found = contentsOf(database);
    if (!isDeepStrictEqual(found, expected)) throw new Error(`it holds ${JSON.stringify(found)}`);
  } catch (error) {
    throw new Error(`the restored file is not what the backup was: ${reasonOf(error)}${kept}`, {
      cause: error,
    });
  }
}

async function writeMarks(mark: HighWaterMark, files: readonly string[]): Promise<void> {
  const failures: string[] = [];
  await createMarkWriters(files, (event) => {
    if (event.kind === 'mark-failed') failures.push(`${event.file} (${event.reason})`);
  })(mark);
  if (failures.length > 0)
    throw new Error(
      `The backup is in its place, but its mark could not be written to ${failures.join(', ')}.`,
    );
}
