import { setTimeout as delay } from 'node:timers/promises';
import { ErrorReply } from '@redis/client';
import type { KnownMarks } from '../known-marks.ts';
import type { StoreClock } from '../store-clock.ts';
import type { RedisAddress, SentinelAddress } from './address.ts';
import { openConnection, type RedisConnection, ServerRefused } from './connection.ts';
import { createReplication } from './replication.ts';
import { findPrimary, watchPrimary } from './sentinel.ts';
import type { RedisServer } from './server.ts';
import { checkServer, nameStore, type ServerDemands } from './server-check.ts';
import { openStoreMetadata } from './store-metadata.ts';

export interface ReconnectOptions extends Omit<ServerDemands, 'discovered'> {
  readonly address: RedisAddress | SentinelAddress;
  readonly retentionMs: number;
  readonly clock: StoreClock;
  /** The marks that the store has to fit, checked at each new connection. */
  readonly marks: KnownMarks;
  readonly timeoutMs: number;
  /** How long the start may try to reach a server. */
  readonly startTimeoutMs: number;
  /** Whether to create a missing store. */
  readonly create: boolean;
  /**
   * Called at the start, before the server is used, and again where the connection is lost meanwhile. It may take its
   * time.
   */
  readonly prepare: (server: RedisServer) => Promise<void>;
  /** Called with each new connection before it is used. */
  readonly onConnect: (server: RedisServer) => void;
}

export interface ReconnectingRedis {
  /** The server. Errors: an Error that says why there is none now. */
  server(): RedisServer;
  close(): void;
}

/** Connecting takes longer than a call: name resolution, TLS, a server that has just started. */
const connectTimeoutMs = 2_000;
const maxPauseMs = 2_000;

/** Errors of a server that will become ready by itself. */
const passing = /^(LOADING|BUSY|MASTERDOWN|TRYAGAIN|CLUSTERDOWN)\b/;

/**
 * Connects, and reconnects indefinitely when the connection is lost; each server is checked again, since a failover may
 * lead to another one.
 * Errors: ServerRefused; an Error that says why there is no connection, after startTimeoutMs.
 */
export async function connectWithRetry(options: ReconnectOptions): Promise<ReconnectingRedis> {
  const { address, retentionMs, timeoutMs, clock, marks, allowVolatile, onConnect } = options;
  const discovered = 'sentinels' in address;
  const closing = new AbortController();
  let server: RedisServer | null = null;
  let reason = 'it is not connected yet';
  let secret: string | null = null;

  async function checkNewServer(connection: RedisConnection): Promise<RedisServer> {
    await checkServer(connection, { ...options, discovered });
    if (address.database !== 0) await connection.send(['SELECT', String(address.database)]);
    const kept = allowVolatile ? marks.none : marks.read();
    // An emptied server gets a new store, which this process's marks do not fit: openStoreMetadata notes the loss in
    // it.
    const name = await nameStore(connection, { create: allowVolatile || options.create });
    if (name === null)
      throw new ServerRefused('it holds no payments of bankql: name the store that bankql runs with');
    const meta = await openStoreMetadata({ connection, name, retentionMs, clock }, { ...kept, secret });
    secret = meta.secret;
    const replicated = createReplication(connection, options.waitReplicas, Math.floor(timeoutMs * 0.3));
    return { connection, name, retentionMs, clock, meta, unreadable: kept.unreadable, replicated };
  }

  async function connect(prepare: ReconnectOptions['prepare'] = async () => {}): Promise<RedisServer> {
    const limits = { timeoutMs, connectTimeoutMs };
    const found = discovered ? await findPrimary(address, limits) : address;
    const connection = await openConnection(found, limits);
    if (discovered) watchPrimary(address, limits, found, connection);
    const timer = setTimeout(() => connection.drop(`no answer in ${connectTimeoutMs} ms`), connectTimeoutMs);
    const ended = () => connection.drop('it is closed');
    closing.signal.addEventListener('abort', ended, { once: true });
    try {
      closing.signal.throwIfAborted();
      const checked = await checkNewServer(connection);
      clearTimeout(timer);
      await prepare(checked);
      return checked;
    } catch (error) {
      connection.drop(error instanceof Error ? error.message : String(error));
      const because = await connection.lost;
      const lasting = error instanceof ErrorReply && !passing.test(because);
      throw lasting || error instanceof ServerRefused ? new ServerRefused(because) : new Error(because);
    } finally {
      clearTimeout(timer);
      closing.signal.removeEventListener('abort', ended);
    }
  }

  /** A backoff with jitter, which grows with each failure. */
  const pause = (failures: number) =>
    delay(Math.min(50 * 2 ** failures, maxPauseMs) * (0.5 + Math.random() / 2), undefined, {
      ref: false,
      signal: closing.signal,
    });

  async function start(): Promise<RedisServer> {
    const until = performance.now() + options.startTimeoutMs;
    // A connection alone does not keep the process alive.
    const alive = setInterval(() => {}, options.startTimeoutMs);
    try {
      for (let failures = 0; ; failures++) {
        try {
          return await connect(options.prepare);
        } catch (error) {
          if (error instanceof ServerRefused || performance.now() >= until) throw error;
          await pause(failures);
        }
      }
    } finally {
      clearInterval(alive);
    }
  }

  async function keep(first: RedisServer): Promise<void> {
    let next: RedisServer | null = first;
    for (let failures = 0; ; failures++) {
      if (next !== null) {
        failures = 0;
        onConnect(next);
        server = next;
        reason = await next.connection.lost;
        server = null;
      }
      await pause(failures);
      next = await connect().catch((error: unknown) => {
        reason = error instanceof Error ? error.message : String(error);
        return null;
      });
    }
  }

  // It ends only when its pause is aborted.
  keep(await start()).catch(() => {});

  return {
    server() {
      if (server === null) throw new Error(reason);
      return server;
    },
    close() {
      closing.abort();
      server?.connection.drop('it is closed');
    },
  };
}
