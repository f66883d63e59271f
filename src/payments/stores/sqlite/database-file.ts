import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { upgradeSchema } from './schema.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** The payment store's SQLite file, and how it is opened. For worker.ts. */

interface OpenOptions {
  readonly path: string;
  /** Whether to create a missing file and its tables. */
  readonly create: boolean;
  readonly busyTimeoutMs: number;
}

export interface OpenFile {
  readonly database: DatabaseSync;
  readonly statements: Statements;
  readonly inode: string;
}

export function isBusy(error: unknown): boolean {
  // The low byte is SQLite's primary result code; 5 is SQLITE_BUSY.
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === 5
  );
}

/** Distinguishes a file from another one that has replaced it. */
export function inodeOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}:${ino}`;
}

/** Not `recursive`: that never returns where an existing folder answers ENOENT, as /proc does. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

function createFile(path: string): void {
  createFolder(dirname(path));
  try {
    // 'wx' never opens a file that is there: closing it again would drop the locks that SQLite holds on it
    // in this process. The -wal and -shm files take the mode of this one.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

function setUp(database: DatabaseSync, create: boolean): void {
  database.exec('BEGIN IMMEDIATE');
  upgradeSchema(database, create);
  database.exec('COMMIT');
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal') throw new Error('its file system has no write-ahead log');
  database.exec('PRAGMA synchronous = FULL');
}

function open({ path, create, busyTimeoutMs }: OpenOptions): OpenFile {
  if (create) createFile(path);
  if (!statSync(path).isFile()) throw new Error('it is not a regular file');
  const inode = inodeOf(path);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    setUp(database, create);
    const statements = prepareStatements(database);
    // A file from elsewhere may be readable by everybody. Only after it proved to be a store: the file at a wrong path
    // stays untouched.
    for (const name of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(name)) chmodSync(name, 0o600);
    return { database, statements, inode };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Opens the file, retrying within busyTimeoutMs: if two processes switch a new file to WAL at the same time, SQLite
 * fails one of them without waiting.
 */
export function openFile(options: OpenOptions): OpenFile {
  const until = performance.now() + options.busyTimeoutMs;
  for (;;) {
    try {
      return open(options);
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
