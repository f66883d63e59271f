import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { reasonOf } from '../../../errors.ts';
import { createSerialQueue } from '../../../serial-queue.ts';
import { WriteUncertain } from '../../driver.ts';
import { usualStartTimeoutMs } from '../../protocol-store.ts';
import { StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import { ConnectionLost, type PostgresConnection, ServerNotReady, ServerRefused } from './connection.ts';
import type { PostgresStoreOptions } from './postgres-store.ts';

/** If a connection was lost with it under way, it is done again over the next one, and may have been done already. */
type Work<T> = (connection: PostgresConnection) => Promise<T>;

/** Does several jobs at once. Shape: what became of each. */
type JointWork<Job, Answer> = (
  connection: PostgresConnection,
  jobs: readonly Job[],
) => Promise<(job: Job) => Answer>;

interface Asked<Job, Answer> {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}
type Batch<Job, Answer> = Asked<Job, Answer>[];

/** A call waits for a connection for as long as a statement may take. */
export interface LineOptions extends Pick<PostgresStoreOptions, 'address' | 'timeoutMs'> {
  /** How long the start may try; by default longer if a server is reached, and is not ready. */
  readonly startTimeoutMs?: number | undefined;
  /**
   * Opens a connection to the server that takes writes, and checks it; gives up when `closing` is aborted. The statements of lost
   * connections have ended then.
   * Errors: ServerRefused, ServerNotReady, or any that may pass.
   */
  open(closing: AbortSignal): Promise<PostgresConnection>;
  /** Is called for each new connection, once calls can have it. */
  readonly onReady?: () => void;
}

/** Calls that wait for their turn; more of them fail at once. */
const maxWaiting = 1_000;
const maxPauseMs = 2_000;
/** How long a start tries to reach a server. */
const reachTimeoutMs = 5_000;
/** The server takes no writes any more, or its tables are gone: nothing was stored, and connecting again finds out more. */
const changed = new Set(['25006', '42P01', '3F000']);
/** The server cannot store one of the values. */
const unfit = /^(2[123]|54)/;

const pauseMs = (failures: number) => Math.min(50 * 2 ** failures, maxPauseMs) * (0.5 + Math.random() / 2);

/**
 * One connection at a time, for one call after the other. If it is lost, the next one is sought, with pauses; meanwhile calls
 * wait. After two attempts have failed, calls fail at once: whatever ended the connection may have ended the first attempt too.
 * Shape:  the line, once it is connected.
 * Errors: an Error that names the server, and the remedy, if none is connected in time.
 */
export async function openLine(options: LineOptions) {
  const { address, timeoutMs } = options;
  const closing = new AbortController();
  let pause = new AbortController();
  const open = () => options.open(closing.signal);
  let connection = await openFirst();
  let current = Promise.resolve(connection);
  const calls = createSerialQueue();
  let waiting = 0;
  let closed: Promise<void> | null = null;

  async function openFirst(): Promise<PostgresConnection> {
    const start = performance.now();
    for (let failures = 1; ; failures++) {
      try {
        return await open();
      } catch (error) {
        const usualMs = error instanceof ServerNotReady ? usualStartTimeoutMs : reachTimeoutMs;
        const isOver = performance.now() - start >= (options.startTimeoutMs ?? usualMs);
        if (error instanceof ServerRefused || isOver) throw startError(address, error);
        await delay(pauseMs(failures));
      }
    }
  }

  async function keepConnected(): Promise<void> {
    options.onReady?.();
    await connection.lost;
    for (let failures = 0; !closing.signal.aborted; ) {
      const next = open().catch((error) => {
        if (closing.signal.aborted) throw error;
        return open();
      });
      if (failures === 0) current = next;
      try {
        connection = await next;
        if (closing.signal.aborted) return connection.end();
        current = next;
        failures = 0;
        options.onReady?.();
        await connection.lost;
      } catch {
        if (closing.signal.aborted) return;
        // Calls fail with the latest reason.
        current = next;
        pause = new AbortController();
        const isOver = delay(pauseMs(++failures), undefined, { ref: false, signal: pause.signal });
        await isOver.catch(() => {
          failures = 0;
        });
      }
    }
  }

  async function connected(): Promise<PostgresConnection> {
    const { promise: isLate, reject } = Promise.withResolvers<never>();
    const timeout = startResponseTimeout(timeoutMs, () =>
      reject(new Error(`no connection in ${timeoutMs} ms`)),
    );
    try {
      return await Promise.race([current, isLate]);
    } finally {
      timeout.clear();
    }
  }

  async function run<T>(work: Work<T>): Promise<T> {
    for (const start = performance.now(); ; ) {
      const used = await connected();
      try {
        return await work(used);
      } catch (error) {
        const isChanged = error instanceof DatabaseError && changed.has(error.code ?? '');
        if (isChanged) used.drop(error.message);
        else if (!(error instanceof ConnectionLost)) throw error;
        if (performance.now() - start >= timeoutMs) throw error;
        // From then on another one is sought.
        await used.lost;
      }
    }
  }

  const unavailable = (because: string) =>
    new StoreUnavailable(`The payment store ${shownAddress(address)} is not available: ${because}.`);

  /** Does the work over a connection, after all that was asked for before. Errors: StoreUnavailable. */
  async function ask<T>(work: Work<T>): Promise<T> {
    if (closed !== null) throw unavailable('it is closed');
    if (waiting >= maxWaiting) throw unavailable('too many calls wait for a connection');
    waiting++;
    try {
      return await calls.run(() => run(work));
    } catch (error) {
      throw unavailable(reasonOf(error));
    } finally {
      waiting--;
    }
  }

  /** Errors: WriteUncertain if it may be stored; StoreUnavailable. */
  async function serve<Job, Answer>(batch: Batch<Job, Answer>, work: JointWork<Job, Answer>): Promise<void> {
    let jobs: readonly Asked<Job, Answer>[] = [];
    let mayBeStored = false;
    let isUnfit = false;
    try {
      const answerTo = await ask(async (connection) => {
        if (jobs.length === 0) jobs = batch.splice(0);
        try {
          return await work(
            connection,
            jobs.map(({ job }) => job),
          );
        } catch (error) {
          // A statement that the server has refused stored nothing.
          if (!(error instanceof DatabaseError)) mayBeStored = true;
          else if (unfit.test(error.code ?? '')) isUnfit = true;
          throw error;
        }
      });
      for (const { job, resolve } of jobs) resolve(answerTo(job));
    } catch (error) {
      if (jobs.length === 0) jobs = batch.splice(0);
      if (isUnfit && !mayBeStored && jobs.length > 1) for (const each of jobs) void serve([each], work);
      else
        for (const { reject } of jobs)
          reject(
            mayBeStored && error instanceof StoreUnavailable ? new WriteUncertain(error.message) : error,
          );
    }
  }

  const keeping = keepConnected();

  return {
    ask,

    /** Ends a pause: another line has found the server. */
    hurry: () => pause.abort(),

    /**
     * A call whose `work` does all jobs at once that have come since its last turn, so that they share a round trip and a commit.
     * A job that the server cannot store does not keep the others from being stored.
     * Errors: WriteUncertain if it may be stored; StoreUnavailable.
     */
    together<Job, Answer>(work: JointWork<Job, Answer>): (job: Job) => Promise<Answer> {
      const batch: Batch<Job, Answer> = [];
      return (job) =>
        new Promise((resolve, reject) => {
          if (batch.length >= maxWaiting) throw unavailable('too many calls wait for a connection');
          batch.push({ job, resolve, reject });
          if (batch.length === 1) void serve(batch, work);
        });
    },

    /** Waits for the calls that are under way. */
    close(): Promise<void> {
      closed ??= (async () => {
        await calls.idle;
        connection.end();
        closing.abort();
        pause.abort();
        await keeping;
      })();
      return closed;
    },
  };
}

/** Without its cause, which is the library's and may hold what was sent. */
function startError(address: PostgresAddress, error: unknown): Error {
  const shown = shownAddress(address);
  if (error instanceof ServerRefused)
    return new Error(`The payment store ${shown} cannot be used: ${error.message}.`);
  return new Error(
    error instanceof ServerNotReady
      ? `The payment store ${shown} was reached, and is not ready: ${reasonOf(error)}. Try again when the server answers.`
      : `The payment store ${shown} cannot be reached: ${reasonOf(error)}. STATE_URL has to name a PostgreSQL that runs.`,
  );
}
