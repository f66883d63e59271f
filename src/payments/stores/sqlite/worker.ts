import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../errors.ts';
import { rowMethods } from './rows.ts';
import { checkSchema, filesOf, isBusy, upgradeSchema } from './schema.ts';
import type { FileMethods, SqliteRequest, SqliteResponse, ThreadSettings } from './sqlite-store.ts';

/**
 * A thread that works with the payment store's SQLite file: one writes, and a second one, which only reads, searches, so that no
 * payment waits for a search. Calls that wait for the writer share a transaction, and so its fsync.
 */

if (parentPort === null) throw new Error('worker.ts runs in a worker thread only');
const port = parentPort;
const { path, readOnly, isInspected }: ThreadSettings = workerData;

/** How many calls share a transaction at most. */
const maxBatch = 64;

interface OpenFile {
  readonly database: DatabaseSync;
  readonly methods: FileMethods;
  readonly inode: string;
  /** How long SQLite waits for locks. */
  lockMs: number;
}

let file: OpenFile | null = null;

function methodsOf(database: DatabaseSync): FileMethods {
  const methods = rowMethods(database);
  return {
    ...methods,
    open: () => null,
    settleWrites: () => null,
    readMetadata: () => ({ ...Object(methods.readMetadata()), serverTime: machineTime() }),
  };
}

/**
 * The clock of the machine, by which a file gets its times: that of a process may be another one. Null if no file can be made.
 */
function machineTime(): number | null {
  try {
    const folder = mkdtempSync(`${path}.clock-`);
    const { mtimeMs } = statSync(folder);
    rmdirSync(folder);
    return Math.floor(mtimeMs);
  } catch {
    return null;
  }
}

const writes: ReadonlySet<keyof FileMethods> = new Set([
  'insertIfAbsent',
  'compareAndSet',
  'purge',
  'writeMetadata',
]);

/** Executes calls, in one transaction if one of them writes. Shape: the responses, which are true once it returns. */
function executeAll(requests: readonly SqliteRequest[]): SqliteResponse[] {
  const lockMs = Math.max(...requests.map((request) => request.lockMs));
  let isCommitting = false;
  try {
    const create = requests.some(({ method, args }) => method === 'open' && args[0] === true);
    const open = openFile(create, lockMs);
    const isTransaction = requests.some(({ method }) => writes.has(method));
    if (isTransaction) open.database.exec('BEGIN IMMEDIATE');
    const now = performance.timeOrigin + performance.now();
    const responses = requests.map(({ id, method, args, giveUpAt }): SqliteResponse => {
      // Its caller takes it back, or says that nothing is stored.
      if (writes.has(method) && giveUpAt < now)
        return { id, error: 'its caller gave up', failure: 'not stored' };
      return { id, value: Reflect.apply(open.methods[method], null, args) };
    });
    isCommitting = isTransaction;
    if (isTransaction) open.database.exec('COMMIT');
    return responses;
  } catch (error) {
    rollBack();
    // A lock is temporary; after any other error the next call opens the file again.
    const isLocked = isBusy(error);
    if (!isLocked) closeFile();
    const reason = isLocked ? `another process has kept it locked for ${lockMs / 1000} s` : messageOf(error);
    const failure = isCommitting ? 'uncertain' : isLocked ? 'locked' : 'not stored';
    return requests.map(({ id }) => ({ id, error: reason, failure }));
  }
}

function rollBack(): void {
  try {
    if (file?.database.isTransaction) file.database.exec('ROLLBACK');
  } catch {
    closeFile();
  }
}

function openFile(create: boolean, lockMs: number): OpenFile {
  // Writing on into a file that was moved away would hide the payments from everybody else.
  if (file !== null && inodeOf(path) !== file.inode) {
    closeFile();
    throw new Error('another file has taken its place');
  }
  file ??= readOnly ? openToRead(lockMs) : openToWrite(create, lockMs);
  if (file.lockMs !== lockMs) file.database.exec(`PRAGMA busy_timeout = ${lockMs}`);
  file.lockMs = lockMs;
  return file;
}

function closeFile(): void {
  file?.database.close();
  file = null;
}

function openToRead(lockMs: number): OpenFile {
  const inode = inodeOf(path);
  // Without a log nobody has the file open. Even to read, SQLite would make one, and its index, and leave them.
  const url = pathToFileURL(path);
  if (isInspected && !existsSync(`${path}-wal`)) url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true, timeout: lockMs });
  checkSchema(database);
  return { database, methods: methodsOf(database), inode, lockMs };
}

/**
 * Opens the file, retrying within `lockMs`: if two processes switch a new file to WAL at the same time, SQLite
 * fails one of them without waiting.
 */
function openToWrite(create: boolean, lockMs: number): OpenFile {
  const until = performance.now() + lockMs;
  for (;;) {
    try {
      return openOnce(create, Math.max(0, Math.ceil(until - performance.now())));
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

function openOnce(create: boolean, lockMs: number): OpenFile {
  if (create) createFile();
  if (!statSync(path).isFile()) throw new Error('it is not a regular file');
  const inode = inodeOf(path);
  const database = new DatabaseSync(path, { timeout: lockMs });
  try {
    database.exec('BEGIN IMMEDIATE');
    upgradeSchema(database, create);
    database.exec('COMMIT');
    const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
    if (mode !== 'wal') throw new Error('its file system has no write-ahead log');
    database.exec('PRAGMA synchronous = FULL');
    const methods = methodsOf(database);
    // A file from elsewhere may be readable by everybody. Only after it proved to be a store: the file at a wrong path
    // stays untouched.
    for (const name of filesOf(path).database) if (existsSync(name)) chmodSync(name, 0o600);
    return { database, methods, inode, lockMs };
  } catch (error) {
    database.close();
    throw error;
  }
}

function createFile(): void {
  createFolder(dirname(path));
  try {
    // 'wx' never opens a file that is there: closing it again would drop the locks that SQLite holds on it
    // in this process. The -wal and -shm files take the mode of this one.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

/** Not `recursive`: that never returns if an existing folder answers ENOENT, as /proc does. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

/** Distinguishes a file from another one that has replaced it. */
function inodeOf(name: string): string {
  const { dev, ino } = statSync(name, { bigint: true });
  return `${dev}:${ino}`;
}

port.on('message', (first: SqliteRequest | 'close') => {
  const requests: SqliteRequest[] = [];
  let isOver = false;
  for (let next: SqliteRequest | 'close' | undefined = first; next !== undefined; ) {
    if (next === 'close') isOver = true;
    else requests.push(next);
    next = requests.length < maxBatch && !isOver ? receiveMessageOnPort(port)?.message : undefined;
  }
  if (requests.length > 0) port.postMessage(executeAll(requests));
  if (!isOver) return;
  closeFile();
  port.close();
});
