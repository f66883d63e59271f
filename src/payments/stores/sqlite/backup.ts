import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { resolve as absolute, dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { heldMark, parseMetadata } from '../../lost-records.ts';
import { upgradeSchema } from './schema.ts';

/** What a store's file holds. */
export interface StoreContents {
  readonly records: number;
  readonly pending: number;
  readonly unknown: number;
  readonly storeId: string;
  /** How many payments were ever begun in it. */
  readonly began: number;
  /** The newest time at which one began, in milliseconds since 1970; null where none did. */
  readonly newestAt: number | null;
}

const contents = z.object({
  records: z.number(),
  pending: z.number(),
  unknown: z.number(),
  text: z.string(),
  began: z.number(),
  newestAt: z.number().nullable(),
});

/** All pages in one step: several steps would restart at each write between them, forever under load. */
const allPages = 2 ** 31 - 1;

/** How long to wait for locks, in milliseconds. It may be long, because no payment waits for it. */
export const busyTimeoutMs = 5_000;

/** A name next to the path for an incomplete file. */
export const draftOf = (path: string): string => `${absolute(path)}.${randomUUID().slice(0, 8)}`;

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function removeDatabase(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true });
}

/** Syncs the folder, so that a created or renamed file survives a power failure. */
export function syncFolder(path: string): void {
  const folder = openSync(dirname(absolute(path)), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Copies a store to a new file, verifies the copy, and upgrades it to this version. Errors: any, naming the reason. */
export async function copyStore(source: DatabaseSync, copy: string): Promise<StoreContents> {
  closeSync(openSync(copy, 'wx', 0o600));
  await backup(source, copy, { rate: allPages });
  using database = new DatabaseSync(copy);
  checkIntegrity(database);
  // A single file, without -wal and -shm, that survives a power failure.
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
  upgradeSchema(database, false);
  database.exec('COMMIT');
  return contentsOf(database);
}

/** Errors: an Error that says what is damaged. */
export function checkIntegrity(database: DatabaseSync): void {
  const check = database.prepare('PRAGMA integrity_check').get()?.integrity_check;
  if (check !== 'ok') throw new Error(`it is damaged (${String(check).slice(0, 200)})`);
}

/** What an open file of this version holds. */
export function contentsOf(database: DatabaseSync): StoreContents {
  const { text, began, newestAt, ...counts } = contents.parse(
    database
      .prepare(
        `SELECT text, began, newest_at AS newestAt, (SELECT count(*) FROM payment) AS records,
          (SELECT count(*) FROM payment WHERE state = 'PENDING') AS pending,
          (SELECT count(*) FROM payment WHERE state = 'UNKNOWN') AS unknown FROM meta`,
      )
      .get(),
  );
  return { ...counts, ...heldMark(parseMetadata(text), { began, newestAt }) };
}

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
    const contents = await copyStore(source, draft);
    // Unlike a rename, this fails where the name is taken.
    linkSync(draft, target);
    syncFolder(target);
    return contents;
  } catch (error) {
    throw new Error(`${path} was not copied to ${target}: ${reasonOf(error)}.`, { cause: error });
  } finally {
    removeDatabase(draft);
  }
}
