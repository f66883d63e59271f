import { resolve as absolute } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { type PaymentStore, StoreUnavailable } from '../../store.ts';
import type { OnStoreEvent } from '../store-event.ts';
import { storedRecord } from '../stored-record.ts';
import { defaultBeatMs } from './clock.ts';
import {
  type StoreCall,
  type WorkerAnswer,
  type WorkerReport,
  type WorkerRequest,
  type WorkerSettings,
  workerMessage,
} from './worker-protocol.ts';

export interface SqliteStoreOptions {
  /** The file. */
  readonly path: string;
  /** Whether it and its folder are made where there is none; by default they are. */
  readonly create?: boolean;
  /** How long a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  /** How long a call may take, the wait for its turn and for other processes included. */
  readonly timeoutMs: number;
  /** A second file for the store's high-water mark; the first is beside it, `PATH.mark`. */
  readonly witness?: string | undefined;
  readonly onEvent?: OnStoreEvent | undefined;
  /** How often the processes that share the file look at each other's clocks; see clock.ts. */
  readonly beatMs?: number;
}

const found = storedRecord.nullable();
const status = z.object({
  records: z.number(),
  pending: z.number(),
  unknown: z.number(),
  newestAt: z.number().nullable(),
});

/** Upgrading an older file rewrites all of its records; a lock is waited for no longer than for a call. */
const startTimeoutMs = 600_000;

/** Reading many records may take longer than a payment waits. */
const searchFactor = 20;

/** Calls that the worker owes an answer; more of them mean that it hangs (a dead disk), and fail at once. */
const maxUnanswered = 1_000;

/**
 * A payment store in one SQLite file, which the processes of one machine may share.
 *
 * What was stored survives the end of the process and of the machine's power (write-ahead log, fsync at each
 * commit). The file has to be on a local disk. A worker thread holds it, so that a lock of another process
 * delays payments and nothing else; a worker that died is replaced at the next call.
 *
 * It refuses payments where it holds less than its high-water mark says (witness.ts); what is old enough to be forgotten
 * is decided by a time on which the processes agree (clock.ts).
 *
 * A `begin` that failed stored nothing, unless it failed during its commit: the thread or the process died, the
 * disk failed, or the commit took longer than the timeout and the `reopen` that follows it failed too. Then a
 * PENDING record stays, which becomes UNKNOWN although nothing was sent: safe, but the key is used up.
 * Shape:  a PaymentStore, once the file is open. A record's age is counted from its last change.
 * Errors: an Error that names the path and the remedy where the file cannot be opened; later StoreUnavailable.
 */
export async function createSqliteStore(options: SqliteStoreOptions): Promise<PaymentStore> {
  const { retentionMs, timeoutMs, create = true, witness, onEvent, beatMs = defaultBeatMs } = options;
  // Absolute, so that SQLite takes neither `:memory:` nor `file:` for something else than a file's name.
  const path = absolute(options.path);
  const busyTimeoutMs = Math.floor(timeoutMs * 0.8);
  const workerData: WorkerSettings = { path, retentionMs, busyTimeoutMs, witness, beatMs };
  const unanswered = new Map<number, (answer: WorkerAnswer) => void>();
  let worker: Worker | null = null;
  let lastId = 0;
  let closing: Promise<void> | null = null;
  let report: WorkerReport = { secret: '', loss: null };

  function takeReport(next: WorkerReport): void {
    const { loss } = report;
    report =
      next.loss === null
        ? next
        : { ...next, loss: `The payment store ${path} refuses payments: ${next.loss}.` };
    if (report.loss !== null && report.loss !== loss) onEvent?.({ kind: 'loss', loss: report.loss });
    if (report.loss === null && loss !== null) onEvent?.({ kind: 'loss-accepted' });
  }

  function startWorker(): Worker {
    const started = new Worker(new URL('./worker.ts', import.meta.url), { workerData });
    let reason = 'its worker thread ended';
    started.on('message', (message: unknown) => {
      const { data } = workerMessage.safeParse(message);
      if (data === undefined) return;
      if ('event' in data) onEvent?.(data.event);
      else if ('secret' in data) takeReport(data);
      else unanswered.get(data.id)?.(data);
    });
    started.on('error', (error: unknown) => {
      reason = `its worker thread failed: ${error instanceof Error ? error.message : String(error)}`;
    });
    started.on('exit', () => {
      worker = null;
      for (const [id, answer] of unanswered) answer({ id, ok: false, reason });
    });
    // After the listeners: one for messages would keep the process alive again.
    started.unref();
    return started;
  }

  function unavailable(reason: string): StoreUnavailable {
    return new StoreUnavailable(`The payment store ${path} is not available: ${reason}.`);
  }

  function ask<T>(
    call: StoreCall,
    shape: z.ZodType<T>,
    { limitMs = timeoutMs, late = (_value: T): void => {} } = {},
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (closing !== null && call.method !== 'close') throw unavailable('it is closed');
      if (unanswered.size >= maxUnanswered) throw unavailable('its worker thread does not answer');
      const id = ++lastId;
      const claim = new Int32Array(new SharedArrayBuffer(4));
      let gaveUp = false;
      worker ??= startWorker();
      worker.postMessage({ id, claim, call } satisfies WorkerRequest);
      const timer = setTimeout(() => {
        gaveUp = true;
        Atomics.compareExchange(claim, 0, 0, 1);
        reject(unavailable(`no answer in ${limitMs} ms`));
      }, limitMs);
      unanswered.set(id, (answer) => {
        unanswered.delete(id);
        clearTimeout(timer);
        if (!answer.ok) return reject(unavailable(answer.reason));
        const value = shape.safeParse(answer.value);
        if (!value.success) return reject(unavailable('it holds a record of another shape'));
        return gaveUp ? late(value.data) : resolve(value.data);
      });
    });
  }

  async function end(): Promise<void> {
    if (worker === null) return;
    const ended = worker;
    // Every call that is queued before this one is done or given up within its own time.
    const closed = await ask({ method: 'close' }, z.literal(true), { limitMs: 2 * timeoutMs }).catch(
      () => false,
    );
    // A thread that hangs in a system call cannot be ended: nobody waits for it.
    if (closed) await ended.terminate();
    else void ended.terminate();
  }

  const store: PaymentStore = {
    begin: (record, now) =>
      ask({ method: 'begin', record, now }, found, {
        late(existing) {
          // The caller was told that nothing is stored, and sends nothing.
          if (existing === null)
            store.release(record.id, record.trackId, { afterLease: true }).catch(() => {});
        },
      }),
    finish: (id, trackId, outcome, now) => ask({ method: 'finish', id, trackId, outcome, now }, z.boolean()),
    release: (id, trackId, { afterLease = false } = {}) =>
      ask({ method: 'release', id, trackId, afterLease }, z.boolean()),
    find: (id, now) => ask({ method: 'find', id, now }, found),
    search: (query, now) =>
      ask({ method: 'search', query, now }, z.array(storedRecord), { limitMs: searchFactor * timeoutMs }),
    get secret() {
      return report.secret;
    },
    get loss() {
      return report.loss;
    },
    async acceptLoss(by, now) {
      await ask({ method: 'acceptLoss', by, now }, z.literal(true));
    },
    status: (now) => ask({ method: 'status', now }, status, { limitMs: searchFactor * timeoutMs }),
    settle: (id, state, settledBy, now) => ask({ method: 'settle', id, state, settledBy, now }, z.boolean()),
    close() {
      closing ??= end();
      return closing;
    },
  };

  try {
    await ask({ method: 'open', create }, z.literal(true), { limitMs: startTimeoutMs });
  } catch (error) {
    await store.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${reason} STATE_URL has to name a file of bankql's own, on a local disk, in a folder that this user may write (a new file knows of no earlier payment).`,
      { cause: error },
    );
  }
  return store;
}
