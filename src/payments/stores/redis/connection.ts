import { createClient, ErrorReply } from '@redis/client';
import type { RedisAddress } from './address.ts';

/** A Redis that answers, and cannot be used. The message says why, and the remedy where it is known. */
export class ServerRefused extends Error {
  override readonly name = 'ServerRefused';
}

/** One connection to Redis, from its beginning to its end; it never comes back by itself. */
export interface RedisConnection {
  /**
   * Sends a command.
   * Errors: ErrorReply as Redis gave it; any other Error where the connection ended first: then it is not known
   *         whether Redis executed the command.
   */
  send(command: readonly string[]): Promise<unknown>;
  /** True while a command has waited for its answer for more than timeoutMs; others would wait behind it. */
  stalled(): boolean;
  /** Ends it; what is under way fails. */
  drop(reason: string): void;
  /** Resolves with the reason when it has ended. */
  readonly lost: Promise<string>;
}

export interface ConnectionOptions {
  readonly timeoutMs: number;
  /** How long connecting may take, names, TLS and passwords included. */
  readonly connectTimeoutMs: number;
}

/** How many times timeoutMs a command may wait until its connection is taken for dead. */
const deadAfterTimeouts = 10;

/** How often a connection is asked whether it lives, in milliseconds. */
export const pulseMs = (timeoutMs: number): number => 2 * deadAfterTimeouts * timeoutMs;

/** Commands that Redis owes an answer; more of them fail without being sent. */
const maxUnanswered = 1_000;

/** Opens a connection to a server, of which no database is chosen yet. Errors: ServerRefused (a wrong password, say), or an Error that says why there is none. */
export async function openConnection(
  address: Omit<RedisAddress, 'database'>,
  { timeoutMs, connectTimeoutMs }: ConnectionOptions,
): Promise<RedisConnection> {
  const { host, port, tls, username, password } = address;
  const socket = { host, port, connectTimeout: connectTimeoutMs, reconnectStrategy: false } as const;
  const client = createClient({
    // The older protocol: every server speaks it, and nothing arrives that was not asked for.
    RESP: 2,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    socket: tls ? { ...socket, tls } : socket,
    // Without it a command waits for a connection, and is executed long after its caller was told that it failed.
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: maxUnanswered,
    // Of the library's own: it only ends a command that waits to be written.
    commandOptions: { timeout: timeoutMs },
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
    // Some servers repeat a command that they do not know.
    const safe = password === undefined ? text : text.replaceAll(password, '***');
    return safe.slice(0, 200) || 'the connection failed';
  };

  // An answer that cannot be read counts as well: those that follow would go to the wrong commands.
  client.on('error', (error: unknown) => drop(explained(error)));
  // Whoever drops a client that is connecting leaves it with the connection that it gets.
  client.on('connect', () => {
    if (reason !== null) client.destroy();
  });
  // A store that nobody closed does not keep the process alive; a call that waits does, by its timer.
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
    let late = false;
    let silence: NodeJS.Timeout | undefined;
    const timer = setTimeout(() => {
      late = true;
      overdue++;
      const more = timeoutMs * (deadAfterTimeouts - 1);
      silence = setTimeout(() => drop(`no answer in ${timeoutMs * deadAfterTimeouts} ms`), more).unref();
    }, timeoutMs).unref();
    try {
      return await client.sendCommand([...command]);
    } catch (error) {
      throw error instanceof ErrorReply ? error : new Error(reason ?? explained(error));
    } finally {
      clearTimeout(timer);
      clearTimeout(silence);
      if (late) overdue--;
    }
  }

  // A connection that died in silence is found out before a payment needs it; a refusal is an answer, too.
  if (reason === null)
    pulse = setInterval(() => void send(['PING']).catch(() => {}), pulseMs(timeoutMs)).unref();

  return { send, stalled: () => overdue > 0, drop, lost };
}
