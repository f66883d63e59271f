import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { WriteUncertain } from '../../driver.ts';
import { StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import { ConnectionLost, type PostgresConnection, ServerRefused } from './connection.ts';

/** `again`: a connection was lost with this work under way, so that it may be done already. */
type Work<T> = (connection: PostgresConnection, again: boolean) => Promise<T>;

/** The time of a call: a limit for its statements, and before that as many as it waits for a connection that others use. */
interface CallTime {
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /** The call has a connection: the limit begins. */
  begin(): void;
  end(): void;
}

/** Calls to PostgreSQL that end in time, and fail as StoreUnavailable whatever went wrong. */
export interface TimedPool {
  /**
   * Does the work, once more over another connection if one is lost, in a call's time; what takes longer goes on by itself.
   * Errors: StoreUnavailable.
   */
  call<T>(work: Work<T>, options?: { readonly limitMs?: number }): Promise<T>;
  /** The same for work that writes. Errors: WriteUncertain where it may be stored; StoreUnavailable. */
  write<T>(work: Work<T>): Promise<T>;
  /** Resolves when the calls whose time was up have ended: their statements are answered, or their connections are lost. */
  abandoned(): Promise<void>;
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
  const abandoned = new Set<Promise<void>>();
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

  async function run<T>(work: Work<T>, { signal, begin, end }: CallTime): Promise<T> {
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
          } else throw error;
          // All connections may have been cut at once: each that is lost is passed over.
          if (signal.aborted) throw error;
        }
      }
    } finally {
      end();
    }
  }

  function withTimeout<T>(start: (time: CallTime) => Promise<T>, limitMs: number): Promise<T> {
    const limited = Promise.withResolvers<T>();
    const time = startCallTime(limitMs);
    const work = start(time)
      .then(limited.resolve, (error: unknown) => limited.reject(unavailable(reasonOf(error))))
      .finally(time.end);
    const giveUp = () => {
      abandoned.add(work);
      void work.finally(() => abandoned.delete(work));
      limited.reject(unavailable(`no answer in ${limitMs} ms`));
    };
    // A call that still waits for a connection says so first.
    time.signal.addEventListener('abort', () => setImmediate(giveUp), { once: true });
    const ended: Promise<void> = limited.promise.then(
      () => void underWay.delete(ended),
      () => void underWay.delete(ended),
    );
    underWay.add(ended);
    return limited.promise;
  }

  async function call<T>(work: Work<T>, { limitMs = timeoutMs } = {}): Promise<T> {
    if (closing !== null) throw unavailable('it is closed');
    return withTimeout((time) => run(work, time), limitMs);
  }

  return {
    call,
    async write(work) {
      let mayBeStored = false;
      try {
        return await call(async (connection, again) => {
          mayBeStored = true;
          try {
            return await work(connection, again);
          } catch (error) {
            // The server has refused the statement.
            if (error instanceof DatabaseError && !again) mayBeStored = false;
            throw error;
          }
        });
      } catch (error) {
        throw mayBeStored && error instanceof StoreUnavailable ? new WriteUncertain(error.message) : error;
      }
    },
    abandoned: async () => void (await Promise.all(abandoned)),
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

export interface PoolOptions {
  /** How many connections there are at most. */
  readonly size: number;
  /** How long a call may take. */
  readonly timeoutMs: number;
  /** How long the start may try to reach a server. */
  readonly startTimeoutMs: number;
  /**
   * Opens a connection to the server that takes writes, and checks it; gives up when `closing` is aborted.
   * Errors: ServerRefused, or any that may pass.
   */
  open(closing: AbortSignal): Promise<PostgresConnection>;
  /** Is told of each new connection, once calls can have it. */
  readonly onReady?: () => void;
}

export interface PostgresPool {
  /**
   * Does the work with a connection of its own.
   * Errors: those of the work; an Error if no connection is free by the deadline.
   */
  use<T>(deadline: AbortSignal, work: (connection: PostgresConnection) => Promise<T>): Promise<T>;
  /** Whether there is a connection whose statement is not overdue: whoever waits gets one in the end. */
  isAnswering(): boolean;
  /** Ends all connections: the server is another one than it was. Connecting again finds out which. */
  renew(reason: string): void;
  /** Ends all connections; resolves when none is being opened any more. */
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (connection: PostgresConnection) => void;
  readonly reject: (error: Error) => void;
}

/** Calls that wait for a connection; more of them fail at once. */
const maxWaiting = 1_000;
const maxPauseMs = 2_000;
/** How often idle connections are asked whether they live, as a multiple of a call's limit. */
const pulseTimeouts = 20;
/** So many are opened before calls need them, and kept: payments come many at once. */
const keptOpen = 4;
/** How many pulses a further connection that nobody needs is kept. */
const idlePulses = 6;

/**
 * A few connections to one server. Some are always kept, or sought with pauses; others come with the calls that need them.
 * A connection that nobody uses costs the server memory, and goes after a while.
 * Errors: ServerRefused; an Error that says why there is no connection, after startTimeoutMs.
 */
export async function openPool(options: PoolOptions): Promise<PostgresPool> {
  const { size, timeoutMs } = options;
  const all = new Set<PostgresConnection>();
  /** The one that was used last is the last one, and is used next. */
  const idle: { readonly connection: PostgresConnection; pulses: number }[] = [];
  const waiting = new Set<Waiting>();
  const closing = new AbortController();
  let reason = 'it is not connected yet';
  let failures = 0;
  let growing: Promise<void> | null = null;

  /** A single failure says little: the connection may have been cut while it was set up, as those were that it replaces. */
  const isDown = () => all.size === 0 && failures > 1;
  const isAnswering = () => [...all].some((connection) => !connection.overdue());
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
      const place = idle.findIndex((entry) => entry.connection === connection);
      if (place >= 0) idle.splice(place, 1);
      reason = end.reason;
      grow();
    });
    giveBack(connection);
    options.onReady?.();
  }

  function giveBack(connection: PostgresConnection): void {
    if (!all.has(connection)) return;
    const [next] = waiting;
    if (next === undefined) {
      idle.push({ connection, pulses: 0 });
      return;
    }
    waiting.delete(next);
    next.resolve(connection);
  }

  function failWaiting(): void {
    for (const call of waiting) call.reject(new Error(reason));
    waiting.clear();
  }

  const needsMore = () =>
    !closing.signal.aborted && all.size < size && (all.size < keptOpen || waiting.size > 0);

  function grow(): void {
    if (growing !== null || !needsMore()) return;
    growing = openMore().finally(() => {
      growing = null;
      grow();
    });
  }

  /** Opens connections one after the other, as long as there are too few, or calls wait for them. */
  async function openMore(): Promise<void> {
    try {
      while (needsMore()) {
        try {
          const opened = await options.open(closing.signal);
          if (closing.signal.aborted) return opened.end();
          add(opened);
        } catch (error) {
          failures++;
          reason = error instanceof Error ? error.message : String(error);
          if (isDown()) failWaiting();
          if (failures > 1) await pause(false);
        }
      }
    } catch {
      // The pause was ended by close.
    }
  }

  async function acquire(deadline: AbortSignal): Promise<PostgresConnection> {
    const free = idle.pop();
    if (free !== undefined) return free.connection;
    if (closing.signal.aborted) throw new Error('it is closed');
    if (deadline.aborted || isDown()) throw new Error(reason);
    // What is asked of it now would wait as well.
    if (all.size > 0 && !isAnswering()) throw new Error('it does not answer');
    if (waiting.size >= maxWaiting)
      throw new Error('all connections are in use, and too many calls wait for one');
    const { promise, resolve, reject } = Promise.withResolvers<PostgresConnection>();
    const call = { resolve, reject };
    waiting.add(call);
    grow();
    const giveUp = () => {
      waiting.delete(call);
      reject(new Error(failures > 0 ? reason : 'all connections are in use'));
    };
    deadline.addEventListener('abort', giveUp, { once: true });
    try {
      return await promise;
    } finally {
      deadline.removeEventListener('abort', giveUp);
    }
  }

  function pulse(): void {
    for (const entry of idle.splice(0)) {
      const { connection } = entry;
      if (++entry.pulses > idlePulses && all.size > keptOpen) connection.end();
      else {
        // One that died in silence is found out before a payment needs it.
        const alive = connection.query({ text: 'SELECT 1' });
        alive.then(
          () => {
            if (!all.has(connection)) return;
            if (waiting.size > 0) giveBack(connection);
            else idle.unshift(entry);
          },
          () => connection.drop('it does not answer'),
        );
      }
    }
  }

  for (const start = performance.now(); ; ) {
    try {
      add(await options.open(closing.signal));
      break;
    } catch (error) {
      failures++;
      if (error instanceof ServerRefused || performance.now() - start >= options.startTimeoutMs) throw error;
      await pause(true);
    }
  }
  grow();
  const timer = setInterval(pulse, pulseTimeouts * timeoutMs).unref();

  return {
    async use(deadline, work) {
      const connection = await acquire(deadline);
      try {
        return await work(connection);
      } finally {
        giveBack(connection);
      }
    },
    isAnswering,
    renew(because) {
      for (const connection of all) connection.drop(because);
    },
    async close() {
      // First those that are open, as the server would like it: the signal drops what is left.
      for (const connection of all) connection.end();
      closing.abort();
      clearInterval(timer);
      reason = 'it is closed';
      failWaiting();
      await growing;
    },
  };
}
