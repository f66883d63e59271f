import type { Duplex } from 'node:stream';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { Connector } from './connector.ts';
import type { HttpRequest } from './http-message.ts';
import { InterimResponses } from './interim-responses.ts';

export interface ConnectionOptions {
  readonly origin: string;
  readonly connector: Connector;
  /** Whether the connection is kept for the next request. */
  readonly isKept: boolean;
  /** Whether a kept connection bears requests of one identity only. */
  readonly isPerIdentity: boolean;
  /** From when on it is opened anew before it is used again, in milliseconds; 0 for never. */
  readonly maxAgeMs: number;
}

/** Connections that were opened together are not opened anew together: each lives up to so much shorter, as a share. */
const ageSpread = 0.2;

/** A connection to the bank, for one request at a time: opened when it is first needed, and anew where it was closed. */
export class BankConnection {
  readonly #options: ConnectionOptions;
  #client: Client | null = null;
  /** Whose requests the client bore; null where it bore none, or where that does not matter. */
  #identity: string | null = null;
  #interim = new InterimResponses();
  /** Until when it is used, in milliseconds of performance.now(), and with which certificates it was opened. */
  #expiresAt = Number.POSITIVE_INFINITY;
  #generation = 0;
  #socketError: Error | null = null;
  #isDestroyed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Whether it need not be opened anew for this identity. */
  suits(identity: string): boolean {
    return this.#identity === null || this.#identity === identity;
  }

  /**
   * Sends a request of an identity, now (in milliseconds of performance.now()). The handler calls `expectResponse` when it
   * starts to be written.
   */
  dispatch(request: HttpRequest, handler: Dispatcher.DispatchHandler, identity: string, now: number): void {
    // Another address may stand behind the bank's name by now, and other certificates in the files.
    const isOutdated = now >= this.#expiresAt || this.#generation !== this.#options.connector.generation;
    if (isOutdated || !this.suits(identity)) {
      void this.#client?.destroy();
      this.#client = null;
    }
    if (this.#options.isPerIdentity) this.#identity = identity;
    this.#client ??= this.#open();
    this.#client.dispatch(request, handler);
  }

  /** What its socket failed with; null where it did not. Where the other side closes it as well, undici tells of that alone. */
  get socketError(): Error | null {
    return this.#socketError;
  }

  expectResponse(): void {
    this.#interim.expect();
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    await this.#client?.destroy();
  }

  #open(): Client {
    const { origin, connector, isKept, maxAgeMs } = this.#options;
    this.#expiresAt = Number.POSITIVE_INFINITY;
    this.#generation = connector.generation;
    const connect: buildConnector.connector = (options, callback) =>
      connector.connect(options, (...result) => {
        const [error, socket] = result;
        if (error === null) {
          this.#interim = interimResponsesOf(socket);
          this.#socketError = null;
          socket.prependOnceListener('error', (failure) => {
            this.#socketError = failure;
          });
          if (maxAgeMs > 0) this.#expiresAt = performance.now() + maxAgeMs * (1 - ageSpread * Math.random());
        }
        callback(...result);
      });
    const client = new Client(origin, {
      pipelining: isKept ? 1 : 0,
      allowH2: false,
      connect,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    if (this.#isDestroyed) void client.destroy();
    return client;
  }
}

/** Stands between a socket and undici, which takes what arrived with `read`. */
function interimResponsesOf(socket: Duplex): InterimResponses {
  const interim = new InterimResponses();
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    const chunk: unknown = read(size);
    if (chunk instanceof Uint8Array) interim.rewrite(chunk);
    return chunk;
  };
  return interim;
}
