import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import { ConnectionLost, type PostgresConnection, ServerRefused } from './connection.ts';
import { openPool, type PoolOptions, type PostgresPool } from './pool.ts';

/** `again`: a connection was lost with this work under way, so that it may be done already. */
export type Work<T> = (connection: PostgresConnection, again: boolean) => Promise<T>;

export interface RunOptions {
  /** How long it may take, a call's limit where it is left out. */
  readonly limitMs?: number;
  /** Is told when a connection is lost, and with it the knowledge whether the work was done. */
  readonly onLost?: () => void;
}

/** Calls to PostgreSQL that end in time, and fail as StoreUnavailable whatever went wrong. */
export interface TimedPool {
  /** Does the work, once more over another connection where one is lost. Errors: those of the work, and of having no connection. */
  run<T>(work: Work<T>, options?: RunOptions): Promise<T>;
  /** The work's end, or StoreUnavailable when its time is up; the work then goes on by itself. */
  withTimeout<T>(work: Promise<T>, limitMs?: number): Promise<T>;
  /** Both. Errors: StoreUnavailable. */
  call<T>(work: Work<T>, options?: RunOptions): Promise<T>;
  /** Errors: StoreUnavailable where it is closed. */
  assertOpen(): void;
  readonly renew: PostgresPool['renew'];
  /** Waits for the calls that are under way, within their time. */
  close(): Promise<void>;
}

/** The server takes no writes any more, or its tables are gone: nothing was stored, and connecting again finds out more. */
const changed = new Set(['25006', '42P01', '3F000']);

/** Connects. Errors: an Error that names the server, and the remedy. */
export async function openTimedPool(address: PostgresAddress, options: PoolOptions): Promise<TimedPool> {
  const { timeoutMs } = options;
  const underWay = new Set<Promise<void>>();
  let closing: Promise<void> | null = null;

  const unavailable = (reason: string) =>
    new StoreUnavailable(`The payment store ${shownAddress(address)} is not available: ${reason}.`);

  const pool = await openPool(options).catch((error: unknown) => {
    throw startError(address, error);
  });

  async function run<T>(work: Work<T>, { limitMs = timeoutMs, onLost }: RunOptions = {}): Promise<T> {
    const deadline = new AbortController();
    const timeout = startResponseTimeout(limitMs, () => deadline.abort());
    let again = false;
    try {
      for (;;) {
        try {
          return await pool.use(deadline.signal, (connection) => work(connection, again));
        } catch (error) {
          const isChanged = error instanceof DatabaseError && changed.has(error.code ?? '');
          if (isChanged) pool.renew(error.message);
          else if (error instanceof ConnectionLost) {
            again = true;
            onLost?.();
          } else throw error;
          // All connections may have been cut at once: each that is lost is passed over.
          if (deadline.signal.aborted) throw error;
        }
      }
    } finally {
      timeout.clear();
    }
  }

  function withTimeout<T>(work: Promise<T>, limitMs = timeoutMs): Promise<T> {
    const limited = Promise.withResolvers<T>();
    const timeout = startResponseTimeout(limitMs, () =>
      limited.reject(unavailable(`no answer in ${limitMs} ms`)),
    );
    work
      .then(limited.resolve, (error: unknown) => limited.reject(unavailable(reasonOf(error))))
      .finally(() => timeout.clear());
    const ended: Promise<void> = limited.promise.then(
      () => void underWay.delete(ended),
      () => void underWay.delete(ended),
    );
    underWay.add(ended);
    return limited.promise;
  }

  function assertOpen(): void {
    if (closing !== null) throw unavailable('it is closed');
  }

  return {
    run,
    withTimeout,
    assertOpen,
    async call(work, runOptions) {
      assertOpen();
      return withTimeout(run(work, runOptions), runOptions?.limitMs);
    },
    renew: pool.renew,
    close() {
      closing ??= Promise.all(underWay).then(() => pool.close());
      return closing;
    },
  };
}

/** Without its cause, which is the library's and may hold what was sent. */
function startError(address: PostgresAddress, error: unknown): Error {
  const shown = shownAddress(address);
  return error instanceof ServerRefused
    ? new Error(`The payment store ${shown} cannot be used: ${error.message}.`)
    : new Error(
        `The payment store ${shown} cannot be reached: ${reasonOf(error)}. STATE_URL has to name a PostgreSQL that runs.`,
      );
}

const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, 300);
