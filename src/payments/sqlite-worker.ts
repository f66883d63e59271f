import { parentPort, workerData } from 'node:worker_threads';
import { beginEvent, finishEvent, leaseEndEvent, settleEvent } from './payment-history.ts';
import { historyLine } from './stored-record.ts';
import { inodeOf, isBusy, type OpenFile, openFile } from './sqlite-file.ts';
import type { StoreCall, WorkerAnswer, WorkerRequest, WorkerSettings } from './sqlite-protocol.ts';

/**
 * The thread that holds the payment store's SQLite file, for sqlite-store.ts. Each call is one transaction
 * that has the write lock from its start, so that the processes that share the file take turns.
 */

if (parentPort === null) throw new Error('sqlite-worker.ts runs in a worker thread only');
const port = parentPort;
const { path, retentionMs, busyTimeoutMs }: WorkerSettings = workerData;

const purgeEveryMs = 60_000;

let file: OpenFile | null = null;
let purgedAt = Number.NEGATIVE_INFINITY;

function run({ statements }: OpenFile, call: StoreCall): unknown {
  const current = (id: string, now: number) => {
    statements.endLease.run({ id, now, event: historyLine(leaseEndEvent(now)) });
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
      if (found === null)
        statements.insert.run({ ...call.record, history: historyLine(beginEvent(call.record)) });
      return found;
    }
    case 'finish': {
      const { id, trackId, now, outcome } = call;
      const event = historyLine(finishEvent(outcome, now));
      return statements.finish.run({ id, trackId, ...outcome, now, event }).changes === 1;
    }
    case 'reopen':
      return statements.reopen.run({ id: call.id, trackId: call.trackId }).changes === 1;
    case 'find':
      return current(call.id, call.now);
    case 'list':
      statements.endLeases.run({ now: call.now, event: historyLine(leaseEndEvent(call.now)) });
      return statements.list.all({ before: call.now - retentionMs });
    case 'settle': {
      const { id, state, settledBy, now } = call;
      statements.endLease.run({ id, now, event: historyLine(leaseEndEvent(now)) });
      const event = historyLine(settleEvent(state, settledBy, now));
      return statements.settle.run({ id, state, settledBy, now, event }).changes === 1;
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
    if (file !== null && inodeOf(path) !== file.inode) throw new Error('another file has taken its place');
    file ??= openFile({ path, create: call.method === 'open' && call.create, busyTimeoutMs });
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
