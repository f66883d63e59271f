import { resolve as absolute, extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { messageOf } from '../../../errors.ts';
import { rowCounts, type StoreDriver, storedRow, WriteUncertain } from '../driver.ts';
import { missingStore, otherStore } from '../missing-store.ts';
import { StoreUnavailable } from '../store.ts';
import { type RowMethods, steadyMs } from './database.ts';

interface SqliteOptions {
  /** The file. */
  readonly path: string;
  /** The time limit of a call, in milliseconds; a search has more time. */
  readonly timeoutMs: number;
  /** The time for which the start waits for another process's lock, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Whether a missing store is made. */
  readonly create: boolean;
  /** Whether nothing is written, neither to the file nor to its folder. */
  readonly readOnly: boolean;
  /** For `readOnly`: whether a file that could not be written is refused. */
  readonly mustBeWritable: boolean;
  /** Called with a sentence for the operator if other users can read the file. */
  readonly onNotice?: (text: string) => void;
}

/** The data that a worker thread starts with. */
export interface WorkerSettings extends Pick<SqliteOptions, 'path' | 'readOnly' | 'mustBeWritable'> {
  /** The maximum number of calls that share a transaction. */
  readonly maxBatch: number;
  /** The inode of the file that the thread may open, as the first thread found it; null for any file. */
  readonly inode: string | null;
}

/** The thread's answer to `open`. */
const openedFile = z.object({
  secret: z.string(),
  inode: z.string().nullable(),
  notice: z.string().nullable(),
});

export interface SqliteRequest {
  readonly id: number;
  readonly method: 'open' | keyof RowMethods;
  readonly args: readonly unknown[];
  /** The time, by steadyMs, after which nobody waits for the response. */
  readonly giveUpAt: number;
  /** The maximum wait for another process's lock, in milliseconds. */
  readonly lockMs: number;
}

/** `not stored`: nothing was written. `uncertain`: a write may or may not have been committed. */
type Failure = 'missing' | 'unusable' | 'not stored' | 'uncertain';
export type SqliteResponse =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string; readonly failure: Failure };

/** With this number of unanswered calls, bankql assumes that the thread hangs (a dead disk), and further calls fail at once. */
const maxUnanswered = 1_000;
/** The maximum time in which the thread may start, and make a file, in milliseconds. */
const startMs = 30_000;
/** The shortest time limit of a search, in milliseconds. No payment waits for a search. */
const minSearchMs = 10_000;

/**
 * The rows of a payment store in one SQLite file, which the processes of one machine may share.
 * Stored records survive the end of the process and a power failure (write-ahead log, fsync at each commit). The file has to be
 * on a local disk. A worker thread has it open, so that a slow disk or another process's lock delays only payments. Searches
 * have another thread, which starts with the first search: a search of 300,000 payments of a caller takes 0.3 s.
 * A thread that died is replaced at the next call.
 * Errors: an Error that names the path and the remedy if the file cannot be opened.
 */
export async function openSqlite(options: SqliteOptions): Promise<StoreDriver> {
  const { timeoutMs, startTimeoutMs, create, readOnly, mustBeWritable, onNotice } = options;
  // An absolute path, so that SQLite takes `:memory:` and `file:` as file names.
  const path = absolute(options.path);
  const settings = { path, readOnly, mustBeWritable };
  let inode: string | null = null;
  const thread = createThread(path, () => ({ ...settings, inode, maxBatch: 64 }));
  const atStart = { limitMs: startTimeoutMs + startMs, lockMs: startTimeoutMs };
  const opened = await thread.ask('open', [create], atStart).catch(async (error) => {
    await thread.end(timeoutMs);
    throw error instanceof StoreUnavailable ? startError(error) : error;
  });
  const { secret, notice, ...file } = openedFile.parse(opened);
  inode = file.inode;
  if (notice !== null) onNotice?.(notice);
  // One search at a time: each is answered before the next one begins.
  const searcher = createThread(path, () => ({ ...settings, inode, maxBatch: 1 }));
  const usual = { limitMs: timeoutMs, lockMs: Math.floor(timeoutMs * 0.8) };
  const slow = { ...usual, limitMs: Math.max(timeoutMs, minSearchMs) };
  const ask: AskRows = (method, ...args) =>
    method === 'search' ? searcher.ask(method, args, slow) : thread.ask(method, args, usual);
  return {
    ...driverOver(secret, ask),
    async close() {
      await Promise.all([thread, searcher].map(({ end }) => end(2 * timeoutMs)));
    },
  };
}

/** Calls a statement of database.ts, here or in another thread. */
export type AskRows = (method: keyof RowMethods, ...args: unknown[]) => Promise<unknown>;

export const driverOver = (secret: string, ask: AskRows): Omit<StoreDriver, 'close'> => ({
  secret,
  // A thread notices by the inode that the file was replaced. It does not notice that the file at the start is an older copy.
  loss: null,
  // A payment that a lookup does not find is not stored later, because a thread answers in order, and a dead thread writes
  // nothing.
  uncertainMs: 0,
  insert: async (row) => storedRow.parse(await ask('insert', row)),
  recover: async (...args) => z.boolean().parse(await ask('recover', ...args)),
  compareAndSet: async (...args) => z.boolean().parse(await ask('compareAndSet', ...args)),
  find: async (id) => storedRow.nullable().parse(await ask('find', id)),
  search: async (query) => storedRow.array().parse(await ask('search', query)),
  count: async () => rowCounts.parse(await ask('count')),
  purge: async (before) => z.number().parse(await ask('purge', before)),
  async acceptLoss() {},
});

const startError = (cause: StoreUnavailable): Error =>
  new Error(
    `${cause.message} STATE_URL has to name a file on a local disk, in a folder that this user may write, and no other program may keep it locked.`,
    { cause },
  );

/** When the sources run, the module is TypeScript; in the package, it is JavaScript. */
const module = new URL(`sqlite-thread${extname(import.meta.url)}`, import.meta.url);

/** The time limit of a call, and of its wait for locks, in milliseconds. */
interface CallLimits {
  readonly limitMs: number;
  readonly lockMs: number;
}

/** A thread that answers calls about the file. A call starts it if there is no thread. */
function createThread(path: string, settings: () => WorkerSettings) {
  const unanswered = new Map<number, (response: SqliteResponse) => void>();
  let worker: Worker | null = null;
  let lastId = 0;
  let isOver = false;

  function start(): Worker {
    const started = new Worker(module, { workerData: settings() });
    let reason = 'its worker thread ended';
    started.on('message', (responses: readonly SqliteResponse[]) => {
      for (const response of responses) unanswered.get(response.id)?.(response);
    });
    started.on('error', (error: unknown) => {
      reason = `its worker thread failed: ${messageOf(error)}`;
    });
    started.on('exit', () => {
      if (worker === started) worker = null;
      for (const [id, answer] of unanswered) answer({ id, error: reason, failure: 'uncertain' });
    });
    // `unref` is called after the listeners are added, because adding a message listener would make the
    // thread keep the process alive again.
    started.unref();
    return started;
  }

  const unavailable = (reason: string, failure: Failure = 'not stored'): Error => {
    if (failure === 'missing') return missingStore(path);
    if (failure === 'unusable') return otherStore(path, reason);
    const message = `The payment store ${path} is not available: ${reason}.`;
    return failure === 'uncertain' ? new WriteUncertain(message) : new StoreUnavailable(message);
  };

  return {
    /**
     * Errors: StoreUnavailable that names the file and the reason; WriteUncertain; for `open`, also an Error
     * with the remedy.
     */
    ask(
      method: SqliteRequest['method'],
      args: readonly unknown[],
      { limitMs, lockMs }: CallLimits,
    ): Promise<unknown> {
      return new Promise((resolve, reject) => {
        if (isOver) throw unavailable('it is closed');
        if (unanswered.size >= maxUnanswered) throw unavailable('its worker thread does not answer');
        const id = ++lastId;
        worker ??= start();
        worker.postMessage({
          id,
          method,
          args,
          giveUpAt: steadyMs() + limitMs,
          lockMs,
        } satisfies SqliteRequest);
        const timer = setTimeout(
          () => reject(unavailable(`no answer in ${limitMs} ms`, 'uncertain')),
          limitMs,
        );
        unanswered.set(id, (response) => {
          unanswered.delete(id);
          clearTimeout(timer);
          if ('error' in response) reject(unavailable(response.error, response.failure));
          else resolve(response.value);
        });
      });
    },

    /** Ends the thread after it has answered all earlier calls; later calls fail. */
    async end(limitMs: number): Promise<void> {
      isOver = true;
      if (worker === null) return;
      const ended = worker;
      const { promise, resolve } = Promise.withResolvers<void>();
      ended.on('exit', () => resolve());
      ended.postMessage('close');
      const timer = setTimeout(resolve, limitMs);
      await promise;
      clearTimeout(timer);
      // A thread that hangs in a system call cannot be terminated; nothing waits for its end.
      void ended.terminate();
    },
  };
}
