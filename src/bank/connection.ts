import type { Duplex } from 'node:stream';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { Connector } from './connector.ts';
import type { HttpRequest } from './http-message.ts';

export interface ConnectionOptions {
  readonly origin: string;
  readonly connector: Connector;
  /** Whether the connection is kept for the next request. */
  readonly isKept: boolean;
  /** Whether a kept connection bears requests of one identity only. */
  readonly isPerIdentity: boolean;
  /** Maximum age in milliseconds: an older connection is replaced before its next use. 0 for no maximum. */
  readonly maxAgeMs: number;
}

/** The share by which connections may be used for less than their maximum age, so that they do not all end at once. */
const ageSpread = 0.2;

/** A connection to the bank, for one request at a time: opened when it is first needed, and again if it was closed. */
export class BankConnection {
  /** What its socket failed with; null if it did not. If the other side closes it too, undici reports only that. */
  socketError: Error | null = null;
  readonly #options: ConnectionOptions;
  #client: Client | null = null;
  /** Whose requests the client bore; null if it bore none, or if that does not matter. */
  #identity: string | null = null;
  #reader: SocketReader | null = null;
  /** Until when it is used, in milliseconds of performance.now(), and with which certificates it was opened. */
  #expiresAt = Number.POSITIVE_INFINITY;
  #generation = 0;
  #isDestroyed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Whether it can be used for this identity without being opened again. */
  suits(identity: string): boolean {
    return this.#identity === null || this.#identity === identity;
  }

  /**
   * Sends a request of an identity, now (in milliseconds of performance.now()). The handler calls `expectResponse` when it
   * starts to be written.
   */
  dispatch(request: HttpRequest, handler: Dispatcher.DispatchHandler, identity: string, now: number): void {
    const { connector, isPerIdentity } = this.#options;
    // The bank's name may have another address by now, and the files other certificates.
    const isOutdated = now >= this.#expiresAt || this.#generation !== connector.generation;
    if (isOutdated || (isPerIdentity && !this.suits(identity))) {
      void this.#client?.destroy();
      this.#client = null;
    }
    if (isPerIdentity) this.#identity = identity;
    this.#client ??= this.#open();
    this.#client.dispatch(request, handler);
  }

  expectResponse(): void {
    this.#reader?.expect();
  }

  /** Leaves what is still to come in the socket, until `resume`. */
  pause(): void {
    this.#reader?.pause();
  }

  /** Not to be called by a handler, while undici parses. */
  resume(): void {
    this.#reader?.resume();
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
          this.#reader = new SocketReader(socket);
          this.socketError = null;
          socket.prependOnceListener('error', (failure) => {
            this.socketError = failure;
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

/**
 * Rewrites what undici reads from a socket, up to the final response's status line, and can pause it. undici's own pause ends
 * the read at a chunk of the transfer coding: it would put back the rest of what it has read and read more behind it, until
 * most of a body in small chunks is in memory, copied once for each chunk.
 */
class SocketReader {
  readonly #interim = new InterimResponses();
  readonly #socket: Duplex;
  readonly #read: Duplex['read'];
  readonly #rewritingRead: Duplex['read'];
  #isPaused = false;

  constructor(socket: Duplex) {
    const interim = this.#interim;
    const { read } = socket;
    this.#socket = socket;
    this.#read = read;
    this.#rewritingRead = function (this: Duplex, size?: number) {
      const chunk: unknown = read.call(this, size);
      if (chunk instanceof Uint8Array) {
        interim.rewrite(chunk);
        if (interim.isFinal) socket.read = read;
      }
      return chunk;
    };
  }

  expect(): void {
    this.#interim.expect();
    this.#socket.read = this.#rewritingRead;
  }

  pause(): void {
    const read = this.#read;
    this.#isPaused = true;
    // A read of 0 bytes takes nothing: the socket asks for it to notice its end.
    this.#socket.read = function (this: Duplex, size?: number) {
      return size === 0 ? read.call(this, 0) : null;
    };
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.read = this.#read;
    this.#socket.emit('readable');
  }
}

const carriageReturn = 13;
const lineFeed = 10;
/** How the status line of a 100 and a 101 begins. */
const statusLine = Buffer.from('HTTP/1.1 10');
const headEnd = Buffer.from('\r\n\r\n');
/** Where the status begins in a status line, and where it ends. */
const statusAt = 9;
const statusEnd = 12;
const digit0 = 0x30;
const digit1 = 0x31;
const digit3 = 0x33;
const digit9 = 0x39;

/** The status as which undici is shown a 101 (Switching Protocols): one without a meaning. */
export const shownSwitchingProtocols = 109;

/**
 * Makes undici ignore a 100 (Continue) response, and a 101 (Switching Protocols) that names no protocol.
 *
 * RFC 9110, 15.2: a client has to parse interim (1xx) responses before the final one, and may ignore those that it did
 * not ask for. undici does so with 102 and 103, but ends the connection at a 100 and at a 101. So this rewrites the
 * bytes before undici parses them: the status of each 100 becomes 103, and that of each 101 becomes 109. After a 101
 * with an Upgrade header (15.2.2), bytes of another protocol follow: the handler of a 109 has to check for it. No byte
 * is delayed, added or removed: whether a head is too long or malformed is left to undici's strict parser.
 *
 * It inspects interim heads and the first ten bytes of the final one, and nothing after that.
 */
export class InterimResponses {
  isFinal = true;
  /** The next byte's position in a status line; `statusEnd` after it, within an interim head. */
  #position = 0;
  /** How many bytes of the empty line that ends a head have been seen. */
  #matched = 0;
  /** Whether the status line so far is that of a 100 or a 101. */
  #isExpected = true;

  /** A request is about to be written, so a status line comes next. */
  expect(): void {
    this.isFinal = false;
    this.#position = 0;
    this.#matched = 0;
  }

  /** Inspects the bytes in the order of arrival, and rewrites them in place. */
  rewrite(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length && !this.isFinal; at++) {
      const byte = chunk[at] ?? 0;
      const position = this.#position;
      if (position === statusEnd) {
        if (byte === headEnd[this.#matched]) this.#matched++;
        else this.#matched = byte === carriageReturn ? 1 : 0;
        if (this.#matched === headEnd.length) this.expect();
        continue;
      }
      // Empty lines before a status line are skipped, as undici's parser does.
      if (position === 0 && (byte === carriageReturn || byte === lineFeed)) continue;
      this.#position++;
      if (this.#position === statusEnd) {
        if (this.#isExpected && byte === digit0) chunk[at] = digit3;
        else if (this.#isExpected && byte === digit1) chunk[at] = digit9;
        continue;
      }
      const isExpected = byte === statusLine[position];
      // Anything other than a status line with status 1xx is left to undici.
      if (!isExpected && position <= statusAt) this.isFinal = true;
      this.#isExpected = (position <= statusAt || this.#isExpected) && isExpected;
    }
  }
}
