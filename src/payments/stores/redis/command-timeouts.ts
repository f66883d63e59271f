import { StoreUnavailable } from '../../store.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { type RedisAddress, type SentinelAddress, shownAddress } from './address.ts';
import { ServerRefused } from './connection.ts';
import { connectWithRetry, type ReconnectOptions } from './reconnect.ts';
import type { RedisServer } from './server.ts';

/** Calls to Redis with a timeout, which fail with StoreUnavailable whatever went wrong. */
export interface TimedRedis {
  /** The server, if it answers in time. Errors: StoreUnavailable. */
  server(): RedisServer;
  /** Settles with the work, or with StoreUnavailable after the timeout; the work then continues by itself. */
  withTimeout<T>(work: Promise<T>): Promise<T>;
  /** Waits for the calls in progress, within their timeouts. */
  close(): Promise<void>;
}

/** Connects. Errors: an Error that names the server, and the remedy. */
export async function openTimedRedis(options: ReconnectOptions): Promise<TimedRedis> {
  const { address, timeoutMs } = options;
  const underWay = new Set<Promise<void>>();
  let closing: Promise<void> | null = null;

  const unavailable = (reason: string) =>
    new StoreUnavailable(`The payment store ${shownAddress(address)} is not available: ${reason}.`);

  const connection = await connectWithRetry(options).catch((error: unknown) => {
    throw startError(address, error);
  });

  async function end(): Promise<void> {
    await Promise.all(underWay);
    connection.close();
  }

  return {
    server() {
      if (closing !== null) throw unavailable('it is closed');
      let found: RedisServer;
      try {
        found = connection.server();
      } catch (error) {
        throw unavailable(reasonOf(error));
      }
      if (found.connection.stalled()) throw unavailable('it does not answer');
      return found;
    },
    withTimeout<T>(work: Promise<T>) {
      const limited = Promise.withResolvers<T>();
      const timeout = startResponseTimeout(timeoutMs, () =>
        limited.reject(unavailable(`no answer in ${timeoutMs} ms`)),
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
    },
    close() {
      closing ??= end();
      return closing;
    },
  };
}

/**
 * Why a start failed, with the server's name and the remedy. Without the cause: the library's error may contain what was sent,
 * such as a password.
 */
function startError(address: RedisAddress | SentinelAddress, error: unknown): Error {
  // It names the server itself.
  if (error instanceof StoreUnavailable) return error;
  const shown = shownAddress(address);
  return error instanceof ServerRefused
    ? new Error(`The payment store ${shown} cannot be used: ${error.message}.`)
    : new Error(
        `The payment store ${shown} cannot be reached: ${reasonOf(error)}. STATE_URL has to name a Redis that runs.`,
      );
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/^(LOST|LOSS) /, '').slice(0, 200);
}
