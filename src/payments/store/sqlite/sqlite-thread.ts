import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../errors.ts';
import { createTables, type RowMethods, readSecret, rowMethods, steadyMs } from './database.ts';
import type { SqliteRequest, SqliteResponse, WorkerSettings } from './sqlite-driver.ts';

/** A thread that has the payment store's SQLite file open. Calls that wait share a transaction, and so its fsync. */

if (parentPort === null) throw new Error('worker.ts runs in a worker thread only');
const port = parentPort;
const { path, readOnly, mustBeWritable, maxBatch, inode: knownInode }: WorkerSettings = workerData;

interface OpenFile {
  readonly database: DatabaseSync;
  readonly methods: RowMethods;
  readonly secret: string;
  readonly inode: string | null;
  /** A notice to the operator about the file, or null. */
  readonly notice: string | null;
  /** The time for which SQLite waits for locks, in milliseconds. */
  lockMs: number;
}

let file: OpenFile | null = null;
/** Distinguishes the file from another one that has replaced it. */
let inode = knownInode;

/** There is no store at this path. */
class MissingStore extends Error {}
/** This bankql cannot use the file at this path. */
class UnusableStore extends Error {}

const writes: ReadonlySet<string> = new Set(['insert', 'recover', 'compareAndSet', 'purge']);

/** Executes calls, in one transaction if one of them writes. Shape: the responses; they are valid after the commit. */
function executeAll(requests: readonly SqliteRequest[]): SqliteResponse[] {
  const lockMs = Math.max(...requests.map((request) => request.lockMs));
  let isCommitting = false;
  try {
    const create = requests.some(({ method, args }) => method === 'open' && args[0] === true);
    const { database, methods, secret, notice } = openFile(create, lockMs);
    const isTransaction = requests.some(({ method }) => writes.has(method));
    if (isTransaction) database.exec('BEGIN IMMEDIATE');
    const responses = requests.map(({ id, method, args, giveUpAt }): SqliteResponse => {
      if (method === 'open') return { id, value: { secret, inode, notice } };
      // The caller has given up, so nothing is executed.
      if (giveUpAt < steadyMs()) return { id, error: 'its caller gave up', failure: 'not stored' };
      return { id, value: Reflect.apply(methods[method], null, args) };
    });
    isCommitting = isTransaction;
    if (isTransaction) database.exec('COMMIT');
    return responses;
  } catch (error) {
    rollBack();
    // A lock is temporary. After any other error, the next call opens the file again.
    if (!isBusy(error)) closeFile();
    const reason = isBusy(error)
      ? `another process has kept it locked for ${lockMs / 1000} s`
      : messageOf(error);
    const failure = isCommitting ? 'uncertain' : failureOf(error, requests);
    return requests.map(({ id }) => ({ id, error: reason, failure }));
  }
}

function failureOf(error: unknown, requests: readonly SqliteRequest[]) {
  const isStart = requests.some(({ method }) => method === 'open');
  if (isStart && error instanceof MissingStore) return 'missing';
  return isStart && error instanceof UnusableStore ? 'unusable' : 'not stored';
}

/** Whether a lock is the reason: the low byte is SQLite's primary result code, and 5 is SQLITE_BUSY. */
const isBusy = (error: unknown): boolean => (Object(error).errcode & 0xff) === 5;

function rollBack(): void {
  try {
    if (file?.database.isTransaction) file.database.exec('ROLLBACK');
  } catch {
    closeFile();
  }
}

function closeFile(): void {
  file?.database.close();
  file = null;
}

function openFile(create: boolean, lockMs: number): OpenFile {
  const found = inodeOf(path);
  if (found === null && !create) throw new MissingStore('its file is gone');
  // If the file was moved away, other processes would not see payments that are still written to it.
  if (inode !== null && found !== inode)
    throw new Error('another file has taken its place: start bankql again');
  file ??= readOnly ? openToRead(lockMs) : openToWrite(create, lockMs);
  inode ??= file.inode;
  if (file.lockMs !== lockMs) file.database.exec(`PRAGMA busy_timeout = ${lockMs}`);
  file.lockMs = lockMs;
  return file;
}

function inodeOf(name: string): string | null {
  const stat = statSync(name, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (!stat.isFile()) throw new UnusableStore('it is not a regular file, which STATE_URL has to name');
  return `${stat.dev}:${stat.ino}`;
}

function openToRead(lockMs: number): OpenFile {
  const found = inodeOf(path);
  if (mustBeWritable) for (const name of [path, dirname(path)]) assertWritable(name);
  const url = pathToFileURL(path);
  // Without a `-wal` file, nobody has the store open. `immutable` prevents SQLite from creating this file for
  // a read, and leaving it there.
  if (!existsSync(`${path}-wal`)) url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true, timeout: lockMs });
  return { ...opened(database, () => {}), inode: found, notice: null, lockMs };
}

/** Errors: UnusableStore. */
function assertWritable(name: string): void {
  try {
    accessSync(name, constants.W_OK);
  } catch {
    throw new UnusableStore(`this user may not write ${name}`);
  }
}

/**
 * Opens the file, retrying within `lockMs`: if two processes switch a new file to WAL at the same time, SQLite fails one of them
 * without waiting.
 */
function openToWrite(create: boolean, lockMs: number): OpenFile {
  const until = steadyMs() + lockMs;
  for (;;) {
    try {
      return openOnce(create, Math.max(0, until - steadyMs()));
    } catch (error) {
      if (!isBusy(error) || steadyMs() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

function openOnce(create: boolean, lockMs: number): OpenFile {
  if (create) createFile();
  const found = inodeOf(path);
  let notice: string | null = null;
  const prepare = (database: DatabaseSync) => {
    if (create) {
      database.exec('BEGIN IMMEDIATE');
      if (secretIn(database) === null) createTables(database);
      database.exec('COMMIT');
    } else if (secretIn(database) === null) return;
    const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
    if (mode !== 'wal') throw new UnusableStore('its file system has no write-ahead log');
    database.exec('PRAGMA synchronous = FULL');
    notice = closeToOthers();
  };
  const file = opened(new DatabaseSync(path, { timeout: lockMs }), prepare);
  return { ...file, inode: found, notice, lockMs };
}

/**
 * Makes the files private, because a file from elsewhere may be readable by everybody. Shape: a warning if it stays
 * readable; otherwise null.
 */
function closeToOthers(): string | null {
  for (const name of [path, `${path}-wal`, `${path}-shm`]) {
    const mode = statSync(name, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o077) === 0) continue;
    try {
      chmodSync(name, 0o600);
    } catch (error) {
      return `${name} is open to other users of this machine, and its mode cannot be changed: ${messageOf(error)}`;
    }
  }
  return null;
}

/** Errors: those of SQLite; MissingStore if the file is empty. `prepare` makes it ready for writing. */
function opened(database: DatabaseSync, prepare: (database: DatabaseSync) => void) {
  try {
    prepare(database);
    const secret = secretIn(database);
    if (secret === null) throw new MissingStore('it is empty');
    return { database, methods: rowMethods(database), secret };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Errors: UnusableStore; those of SQLite for a lock. */
function secretIn(database: DatabaseSync): string | null {
  try {
    return readSecret(database);
  } catch (error) {
    throw isBusy(error) ? error : new UnusableStore(messageOf(error), { cause: error });
  }
}

function createFile(): void {
  createFolder(dirname(path));
  try {
    // `wx` never opens an existing file: closing it again would drop the locks that SQLite holds on it in this process. The
    // -wal and -shm files take the mode of this one.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

/** Makes a folder and its parents. `recursive` never returns if an existing folder answers ENOENT, as /proc does. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

const waiting: SqliteRequest[] = [];
let isClosing = false;
let isScheduled = false;

function take(message: SqliteRequest | 'close'): void {
  if (message === 'close') isClosing = true;
  else waiting.push(message);
}

function work(): void {
  isScheduled = false;
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    take(next.message);
  if (waiting.length > 0) port.postMessage(executeAll(waiting.splice(0, maxBatch)));
  if (waiting.length > 0) schedule();
  else if (isClosing) {
    closeFile();
    port.close();
  }
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(work);
}

port.on('message', (message: SqliteRequest | 'close') => {
  take(message);
  schedule();
});
