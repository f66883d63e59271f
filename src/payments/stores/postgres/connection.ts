import { Socket } from 'node:net';
import { Client, DatabaseError } from 'pg';
import { reasonOf } from '../../../errors.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { clientOptions, type PostgresAddress, type PostgresHost } from './address.ts';

/** A server that answers, and cannot be used. The message says why, and names the remedy if it is known. */
export class ServerRefused extends Error {
  override readonly name = 'ServerRefused';
}

/** A server that was reached, and that does not answer in time or says that it is not ready yet. */
export class ServerNotReady extends Error {
  override readonly name = 'ServerNotReady';
}

/** The connection ended first: it is not known whether the server executed the statement. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

export interface Statement {
  readonly text: string;
  /** Under this name each connection prepares it once. */
  readonly name?: string;
  readonly values?: readonly unknown[];
}

interface Answer {
  readonly rows: readonly unknown[];
  /** What the server warned of, such as a commit that its standbys have not confirmed; null where it did not. */
  readonly warning: string | null;
}

/** One connection to a server, from its beginning to its end; it never comes back by itself. */
export interface PostgresConnection {
  readonly host: PostgresHost;
  /**
   * Sends one statement, which is a transaction of its own unless one was begun; one after the other. A connection whose
   * server does not answer in time is dropped.
   * Errors: DatabaseError as the server gave it: then nothing of the statement is stored. ConnectionLost.
   */
  query(statement: Statement, limitMs?: number): Promise<Answer>;
  /** Ends it at once; what is under way fails. */
  drop(reason: string): void;
  /** Ends it as the server would like it, with nothing under way. */
  end(): void;
  /** Resolves when it has ended: why, and whether a statement was under way. */
  readonly lost: Promise<{ readonly reason: string; readonly wasBusy: boolean }>;
}

export interface ConnectionOptions {
  /** How long a statement may take. */
  readonly timeoutMs: number;
  /** How long connecting may take, names, TLS and passwords included. */
  readonly connectTimeoutMs: number;
  /** Drops the connection when it is aborted. */
  readonly closing?: AbortSignal;
}

/** The server ends, or cannot go on: whether a commit that was under way is stored is not said. */
const ending = /^(08|57P|58|XX)/;
/** What a server answers with that will be ready by itself: it starts or ends, is full, or has become read-only. */
const passing = /^(08|57|53|25|55|40)/;

/** Node's codes for a certificate that nobody vouches for, that is out of date, or that is for another name. */
const untrusted = /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const certificateRemedy = 'sslrootcert in STATE_URL names the file of the authority that vouches for it';

/**
 * Opens a connection to one host.
 * Errors: ServerRefused (a wrong password, say), ServerNotReady, or an Error that says why no connection was opened.
 */
export async function openConnection(
  address: PostgresAddress,
  host: PostgresHost,
  { timeoutMs, connectTimeoutMs, closing }: ConnectionOptions,
): Promise<PostgresConnection> {
  // Of our own, so that it can be ended at once, whatever the library waits for.
  const socket = new Socket();
  const options = await clientOptions(address, host).catch((error: Error) => {
    throw new ServerRefused(`a file of STATE_URL cannot be read: ${error.message}`);
  });
  const client = new Client({
    ...options,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    stream: () => socket,
  });
  const { promise: lost, resolve: ended } = Promise.withResolvers<{ reason: string; wasBusy: boolean }>();
  let over: string | null = null;
  let busy = false;
  let warning: string | null = null;

  function drop(reason: string): void {
    if (over !== null) return;
    over = reason;
    ended({ reason, wasBusy: busy });
    socket.destroy();
  }

  const explained = (error: unknown) => reasonOf(error, address.password);

  // Whatever comes when nobody waits for it must not end the process.
  client.on('error', (error: unknown) => drop(explained(error)));
  client.on('end', () => drop('the server ended the connection'));
  client.on('notice', ({ code, message }) => {
    // By the class of the code: severities are in the server's language.
    if (code?.startsWith('01')) warning = message ?? code;
  });

  const close = () => drop('it is closed');
  closing?.addEventListener('abort', close, { once: true });
  void lost.then(() => closing?.removeEventListener('abort', close));
  let isReached = false;
  let isLate = false;
  socket.once('connect', () => {
    isReached = true;
  });
  // The library's own timeout would count a pause of this process, too.
  const connecting = startResponseTimeout(connectTimeoutMs, () => {
    isLate = true;
    drop(`no answer in ${connectTimeoutMs} ms`);
  });
  try {
    await client.connect();
  } catch (error) {
    const reason = over ?? explained(error);
    drop(reason);
    if (isReached && isLate) throw new ServerNotReady(reason);
    if (error instanceof DatabaseError)
      throw passing.test(error.code ?? '') ? new ServerNotReady(reason) : new ServerRefused(reason);
    if (untrusted.test(String(Object(error).code)))
      throw new ServerRefused(`its certificate is not accepted: ${reason} (${certificateRemedy})`);
    if (address.password === undefined && reason.startsWith('SASL'))
      throw new ServerRefused('it asks for a password, and STATE_URL has none');
    throw new Error(
      /not support SSL/.test(reason)
        ? `${reason} (where its network is trusted, say sslmode=disable in STATE_URL)`
        : reason,
    );
  } finally {
    connecting.clear();
  }
  // A store that nobody closed does not keep the process alive; a call that waits does, by its timer.
  socket.unref();

  async function query({ text, name, values = [] }: Statement, limitMs = timeoutMs): Promise<Answer> {
    if (over !== null) throw new ConnectionLost(over);
    busy = true;
    warning = null;
    const timeout = startResponseTimeout(limitMs, () => drop(`no answer in ${limitMs} ms`));
    try {
      const { rows } = await client.query({
        text,
        values: values.map(storable),
        ...(name === undefined ? {} : { name }),
      });
      return { rows, warning };
    } catch (error) {
      if (error instanceof DatabaseError && !ending.test(error.code ?? '')) throw error;
      drop(explained(error));
      throw new ConnectionLost(over ?? explained(error));
    } finally {
      timeout.clear();
      busy = false;
    }
  }

  return {
    host,
    query,
    drop,
    end() {
      if (over !== null) return;
      over = 'it is closed';
      ended({ reason: over, wasBusy: busy });
      const destroy = () => void socket.destroy();
      client.end().then(destroy, destroy);
    },
    lost,
  };
}

/** Whether a failed connect or check may succeed later, by itself. */
export const isPassing = (error: unknown): boolean =>
  !(error instanceof ServerRefused) && !(error instanceof DatabaseError && !passing.test(error.code ?? ''));

/** PostgreSQL's text takes every character but one, which no meaningful name or amount contains. */
const storable = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(storable)
    : typeof value === 'string'
      ? value.replaceAll('\0', '\u2400')
      : value;
