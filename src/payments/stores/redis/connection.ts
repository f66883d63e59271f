import { createClient, ErrorReply } from '@redis/client';
import { startResponseTimeout } from '../response-timeout.ts';
import type { RedisAddress } from './address.ts';

/** A Redis that answers but cannot be used. The message says why, and the remedy if it is known. */
export class ServerRefused extends Error {
  override readonly name = 'ServerRefused';
}

/** A single connection to Redis; it never reconnects by itself. */
export interface RedisConnection {
  /**
   * Sends a command.
   * Errors: Redis's ErrorReply; any other Error if the connection ended first: then it is not known whether Redis
   *         executed the command.
   */
  send(command: readonly string[]): Promise<unknown>;
  /** True while a command has been waiting for its answer for more than timeoutMs; others would wait behind it. */
  stalled(): boolean;
  /** Closes it; commands in progress fail. */
  drop(reason: string): void;
  /** Resolves with the reason when it has ended. */
  readonly lost: Promise<string>;
}

export interface ConnectionOptions {
  readonly timeoutMs: number;
  /** How long connecting may take, including name resolution, TLS and authentication. */
  readonly connectTimeoutMs: number;
}

/** After this many times timeoutMs without an answer, a connection is considered dead. */
const deadAfterTimeouts = 10;

/** The interval between health checks of a connection, in milliseconds. */
export const pulseMs = (timeoutMs: number): number => 2 * deadAfterTimeouts * timeoutMs;

/** The maximum number of unanswered commands; further ones fail without being sent. */
const maxUnanswered = 1_000;

/**
 * Opens a connection to a server, without selecting a database. Errors: ServerRefused (a wrong password, say), or an
 * Error that says why there is none.
 */
export async function openConnection(
  address: Omit<RedisAddress, 'database'>,
  { timeoutMs, connectTimeoutMs }: ConnectionOptions,
): Promise<RedisConnection> {
  const { host, port, tls, username, password } = address;
  const socket = { host, port, connectTimeout: connectTimeoutMs, reconnectStrategy: false } as const;
  const client = createClient({
    // RESP2: every server supports it, and it has no push messages.
    RESP: 2,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    socket: tls ? { ...socket, tls } : socket,
    // With an offline queue, a command could be executed long after its caller was told that it failed.
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: maxUnanswered,
  });
  const { promise: lost, resolve: end } = Promise.withResolvers<string>();
  let reason: string | null = null;
  let overdue = 0;
  let pulse: NodeJS.Timeout | undefined;

  function drop(because: string): void {
    if (reason !== null) return;
    reason = because;
    clearInterval(pulse);
    end(because);
    client.destroy();
  }

  const explained = (error: unknown) => {
    const { message } = error instanceof AggregateError ? Object(error.errors[0] ?? error) : Object(error);
    const text = String(message ?? error).split('\n', 1)[0] ?? '';
    // Some servers echo an unknown command in the error.
    const safe = password === undefined ? text : text.replaceAll(password, '***');
    return safe.slice(0, 200) || 'the connection failed';
  };

  // This includes unreadable answers: later ones would be matched to the wrong commands.
  client.on('error', (error: unknown) => drop(explained(error)));
  // A client that is dropped while connecting would keep the connection that it gets.
  client.on('connect', () => {
    if (reason !== null) client.destroy();
  });
  // An unclosed store does not keep the process alive; a waiting call does, by its timer.
  client.unref();

  const timer = setTimeout(() => drop(`no connection in ${connectTimeoutMs} ms`), connectTimeoutMs);
  const failed = lost.then((because) => Promise.reject(new Error(because)));
  failed.catch(() => {});
  try {
    await Promise.race([client.connect(), failed]);
  } catch (error) {
    drop(explained(error));
    const because = await lost;
    throw error instanceof ErrorReply ? new ServerRefused(because) : new Error(because);
  } finally {
    clearTimeout(timer);
  }

  async function send(command: readonly string[]): Promise<unknown> {
    // Takes back a command that still waits to be written; on others it has no effect.
    const late = new AbortController();
    let silence: NodeJS.Timeout | undefined;
    const timeout = startResponseTimeout(timeoutMs, () => {
      overdue++;
      late.abort();
      const more = timeoutMs * (deadAfterTimeouts - 1);
      silence = setTimeout(() => drop(`no answer in ${timeoutMs * deadAfterTimeouts} ms`), more).unref();
    });
    try {
      return await client.sendCommand([...command], { abortSignal: late.signal });
    } catch (error) {
      throw error instanceof ErrorReply ? error : new Error(reason ?? explained(error));
    } finally {
      timeout.clear();
      clearTimeout(silence);
      if (late.signal.aborted) overdue--;
    }
  }

  // Detects a silently dead connection before a payment needs it; an error reply counts as an answer.
  if (reason === null)
    pulse = setInterval(() => void send(['PING']).catch(() => {}), pulseMs(timeoutMs)).unref();

  return { send, stalled: () => overdue > 0, drop, lost };
}
