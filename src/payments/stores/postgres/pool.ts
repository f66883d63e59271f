import { setTimeout as delay } from 'node:timers/promises';
import { type PostgresConnection, ServerRefused } from './connection.ts';

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
   * Errors: those of the work; an Error where there is no connection by the deadline.
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
