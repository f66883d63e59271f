import type { Duplex } from 'node:stream';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { HttpRequest } from './http-message.ts';
import { InterimResponses } from './interim-responses.ts';

export interface ConnectionOptions {
  readonly origin: string;
  /** Opens a socket. One for all connections, so that one takes up the TLS session of another. */
  readonly connector: buildConnector.connector;
  /** Whether the connection is kept for the next request. */
  readonly isKept: boolean;
  /** Whether a kept connection bears requests of one identity only. */
  readonly isPerIdentity: boolean;
}

/** A connection to the bank, for one request at a time: opened when it is first needed, and anew where it was closed. */
export class BankConnection {
  readonly #options: ConnectionOptions;
  #client: Client | null = null;
  /** Whose requests the client bore; null where it bore none, or where that does not matter. */
  #identity: string | null = null;
  #interim = new InterimResponses();
  #isDestroyed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Whether it need not be opened anew for this identity. */
  suits(identity: string): boolean {
    return this.#identity === null || this.#identity === identity;
  }

  /** Sends a request of an identity. The handler calls `expectResponse` when it starts to be written. */
  dispatch(request: HttpRequest, handler: Dispatcher.DispatchHandler, identity: string): void {
    if (!this.suits(identity)) {
      void this.#client?.destroy();
      this.#client = null;
    }
    if (this.#options.isPerIdentity) this.#identity = identity;
    this.#client ??= this.#open();
    this.#client.dispatch(request, handler);
  }

  expectResponse(): void {
    this.#interim.expect();
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    await this.#client?.destroy();
  }

  #open(): Client {
    const { origin, connector, isKept } = this.#options;
    const connect: buildConnector.connector = (options, callback) =>
      connector(options, (...result) => {
        const [error, socket] = result;
        if (error === null) this.#interim = interimResponsesOf(socket);
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
