import type { KnownMarks } from '../known-marks.ts';
import type { StoreClock } from '../store-clock.ts';
import type { PostgresAddress } from './address.ts';
import { isPassing, type PostgresConnection, ServerRefused } from './connection.ts';
import { findPrimary } from './primary.ts';
import { prepareSchema } from './schema.ts';
import { checkServer, type ServerDemands, setUpSession } from './server-check.ts';
import { readStoreMetadata, type StoreMetadata } from './store-metadata.ts';

export interface SessionOptions extends Omit<ServerDemands, 'failsOver'> {
  readonly address: PostgresAddress;
  readonly retentionMs: number;
  readonly clock: StoreClock;
  /** What the store has to fit, at each new connection. */
  readonly marks: KnownMarks;
  readonly timeoutMs: number;
  /** Whether a store is made where there is none. */
  readonly create: boolean;
  /** Is told of each new connection before anybody else uses it. */
  readonly onConnect: (connected: ConnectedStore) => void;
}

/** What a new connection found. */
export interface ConnectedStore {
  readonly meta: StoreMetadata;
  /** Why this process alone refuses payments: a mark of its own cannot be read. */
  readonly unreadable: string | null;
}

/** Connecting takes longer than a call: names, TLS, a server that has just started. */
const connectTimeoutMs = 2_000;

/** A backend of the server, told from a later one with the same process id. */
interface Backend {
  readonly pid: number;
  readonly startedAt: string;
}

const ownBackend = `SELECT pid, backend_start::text AS started_at FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
const endBackends = `SELECT pg_terminate_backend(activity.pid) FROM pg_stat_activity AS activity,
  unnest($1::int[], $2::text[]) AS left_behind (pid, started_at)
  WHERE activity.pid = left_behind.pid AND activity.backend_start::text = left_behind.started_at`;

/**
 * Opens connections to the server that takes writes; each is checked anew, for a failover may lead to another one, and is set
 * up for payments. A new one to a later primary is followed by the end of those to the earlier one.
 *
 * A backend whose client has left may wait for a standby for ever, with the locks that it holds: the next connection ends
 * those that this process left behind.
 * Errors of what it makes: ServerRefused; an Error where the server may be ready later.
 */
export function createSessionOpener(options: SessionOptions): {
  open(closing: AbortSignal): Promise<PostgresConnection>;
} {
  const { address, marks, allowVolatile, timeoutMs } = options;
  const failsOver = address.hosts.length > 1;
  const leftBehind = new Set<Backend>();
  const open = new Map<PostgresConnection, number>();
  let latestTimeline = 0;
  let secret: string | null = null;

  /** Notes the backend, so that it can be ended should its connection be lost with a statement under way. */
  async function noteBackend(connection: PostgresConnection): Promise<void> {
    const { rows } = await connection.query({ text: ownBackend });
    const [row] = rows as readonly { pid: number; started_at: string }[];
    if (row === undefined) return;
    const backend = { pid: row.pid, startedAt: row.started_at };
    void connection.lost.then(({ wasBusy }) => {
      if (wasBusy) leftBehind.add(backend);
    });
    const others = [...leftBehind];
    if (others.length === 0) return;
    const values = [others.map(({ pid }) => pid), others.map(({ startedAt }) => startedAt)];
    await connection.query({ text: endBackends, values });
    for (const other of others) leftBehind.delete(other);
  }

  async function check(connection: PostgresConnection): Promise<void> {
    await setUpSession(connection, timeoutMs);
    await noteBackend(connection);
    await checkServer(connection, { ...options, failsOver });
    const kept = allowVolatile ? marks.none : marks.read();
    await prepareSchema(connection, { create: allowVolatile || options.create, secret });
    const meta = await readStoreMetadata(connection, {
      kept,
      recall: () => marks.read().begins,
      retentionMs: options.retentionMs,
      now: options.clock === 'server' ? null : 0,
    });
    secret = meta.secret;
    options.onConnect({ meta, unreadable: kept.unreadable });
  }

  return {
    async open(closing) {
      const { connection, timeline } = await findPrimary(address, latestTimeline, {
        timeoutMs,
        connectTimeoutMs,
        closing,
      });
      try {
        await check(connection);
      } catch (error) {
        const reason = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
        connection.drop(reason);
        throw isPassing(error) ? new Error(reason) : new ServerRefused(reason);
      }
      latestTimeline = Math.max(latestTimeline, timeline ?? 0);
      for (const [other, itsTimeline] of open)
        if (itsTimeline < (timeline ?? 0)) other.drop('a standby was promoted in the place of its server');
      open.set(connection, timeline ?? 0);
      void connection.lost.then(() => open.delete(connection));
      return connection;
    },
  };
}
