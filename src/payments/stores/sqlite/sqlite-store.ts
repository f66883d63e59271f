import { resolve as absolute } from 'node:path';
import { z } from 'zod';
import type { PaymentQuery, PaymentRecord, PaymentStore } from '../../store.ts';
import type { OnStoreEvent } from '../store-event.ts';
import { storedRecord } from '../stored-record.ts';
import { defaultBeatMs } from './clock.ts';
import { createSerialByKey } from './serial-by-key.ts';
import type { ReadCall, StoreCall, WorkerReport, WorkerSettings } from './worker-protocol.ts';
import { createWorkerThread } from './worker-thread.ts';

export interface SqliteStoreOptions {
  /** The file. */
  readonly path: string;
  /** Whether to create a missing file and its folder; true by default. */
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

/** Upgrading an older file rewrites all of its records. Waiting for a lock still takes no longer than in a call. */
const startTimeoutMs = 600_000;

/** Reading many records may take longer than a payment waits. */
const readFactor = 20;

/**
 * A payment store in one SQLite file, which the processes of one machine may share.
 *
 * What was stored survives the end of the process and of the machine's power (write-ahead log, fsync at each commit).
 * The file has to be on a local disk. A worker thread writes it, so that another process's lock delays only payments; a
 * second thread runs searches, one at a time per caller, so that no payment waits for them. A thread that died is
 * replaced at the next call.
 *
 * It refuses payments where it holds less than its high-water mark says (high-water-mark.ts); which records have
 * expired is decided by a time that the processes agree on (clock.ts).
 *
 * A `begin` that failed stored nothing, unless it failed during its commit: the thread or the process died, the
 * disk failed, or the commit took longer than the timeout and the `release` that follows it failed too. Then a
 * PENDING record stays, which becomes UNKNOWN although nothing was sent: safe, but the key is used up.
 * Shape:  a PaymentStore, once the file is open. A record's age is counted from its last change.
 * Errors: an Error that names the path and the remedy where the file cannot be opened; later StoreUnavailable.
 */
export async function createSqliteStore(options: SqliteStoreOptions): Promise<PaymentStore> {
  const { retentionMs, timeoutMs, create = true, witness, onEvent, beatMs = defaultBeatMs } = options;
  // Absolute, so that SQLite takes `:memory:` and `file:` as file names.
  const path = absolute(options.path);
  const busyTimeoutMs = Math.floor(timeoutMs * 0.8);
  const settings: WorkerSettings = { path, retentionMs, busyTimeoutMs, witness, beatMs };
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

  const { ask, end: endWriter } = createWorkerThread<StoreCall>({
    module: 'worker',
    settings,
    timeoutMs,
    onMessage: (message) => ('event' in message ? onEvent?.(message.event) : takeReport(message)),
  });
  const reader = createWorkerThread<ReadCall>({
    module: 'read-worker',
    settings,
    timeoutMs,
  });
  const read = { limitMs: readFactor * timeoutMs };
  const searchInTurn = createSerialByKey();

  /** Before records are read, those whose leases have ended are updated. */
  const prepareRead = (now: number) => ask({ method: 'prepareRead', now }, z.number(), read);

  async function search(query: PaymentQuery, now: number): Promise<PaymentRecord[]> {
    const before = await prepareRead(now);
    return reader.ask({ method: 'search', query, before }, z.array(storedRecord), read);
  }

  async function end(): Promise<void> {
    const close = { method: 'close' } as const;
    const limit = { limitMs: 2 * timeoutMs };
    const readerEnded = reader.end(() => reader.ask(close, z.literal(true), limit));
    // Every call queued before this one completes or times out by itself.
    await endWriter(async () => {
      // The last connection to close checkpoints the log.
      await readerEnded;
      await ask(close, z.literal(true), limit);
    });
    await readerEnded;
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
      query.caller === undefined ? search(query, now) : searchInTurn(query.caller, () => search(query, now)),
    get secret() {
      return report.secret;
    },
    get loss() {
      return report.loss;
    },
    async acceptLoss(by, now) {
      await ask({ method: 'acceptLoss', by, now }, z.literal(true));
    },
    status: async (now) => reader.ask({ method: 'status', before: await prepareRead(now) }, status, read),
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
