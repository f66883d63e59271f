import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { search } from './search.ts';
import { statusSql } from './statements.ts';
import type { ReadCall, WorkerAnswer, WorkerRequest, WorkerSettings } from './worker-protocol.ts';

/**
 * The thread for reads of many records of the SQLite payment store, started by sqlite-store.ts: no payment waits for
 * it.
 */

if (parentPort === null) throw new Error('read-worker.ts runs in a worker thread only');
const port = parentPort;
const { path, busyTimeoutMs }: WorkerSettings = workerData;

function read(call: ReadCall): unknown {
  // Opened for each call, since another file may have replaced this one.
  using database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  const { before } = call;
  return call.method === 'search'
    ? search(database, call.query, before)
    : database.prepare(statusSql).get({ before });
}

type Request = WorkerRequest<ReadCall | { readonly method: 'close' }>;

function answer({ id, claim, call }: Request): WorkerAnswer {
  if (Atomics.load(claim, 0) !== 0) return { id, ok: false, reason: 'its caller gave up' };
  try {
    return { id, ok: true, value: call.method === 'close' ? true : read(call) };
  } catch (error) {
    return { id, ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

port.on('message', (request: Request) => {
  port.postMessage(answer(request));
  if (request.call.method === 'close') port.close();
});
