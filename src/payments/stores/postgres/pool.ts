import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { reasonOf } from '../../../errors.ts';
import { WriteUncertain } from '../../driver.ts';
import { StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import { ConnectionLost, type PostgresConnection, ServerRefused } from './connection.ts';

/** It may be done already, by an earlier connection that was lost with it under way. */
type Work<T> = (connection: PostgresConnection) => Promise<T>;

export interface PoolOptions {
  readonly address: PostgresAddress;
  /** How many connections there are at most. */
  readonly size: number;
  /** How long a statement may take. */
  readonly timeoutMs: number;
  /** How long the start may try to reach a server. */
  readonly startTimeoutMs: number;
  /**
   * Opens a connection to the server that takes writes, and checks it; gives up when `closing` is aborted.
   * Errors: ServerRefused, or any that may pass.
   */
  open(closing: AbortSignal): Promise<PostgresConnection>;
  /** Ends what lost connections were doing, by way of another one. */
  endLeftBehind(connection: PostgresConnection): Promise<void>;
  /** Is told of each new connection, once calls can have it. */
  readonly onReady?: () => void;
}

interface Waiting {
  readonly resolve: (connection: PostgresConnection) => void;
  readonly reject: (error: Error) => void;
}

/** How many limits of a statement a call waits for a connection, as long as others come back. */
const maxWaits = 4;
/** Calls that wait for a connection; more of them fail at once. */
const maxWaiting = 1_000;
const maxPauseMs = 2_000;
/** So many are opened before calls need them: payments come many at once. */
const keptOpen = 4;
/** The server takes no writes any more, or its tables are gone: nothing was stored, and connecting again finds out more. */
const changed = new Set(['25006', '42P01', '3F000']);

/**
 * A few connections to one server, which are sought with pauses if they are lost. (pg-pool seeks none by itself: each call that
 * comes while the server is away would wait for a connection of its own; and it cannot choose among hosts.)
 * Errors: an Error that names the server, and the remedy, after startTimeoutMs.
 */
export async function openPool(options: PoolOptions) {
  const { address, size, timeoutMs } = options;
  const all = new Set<PostgresConnection>();
  /** The one that was used last is the last one, and is used next. */
  const idle: PostgresConnection[] = [];
  const waiting = new Set<Waiting>();
  const underWay = new Set<Promise<unknown>>();
  const closing = new AbortController();
  let closed: Promise<void> | null = null;
  let reason = 'it is not connected yet';
  let failures = 0;
  let returned = 0;
  let growing: Promise<void> | null = null;

  const unavailable = (because: string) =>
    new StoreUnavailable(`The payment store ${shownAddress(address)} is not available: ${because}.`);
  /** A single failure says little: the connection may have been cut while it was set up, as those were that it replaces. */
  const isDown = () => all.size === 0 && failures > 1;
  const needsMore = () =>
    !closing.signal.aborted && all.size < size && (all.size < keptOpen || waiting.size > 0);
  const pause = (ref: boolean) =>
    delay(Math.min(50 * 2 ** failures, maxPauseMs) * (0.5 + Math.random() / 2), undefined, {
      ref,
      signal: closing.signal,
    });

  function add(connection: PostgresConnection): void {
    failures = 0;
    all.add(connection);
    void connection.lost.then((end) => {
      all.delete(connection);
      const place = idle.indexOf(connection);
      if (place >= 0) idle.splice(place, 1);
      reason = end.reason;
      grow();
    });
    giveBack(connection);
    options.onReady?.();
  }

  function giveBack(connection: PostgresConnection): void {
    if (!all.has(connection)) return;
    returned++;
    const [next] = waiting;
    if (next === undefined) return void idle.push(connection);
    waiting.delete(next);
    next.resolve(connection);
  }

  function failWaiting(): void {
    for (const call of waiting) call.reject(new Error(reason));
    waiting.clear();
  }

  function grow(): void {
    if (growing !== null || !needsMore()) return;
    growing = openMore().finally(() => {
      growing = null;
      grow();
    });
  }

  /** Opens connections one after the other, as long as there are too few, or calls wait for them. */
  async function openMore(): Promise<void> {
    while (needsMore()) {
      try {
        const opened = await options.open(closing.signal);
        if (closing.signal.aborted) return opened.end();
        add(opened);
      } catch (error) {
        failures++;
        reason = reasonOf(error);
        if (isDown()) failWaiting();
        // Close ends the pause.
        if (failures > 1) await pause(false).catch(() => {});
      }
    }
  }

  async function acquire(): Promise<PostgresConnection> {
    const free = idle.pop();
    if (free !== undefined) return free;
    if (isDown() || closing.signal.aborted) throw new Error(reason);
    if (waiting.size >= maxWaiting) throw new Error('too many calls wait for a connection');
    const { promise, resolve, reject } = Promise.withResolvers<PostgresConnection>();
    const call = { resolve, reject };
    waiting.add(call);
    grow();
    let timeout: ReturnType<typeof startResponseTimeout>;
    function wait(times: number): void {
      const before = returned;
      timeout = startResponseTimeout(timeoutMs, () => {
        if (returned > before && times > 1) return wait(times - 1);
        waiting.delete(call);
        reject(new Error(failures > 0 ? reason : 'all connections are in use'));
      });
    }
    wait(maxWaits);
    return promise.finally(() => timeout.clear());
  }

  async function run<T>(work: Work<T>): Promise<T> {
    const start = performance.now();
    for (let again = false; ; ) {
      const connection = await acquire();
      try {
        if (again) await options.endLeftBehind(connection);
        return await work(connection);
      } catch (error) {
        const isChanged = error instanceof DatabaseError && changed.has(error.code ?? '');
        if (isChanged) connection.drop(error.message);
        else if (!(error instanceof ConnectionLost)) throw error;
        else again = true;
        // All connections may have been cut at once: each that is lost is passed over.
        if (performance.now() - start >= timeoutMs) throw error;
      } finally {
        giveBack(connection);
      }
    }
  }

  /** Does the work with a connection of its own, once more over another one if that is lost. Errors: StoreUnavailable. */
  async function call<T>(work: Work<T>): Promise<T> {
    if (closed !== null) throw unavailable('it is closed');
    const ended = run(work);
    underWay.add(ended);
    try {
      return await ended;
    } catch (error) {
      throw unavailable(reasonOf(error));
    } finally {
      underWay.delete(ended);
    }
  }

  for (const start = performance.now(); ; ) {
    try {
      add(await options.open(closing.signal));
      break;
    } catch (error) {
      failures++;
      if (error instanceof ServerRefused || performance.now() - start >= options.startTimeoutMs)
        throw startError(address, error);
      await pause(true);
    }
  }
  grow();

  return {
    call,
    /** The same for work that writes. Errors: WriteUncertain if it may be stored; StoreUnavailable. */
    async write<T>(work: Work<T>): Promise<T> {
      let mayBeStored = false;
      try {
        return await call(async (connection) => {
          try {
            return await work(connection);
          } catch (error) {
            // A statement that the server has refused stored nothing.
            if (!(error instanceof DatabaseError)) mayBeStored = true;
            throw error;
          }
        });
      } catch (error) {
        throw mayBeStored && error instanceof StoreUnavailable ? new WriteUncertain(error.message) : error;
      }
    },
    /** Waits for the calls that are under way. */
    close(): Promise<void> {
      closed ??= (async () => {
        await Promise.allSettled(underWay);
        for (const connection of all) connection.end();
        reason = 'it is closed';
        closing.abort();
        failWaiting();
        await growing;
      })();
      return closed;
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
