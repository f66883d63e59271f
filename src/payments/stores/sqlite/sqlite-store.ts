import { resolve as absolute, extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../../errors.ts';
import { type StoreDriver, WriteUncertain } from '../../driver.ts';
import type { CheckedStore } from '../../lost-records.ts';
import {
  createProtocolStore,
  type DriverHooks,
  type StoreOptions,
  usualStartTimeoutMs,
} from '../../protocol-store.ts';
import { type PaymentStore, StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import type { RowMethods } from './rows.ts';
import { filesOf } from './schema.ts';

interface SqliteStoreOptions extends StoreOptions {
  /** The file. `PATH.mark` next to it holds its high-water mark. */
  readonly path: string;
}

/** What a thread does. */
export interface FileMethods extends RowMethods {
  readonly open: (create: boolean) => unknown;
  readonly settleWrites: () => unknown;
}

export interface SqliteRequest {
  readonly id: number;
  readonly method: keyof FileMethods;
  readonly args: readonly unknown[];
  /** When nobody waits for the response any more, in milliseconds since 1970 by a clock that cannot be set. */
  readonly giveUpAt: number;
  /** How long to wait for another process's lock. */
  readonly lockMs: number;
}

export type SqliteResponse =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string; readonly failure: keyof typeof failures };

/** The file was locked by another process all the time: nothing was stored. */
class StoreLocked extends StoreUnavailable {}

const failures = { 'not stored': StoreUnavailable, locked: StoreLocked, uncertain: WriteUncertain };

export interface ThreadSettings {
  readonly path: string;
  readonly readOnly: boolean;
  /** No bankql may have the file open: see openToRead. */
  readonly isInspected: boolean;
}

/** The maximum number of unanswered calls; more of them mean that the thread hangs (a dead disk), and fail at once. */
const maxUnanswered = 1_000;
/** Upgrading an older file rewrites all of its records. */
const upgradeTimeoutMs = 600_000;
/** How long a search may take at least: nobody pays meanwhile. */
const minSearchMs = 10_000;

/** The files of a SQLite store's high-water mark: one next to its file, and the witness, if there is one. */
export const markFiles = (path: string, witness: string | undefined): readonly string[] =>
  witness === undefined ? [filesOf(path).mark] : [filesOf(path).mark, witness];

/**
 * A payment store in one SQLite file, which the processes of one machine may share.
 *
 * What was stored survives the end of the process and of the machine's power (write-ahead log, fsync at each commit).
 * The file has to be on a local disk. A worker thread writes it, so that another process's lock delays only payments; a
 * second thread searches. A thread that died is replaced at the next call.
 * Shape:  a PaymentStore, once the file is open. A record's age is counted from its last change.
 * Errors: an Error that names the path and the remedy if the file cannot be opened; later StoreUnavailable.
 */
export async function createSqliteStore(options: SqliteStoreOptions): Promise<PaymentStore> {
  // Absolute, so that SQLite takes `:memory:` and `file:` as file names.
  const path = absolute(options.path);
  return createProtocolStore({
    ...options,
    name: path,
    markFiles: markFiles(path, options.witness),
    allowVolatile: false,
    countsAreConfirmed: true,
    open: (hooks) => openSqlite({ ...options, path }, hooks),
  });
}

type Ask = <Name extends keyof RowMethods, T>(method: Name, args: Parameters<RowMethods[Name]>) => Promise<T>;

/** `ask` calls a method; `search` one of those that no payment waits for. */
export const rowDriver = (ask: Ask, search: Ask): Omit<StoreDriver, 'settleWrites' | 'close'> => ({
  insertIfAbsent: (row) => ask('insertIfAbsent', [row]),
  compareAndSet: (id, version, row) => ask('compareAndSet', [id, version, row]),
  find: (id) => ask('find', [id]),
  search: (query) => search('search', [query]),
  findMissing: (attempts) => ask('findMissing', [attempts]),
  purge: (before) => ask('purge', [before]),
  count: (before, leaseUntil) => search('count', [before, leaseUntil]),
  readMetadata: () => ask('readMetadata', []),
  writeMetadata: (version, next) => ask('writeMetadata', [version, next]),
});

async function openSqlite(options: SqliteStoreOptions, hooks: DriverHooks): Promise<StoreDriver> {
  const { path, timeoutMs, startTimeoutMs = usualStartTimeoutMs } = options;
  const { readOnly = false, create = !readOnly } = options;
  const settings = { path, isInspected: readOnly };
  const lockMs = Math.floor(timeoutMs * 0.8);
  /** Null if a thread opens the file again, which may be another one by now: it is compared before a payment uses it. */
  let compared: Promise<void> | null = Promise.resolve();
  const onClosed = () => {
    compared = null;
  };
  const writer = createThread({ ...settings, readOnly }, { limitMs: timeoutMs, lockMs }, onClosed);
  const searchMs = Math.max(timeoutMs, minSearchMs);
  const reader = createThread({ ...settings, readOnly: true }, { limitMs: searchMs, lockMs }, onClosed);
  // What a comparison itself asks does not wait for one.
  const { readMetadata, writeMetadata, findMissing } = rowDriver(writer.ask, reader.ask);
  const checked: CheckedStore = { readMetadata, writeMetadata, findMissing };
  const onceCompared =
    (ask: Ask): Ask =>
    async (method, args) => {
      compared ??= hooks.onConnect(checked);
      // A comparison that failed is made again by the next call.
      await compared.catch((error) => {
        compared = null;
        throw error;
      });
      return ask(method, args);
    };
  const driver: StoreDriver = {
    ...rowDriver(onceCompared(writer.ask), onceCompared(reader.ask)),
    ...checked,
    // The thread answers in order, and one that died writes no more.
    settleWrites: () => writer.ask('settleWrites', []),
    async close() {
      // The last connection to close empties the log into the file.
      await reader.end();
      await writer.end();
    },
  };
  const atStart = { limitMs: upgradeTimeoutMs, lockMs: startTimeoutMs };
  try {
    await writer.ask('open', [create], atStart);
    // Several processes that start at once write the metadata of a new file.
    await hooks.onConnect({
      readMetadata: () => writer.ask('readMetadata', [], atStart),
      writeMetadata: (version, next) => writer.ask('writeMetadata', [version, next], atStart),
      findMissing,
    });
  } catch (error) {
    await driver.close();
    throw error instanceof StoreUnavailable ? startError(error) : error;
  }
  return driver;
}

const startError = (cause: StoreUnavailable): Error =>
  new Error(
    cause instanceof StoreLocked
      ? `${cause.message} A program that restores or upgrades the file, or edits it, may be the reason: start bankql again when it has ended.`
      : `${cause.message} STATE_URL has to name a file of bankql's own, on a local disk, in a folder that this user may write (a new file knows of no earlier payment).`,
    { cause },
  );

/** How long a call may take, and how much of that waiting for locks. */
interface CallLimits {
  readonly limitMs: number;
  readonly lockMs: number;
}

/** TypeScript if the sources run, JavaScript in the package. */
const module = new URL(`worker${extname(import.meta.url)}`, import.meta.url);

/**
 * A thread that answers calls about the file. A call starts it if there is no thread: also after one died. `onClosed` is called
 * when the file is closed, or may be, because a call failed.
 */
function createThread(settings: ThreadSettings, usual: CallLimits, onClosed: () => void) {
  const unanswered = new Map<number, (response: SqliteResponse) => void>();
  let worker: Worker | null = null;
  let lastId = 0;
  let isOver = false;

  function start(): Worker {
    const started = new Worker(module, { workerData: settings });
    let reason = 'its worker thread ended';
    started.on('message', (responses: readonly SqliteResponse[]) => {
      for (const response of responses) unanswered.get(response.id)?.(response);
    });
    started.on('error', (error: unknown) => {
      reason = `its worker thread failed: ${messageOf(error)}`;
    });
    started.on('exit', () => {
      if (worker === started) worker = null;
      onClosed();
      for (const [id, answer] of unanswered) answer({ id, error: reason, failure: 'uncertain' });
    });
    // After adding the listeners, because a message listener refs the thread again.
    started.unref();
    return started;
  }

  const message = (reason: string) => `The payment store ${settings.path} is not available: ${reason}.`;

  return {
    /** Errors: StoreUnavailable that names the file and the reason; WriteUncertain. */
    ask<Name extends keyof FileMethods, T>(
      method: Name,
      args: Parameters<FileMethods[Name]>,
      { limitMs, lockMs } = usual,
    ): Promise<T> {
      return new Promise((resolve, reject) => {
        if (isOver) throw new StoreUnavailable(message('it is closed'));
        if (unanswered.size >= maxUnanswered)
          throw new StoreUnavailable(message('its worker thread does not answer'));
        const id = ++lastId;
        worker ??= start();
        const giveUpAt = performance.timeOrigin + performance.now() + limitMs;
        worker.postMessage({ id, method, args, giveUpAt, lockMs } satisfies SqliteRequest);
        const timeout = startResponseTimeout(limitMs, () =>
          reject(new WriteUncertain(message(`no answer in ${limitMs} ms`))),
        );
        unanswered.set(id, (response) => {
          unanswered.delete(id);
          timeout.clear();
          if (!('error' in response)) return resolve(response.value as T);
          if (response.failure !== 'locked') onClosed();
          reject(new failures[response.failure](message(response.error)));
        });
      });
    },

    /** Ends the thread once it has answered all calls before it; later calls fail. */
    async end(): Promise<void> {
      isOver = true;
      if (worker === null) return;
      const ended = worker;
      const { promise: isClosed, resolve } = Promise.withResolvers<boolean>();
      ended.on('exit', () => resolve(true));
      ended.postMessage('close');
      const timeout = startResponseTimeout(2 * usual.limitMs, () => resolve(false));
      await isClosed;
      timeout.clear();
      // A thread that hangs in a system call cannot be terminated; nothing waits for its end.
      void ended.terminate();
    },
  };
}
