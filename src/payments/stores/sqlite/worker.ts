import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { StoreEvent } from '../store-event.ts';
import { createSharedClock } from './clock.ts';
import { inodeOf, isBusy, type OpenFile, openFile } from './database-file.ts';
import { createMarkWriters, findLoss, heldMark, markFiles } from './mark-files.ts';
import { createStoreCalls, type WriteCall } from './store-calls.ts';
import type {
  WorkerAnswer,
  WorkerMessage,
  WorkerReport,
  WorkerRequest,
  WorkerSettings,
} from './worker-protocol.ts';

/**
 * The thread that writes the payment store's SQLite file, for sqlite-store.ts. Each call that may write is one
 * transaction that has the write lock from its start, so that the processes that share the file take turns.
 */

if (parentPort === null) throw new Error('worker.ts runs in a worker thread only');
const port = parentPort;
const { path, retentionMs, busyTimeoutMs, witness, beatMs }: WorkerSettings = workerData;

const tell = (message: WorkerMessage) => port.postMessage(message);
const onEvent = (event: StoreEvent) => tell({ event });

const marks = markFiles(path, witness);
const writeMarks = createMarkWriters(marks, onEvent);
const clock = createSharedClock(onEvent);
const calls = createStoreCalls({ retentionMs, clock, markFiles: marks, onEvent });

/** Three times as long as a slice of a purge takes: a purge leaves most of the thread to payments. */
const purgePauseMs = 30;

/** Each mark costs an fsync, which those of the payments would wait behind. */
const markEveryMs = 50;

let file: OpenFile | null = null;
let report: WorkerReport | null = null;
let markTimer: NodeJS.Timeout | null = null;
let markedAt = Number.NEGATIVE_INFINITY;

/** Compares the store with its marks, and reports a changed result. */
function checkLoss({ statements }: OpenFile): string | null {
  const secret = String(statements.meta.get()?.secret);
  const loss = findLoss(heldMark(statements), marks);
  if (report?.loss !== loss || report.secret !== secret) {
    report = { secret, loss };
    tell(report);
  }
  return loss;
}

/** Begun payments are written to the marks right after the answer, while the bank is called; several share a write. */
function markSoon(): void {
  if (markTimer !== null) return;
  const wait = Math.max(0, markedAt + markEveryMs - performance.now());
  markTimer = setTimeout(() => {
    markTimer = null;
    markedAt = performance.now();
    try {
      if (file !== null && report?.loss === null) void writeMarks(heldMark(file.statements));
    } catch {
      // The file is locked or gone: the next begun payment writes the mark again.
    }
  }, wait);
}

function inTransaction<T>({ database }: OpenFile, work: () => T, mayCommit = () => true): T | null {
  database.exec('BEGIN IMMEDIATE');
  try {
    const value = work();
    const commit = mayCommit();
    database.exec(commit ? 'COMMIT' : 'ROLLBACK');
    return commit ? value : null;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function write(open: OpenFile, { id, claim }: WorkerRequest, call: WriteCall): WorkerAnswer {
  // From here on the caller cannot take the call back any more (see WorkerRequest).
  const claimed = () => Atomics.compareExchange(claim, 0, 0, 1) === 0;
  const done = inTransaction(open, () => ({ value: calls.write(open, call) }), claimed);
  if (done === null) return { id, ok: false, reason: 'its caller gave up' };
  if (call.method === 'begin') markSoon();
  return { id, ok: true, value: done.value };
}

/**
 * Deletes expired records in short transactions, with a pause for payments after each. If the file is closed, locked or
 * out of space, it waits for the next purge.
 */
async function purge(open: OpenFile, now: number): Promise<void> {
  let deleted = 0;
  try {
    const due = calls.duePurge(open, now);
    if (due === null) return;
    for (let more = true; more && file === open; ) {
      const slice = inTransaction(open, () => calls.purgeSlice(open, due));
      deleted += slice?.deleted ?? 0;
      more = slice?.more ?? false;
      await delay(purgePauseMs);
    }
    calls.endPurge(due, deleted);
  } catch {
    // Payments fail for the same reason, and report it.
  }
}

function prepareRead(open: OpenFile, id: number, now: number): WorkerAnswer {
  if (calls.hasEndedLease(open, now)) inTransaction(open, () => calls.endLeases(open, now));
  return { id, ok: true, value: calls.expiry(open, now) };
}

/** The heartbeat by which other processes see this one as alive; written without an fsync. */
function beat(): void {
  try {
    if (file === null || inodeOf(path) !== file.inode) return;
    const open = file;
    open.database.exec('PRAGMA synchronous = NORMAL');
    try {
      inTransaction(open, () => clock.beat(open.statements));
    } finally {
      open.database.exec('PRAGMA synchronous = FULL');
    }
    // Another process may have accepted it.
    if (report?.loss !== null) checkLoss(open);
  } catch {
    // The file is locked or gone, which the next call reports: only this heartbeat is missed.
  }
}

function openStore(create: boolean): OpenFile {
  const opened = openFile({ path, create, busyTimeoutMs });
  try {
    inTransaction(opened, () => clock.beat(opened.statements));
    report = null;
    if (checkLoss(opened) === null) markSoon();
    return opened;
  } catch (error) {
    opened.database.close();
    throw error;
  }
}

function closeFile(): void {
  file?.database.close();
  file = null;
}

/** Clean shutdown: removes this process's clock row, and writes the store's mark. */
async function end(): Promise<void> {
  if (file === null) return;
  const { statements } = file;
  // A write that started now would be interrupted with the thread, and leave its draft behind.
  if (markTimer !== null) clearTimeout(markTimer);
  try {
    if (report?.loss === null) await writeMarks(heldMark(statements));
    inTransaction(file, () => clock.leave(statements));
  } catch {
    // The others will notice that this process's heartbeats have stopped.
  }
  closeFile();
}

/** Executes a call on the open file. Errors: any; incomplete changes are rolled back. */
async function answerCall(open: OpenFile, request: WorkerRequest): Promise<WorkerAnswer> {
  const { id, call } = request;
  switch (call.method) {
    case 'open':
    case 'close':
      return { id, ok: true, value: true };
    case 'prepareRead':
      return prepareRead(open, id, call.now);
    case 'begin': {
      const loss = report?.loss === null ? null : checkLoss(open);
      return loss === null ? write(open, request, call) : { id, ok: false, reason: loss };
    }
    case 'acceptLoss': {
      const answer = write(open, request, call);
      if (answer.ok) await writeMarks(heldMark(open.statements));
      const loss = checkLoss(open);
      return loss === null ? answer : { id, ok: false, reason: loss };
    }
    default:
      return write(open, request, call);
  }
}

async function answer(request: WorkerRequest): Promise<WorkerAnswer> {
  const { id, claim, call } = request;
  if (Atomics.load(claim, 0) !== 0) return { id, ok: false, reason: 'its caller gave up' };
  try {
    if (call.method === 'close') {
      await end();
      return { id, ok: true, value: true };
    }
    // Writing on into a file that was moved away would hide the payments from everybody else.
    if (file !== null && inodeOf(path) !== file.inode) throw new Error('another file has taken its place');
    file ??= openStore(call.method === 'open' && call.create);
    return await answerCall(file, request);
  } catch (error) {
    // A lock is temporary; after any other error the next call reopens the file.
    if (!isBusy(error)) closeFile();
    return { id, ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', async (request: WorkerRequest) => {
  const answered = await answer(request);
  port.postMessage(answered);
  // Only now: no payment waits for it.
  if (answered.ok && file !== null && request.call.method === 'begin') void purge(file, request.call.now);
  if (request.call.method === 'close') port.close();
});

setInterval(beat, beatMs).unref();
