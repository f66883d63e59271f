import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { resolve as absolute } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type HighWaterMark, successorOf } from '../witness.ts';
import {
  busyTimeoutMs,
  copyStore,
  draftOf,
  reasonOf,
  removeDatabase,
  type StoreContents,
  syncFolder,
} from './copy.ts';
import { isBusy } from './database-file.ts';
import { acceptedMark, createMarkWriters, markFiles } from './marks.ts';
import { makePlan, type RestorePlan } from './restore-plan.ts';

export interface RestoreOptions {
  /** Who decided it, and why: it stays in the store. */
  readonly by: string;
  readonly now: number;
  /** As OpenStoreOptions has it: its mark is made to fit as well. */
  readonly witness?: string | undefined;
  /** Is asked with what the restore would do, before anything is replaced; by default it does it. */
  readonly confirm?: ((plan: RestorePlan) => Promise<boolean>) | undefined;
}

export interface Restored extends RestorePlan {
  /** Where the replaced file is now; null where there was none. */
  readonly replaced: string | null;
}

/**
 * Puts a backup in the place of a SQLite store's file, which is kept as PATH.replaced-<time>, and makes the marks fit.
 * Shape:  what was done; null where `confirm` said no, and nothing was changed.
 * Errors: an Error that says why nothing was changed: a bankql has the file open, or the backup is none or damaged.
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
    using current = existsSync(target) ? lockFile(target) : null;
    const inUse = current === null ? null : await copyStore(current, old).catch(reasonOf);
    const plan = makePlan(saved, inUse, { draft, old, files });
    if (options.confirm !== undefined && !(await options.confirm(plan))) return null;
    mark = successor(saved, inUse, files);
    recordDecision(draft, mark, plan, options);
    restored = { ...plan, replaced: replaceFile(draft, target, options.now) };
  } catch (error) {
    throw new Error(`${backup} was not restored to ${path}: ${reasonOf(error)}.`, { cause: error });
  } finally {
    removeDatabase(draft);
    removeDatabase(old);
  }
  await writeMarks(mark, files);
  return restored;
}

/** The file, locked against everybody else as long as it is open. Errors: an Error where a bankql has it open. */
function lockFile(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 500 });
  try {
    // Whoever has a file with a write-ahead log open keeps it from leaving that mode. It also empties the log.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; COMMIT');
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

/** Puts the copy in its place. Gives where the replaced file is now; null where there was none. */
function replaceFile(draft: string, path: string, now: number): string | null {
  if (!existsSync(path)) {
    renameSync(draft, path);
    syncFolder(path);
    return null;
  }
  const replaced = `${path}.replaced-${new Date(now).toISOString().replaceAll(':', '-')}`;
  // Its log would be taken for the restored file's. A file that was read has none any more.
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${replaced}-wal`);
  rmSync(`${path}-shm`, { force: true });
  linkSync(path, replaced);
  renameSync(draft, path);
  syncFolder(path);
  return replaced;
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
