import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import { ConnectionLost, type PostgresConnection, ServerRefused } from './connection.ts';
import { openPool, type PoolOptions, type PostgresPool } from './pool.ts';

/** `again`: a connection was lost with this work under way, so that it may be done already. */
export type Work<T> = (connection: PostgresConnection, again: boolean) => Promise<T>;

/** The time of a call: a limit for its statements, and before that as many as it waits for a connection that others use. */
export interface CallTime {
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /** The call has a connection: the limit begins. */
  begin(): void;
  end(): void;
}

export interface RunOptions {
  /** How long its statements may take, a call's limit where it is left out. */
  readonly limitMs?: number;
  /** Is told when a connection is lost, and with it the knowledge whether the work was done. */
  readonly onLost?: () => void;
}

/** Calls to PostgreSQL that end in time, and fail as StoreUnavailable whatever went wrong. */
export interface TimedPool {
  /** Does the work, once more over another connection where one is lost. Errors: those of the work, and of having no connection. */
  run<T>(work: Work<T>, options?: RunOptions & { readonly time?: CallTime }): Promise<T>;
  /** The work's end, or StoreUnavailable when its time is up; the work then goes on by itself. */
  withTimeout<T>(start: (time: CallTime) => Promise<T>, limitMs?: number): Promise<T>;
  /** Both. Errors: StoreUnavailable. */
  call<T>(work: Work<T>, options?: RunOptions): Promise<T>;
  /** Errors: StoreUnavailable where it is closed. */
  assertOpen(): void;
  readonly renew: PostgresPool['renew'];
  /** Waits for the calls that are under way, within their time. */
  close(): Promise<void>;
}

/** How many limits of a call it may wait for a connection, as long as the server answers those that have one. */
const maxWaits = 4;
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

  function startCallTime(limitMs: number): CallTime {
    const over = new AbortController();
    let hasConnection = false;
    let waits = 0;
    let timeout = startResponseTimeout(timeoutMs, waitOn);
    function waitOn(): void {
      if (++waits < maxWaits && pool.isAnswering()) timeout = startResponseTimeout(timeoutMs, waitOn);
      else over.abort();
    }
    return {
      signal: over.signal,
      begin() {
        if (hasConnection || over.signal.aborted) return;
        hasConnection = true;
        timeout.clear();
        timeout = startResponseTimeout(limitMs, () => over.abort());
      },
      end: () => timeout.clear(),
    };
  }

  const run: TimedPool['run'] = async (work, { limitMs = timeoutMs, onLost, time } = {}) => {
    const { signal, begin, end } = time ?? startCallTime(limitMs);
    let again = false;
    try {
      for (;;) {
        try {
          return await pool.use(signal, (connection) => {
            begin();
            return work(connection, again);
          });
        } catch (error) {
          const isChanged = error instanceof DatabaseError && changed.has(error.code ?? '');
          if (isChanged) pool.renew(error.message);
          else if (error instanceof ConnectionLost) {
            again = true;
            onLost?.();
          } else throw error;
          // All connections may have been cut at once: each that is lost is passed over.
          if (signal.aborted) throw error;
        }
      }
    } finally {
      end();
    }
  };

  function withTimeout<T>(start: (time: CallTime) => Promise<T>, limitMs = timeoutMs): Promise<T> {
    const limited = Promise.withResolvers<T>();
    const time = startCallTime(limitMs);
    const giveUp = () => limited.reject(unavailable(`no answer in ${limitMs} ms`));
    // A call that still waits for a connection says so first.
    time.signal.addEventListener('abort', () => setImmediate(giveUp), { once: true });
    start(time)
      .then(limited.resolve, (error: unknown) => limited.reject(unavailable(reasonOf(error))))
      .finally(time.end);
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
      return withTimeout((time) => run(work, { ...runOptions, time }), runOptions?.limitMs);
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
