import type { Duplex } from 'node:stream';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { InterimResponses } from './interim-responses.ts';
import type { WireRequest } from './wire.ts';

export interface ConnectionOptions {
  readonly origin: string;
  /** Opens a socket. One for all connections, so that one takes up the TLS session of another. */
  readonly connector: buildConnector.connector;
  /** Whether the connection is kept for the next request. */
  readonly isKept: boolean;
}

/** A connection to the bank, for one request at a time: opened when it is first needed, and anew where it was closed. */
export class Connection {
  readonly #client: Client;
  #interim = new InterimResponses();

  constructor({ origin, connector, isKept }: ConnectionOptions) {
    const connect: buildConnector.connector = (options, callback) =>
      connector(options, (...result) => {
        const [error, socket] = result;
        if (error === null) this.#interim = interimResponsesOf(socket);
        callback(...result);
      });
    this.#client = new Client(origin, {
      pipelining: isKept ? 1 : 0,
      allowH2: false,
      connect,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Sends a request. The handler calls `expectResponse` when it starts to be written. */
  dispatch(request: WireRequest, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(request, handler);
  }

  expectResponse(): void {
    this.#interim.expect();
  }

  destroy(): Promise<void> {
    return this.#client.destroy();
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
