import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { StoreCall, WorkerAnswer, WorkerRequest, WorkerSettings } from './sqlite-store.ts';
import { leaseEnded } from './store.ts';

/**
 * The thread that holds the payment store's SQLite file, for sqlite-store.ts. Each call is one transaction
 * that has the write lock from its start, so that the processes that share the file take turns.
 */

if (parentPort === null) throw new Error('sqlite-worker.ts runs in a worker thread only');
const port = parentPort;
const { path, retentionMs, busyTimeoutMs }: WorkerSettings = workerData;

const schemaVersion = 1;
const purgeEveryMs = 60_000;

/** The columns bear the names of PaymentRecord's fields; `awaited`: its attempt may still say how it ended. */
const schema = `
  CREATE TABLE payment (
    id TEXT PRIMARY KEY, caller TEXT NOT NULL, fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('PENDING', 'DONE', 'REJECTED', 'UNKNOWN')),
    operation TEXT NOT NULL, bankId TEXT NOT NULL, accountId TEXT NOT NULL,
    toBankId TEXT, toAccountId TEXT, currency TEXT, amount TEXT,
    trackId TEXT NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, leaseUntil INTEGER NOT NULL,
    answer TEXT, code TEXT, status INTEGER, message TEXT, settledBy TEXT, awaited INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE INDEX paymentByState ON payment (state, updatedAt);
  PRAGMA user_version = ${schemaVersion};`;

const outlived = `state IN ('DONE', 'REJECTED') AND updatedAt < $before`;
const endLease = `UPDATE payment SET state = '${leaseEnded.state}', code = '${leaseEnded.code}',
  message = '${leaseEnded.message}', updatedAt = $now WHERE state = 'PENDING' AND leaseUntil <= $now`;

function prepare(database: DatabaseSync) {
  return {
    insert:
      database.prepare(`INSERT INTO payment (id, caller, fingerprint, state, operation, bankId, accountId,
      toBankId, toAccountId, currency, amount, trackId, createdAt, updatedAt, leaseUntil, answer, code, status, message, settledBy)
      VALUES ($id, $caller, $fingerprint, $state, $operation, $bankId, $accountId, $toBankId, $toAccountId, $currency, $amount, $trackId,
      $createdAt, $updatedAt, $leaseUntil, $answer, $code, $status, $message, $settledBy)`),
    read: database.prepare('SELECT * FROM payment WHERE id = $id'),
    list: database.prepare(
      `SELECT * FROM payment WHERE state = $state AND NOT (${outlived}) ORDER BY createdAt, id`,
    ),
    endLease: database.prepare(`${endLease} AND id = $id`),
    endLeases: database.prepare(endLease),
    forget: database.prepare(`DELETE FROM payment WHERE id = $id AND ${outlived}`),
    purge: database.prepare(
      `DELETE FROM payment WHERE id IN (SELECT id FROM payment WHERE ${outlived} LIMIT 500)`,
    ),
    finish:
      database.prepare(`UPDATE payment SET state = $state, answer = $answer, code = $code, status = $status,
      message = $message, updatedAt = $now, awaited = 0 WHERE id = $id AND trackId = $trackId AND awaited = 1`),
    reopen: database.prepare(
      `DELETE FROM payment WHERE id = $id AND trackId = $trackId AND state = 'PENDING'`,
    ),
    settle: database.prepare(`UPDATE payment SET state = $state, code = NULL, message = NULL,
      settledBy = $settledBy, updatedAt = $now, awaited = 0 WHERE id = $id AND state = 'UNKNOWN' AND settledBy IS NULL`),
  };
}

interface OpenFile {
  readonly database: DatabaseSync;
  readonly statements: ReturnType<typeof prepare>;
  readonly inode: string;
}

let file: OpenFile | null = null;
let purgedAt = Number.NEGATIVE_INFINITY;

function isBusy(error: unknown): boolean {
  // The low byte is SQLite's primary result code; 5 is SQLITE_BUSY.
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === 5
  );
}

function inodeOf(): string {
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

function setUp(database: DatabaseSync, create: boolean): void {
  database.exec('BEGIN IMMEDIATE');
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n);
  if (version > schemaVersion) {
    throw new Error(
      `its version is ${version}, and this bankql knows up to ${schemaVersion}: run the newer bankql`,
    );
  }
  if (version < schemaVersion && tables > 0) throw new Error('it belongs to another program');
  // Only the start may make a new store: later on, an empty file means that the records are gone.
  if (version < schemaVersion && !create) throw new Error('it has lost its tables');
  if (version < schemaVersion) database.exec(schema);
  database.exec('COMMIT');
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal') throw new Error('its file system has no write-ahead log');
  database.exec('PRAGMA synchronous = FULL');
}

function open(create: boolean): OpenFile {
  if (create) createFile();
  if (!statSync(path).isFile()) throw new Error('it is not a regular file');
  const inode = inodeOf();
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    setUp(database, create);
    const statements = prepare(database);
    // A file from elsewhere may be open to all. Not before it proved to be ours: a wrong path stays untouched.
    for (const name of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(name)) chmodSync(name, 0o600);
    return { database, statements, inode };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Two that turn a new file to WAL at once: SQLite lets one fail without waiting for the other. */
function openWithPatience(create: boolean): OpenFile {
  const until = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      return open(create);
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

function run({ statements }: OpenFile, call: StoreCall): unknown {
  const current = (id: string, now: number) => {
    statements.endLease.run({ id, now });
    statements.forget.run({ id, before: now - retentionMs });
    return statements.read.get({ id }) ?? null;
  };
  switch (call.method) {
    case 'open':
    case 'close':
      return true;
    case 'begin': {
      // A clock that was put back must not stop the purge until it has caught up.
      if (Math.abs(call.now - purgedAt) >= purgeEveryMs) {
        statements.purge.run({ before: call.now - retentionMs });
        purgedAt = call.now;
      }
      const found = current(call.record.id, call.now);
      if (found === null) statements.insert.run({ ...call.record });
      return found;
    }
    case 'finish': {
      const { state, answer, code, status, message } = call.outcome;
      const { id, trackId, now } = call;
      return statements.finish.run({ id, trackId, state, answer, code, status, message, now }).changes === 1;
    }
    case 'reopen':
      return statements.reopen.run({ id: call.id, trackId: call.trackId }).changes === 1;
    case 'find':
      return current(call.id, call.now);
    case 'list':
      statements.endLeases.run({ now: call.now });
      return statements.list.all({ state: call.state, before: call.now - retentionMs });
    case 'settle': {
      const { id, state, settledBy, now } = call;
      statements.endLease.run({ id, now });
      return statements.settle.run({ id, state, settledBy, now }).changes === 1;
    }
  }
}

function transact(open: OpenFile, { id, claim, call }: WorkerRequest): WorkerAnswer {
  const { database } = open;
  database.exec('BEGIN IMMEDIATE');
  try {
    const value = run(open, call);
    // From here on the caller cannot take the call back any more (see WorkerRequest).
    const claimed = Atomics.compareExchange(claim, 0, 0, 1) === 0;
    database.exec(claimed ? 'COMMIT' : 'ROLLBACK');
    return claimed ? { id, ok: true, value } : { id, ok: false, reason: 'its caller gave up' };
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function closeFile(): void {
  file?.database.close();
  file = null;
}

function answer(request: WorkerRequest): WorkerAnswer {
  const { id, claim, call } = request;
  if (Atomics.load(claim, 0) !== 0) return { id, ok: false, reason: 'its caller gave up' };
  try {
    if (call.method === 'close') {
      closeFile();
      return { id, ok: true, value: true };
    }
    // Writing on into a file that was moved away would hide the payments from everybody else.
    if (file !== null && inodeOf() !== file.inode) throw new Error('another file has taken its place');
    file ??= openWithPatience(call.method === 'open');
    return transact(file, request);
  } catch (error) {
    // A lock goes away by itself; after anything else the next call opens the file anew.
    if (!isBusy(error)) closeFile();
    return { id, ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (request: WorkerRequest) => {
  port.postMessage(answer(request));
  if (request.call.method === 'close') port.close();
});
