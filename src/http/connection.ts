import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { RequestHolder } from '../graphql/request-holder.ts';
import type { Capacity } from '../load/capacity.ts';

/**
 * If a client's connection gets three refusals within this time, in milliseconds, it is closed, so that the client has to connect
 * again.
 */
const refusalsMs = 1000;

/** The property of a socket that holds its `Connection`. */
export const ownConnection = Symbol('connection');
export type ConnectedSocket = Socket & { [ownConnection]?: Connection };

/** Called with each request. `holder`: the resources that the request holds. */
export type Listener = (
  request: IncomingMessage,
  response: ConnectionAwareResponse,
  holder: RequestHolder,
) => void;

/** The state that all connections of a server share. */
export interface Shared {
  readonly capacity: Capacity;
  readonly listener: Listener;
  /** Whether each connection may be a trusted proxy's, with requests of many callers. */
  readonly isBehindProxy: boolean;
  /** Whether the server drains: the last answer of each connection has `Connection: close`. */
  isDraining: boolean;
  /** Whether a connection ends as soon as it is idle. */
  endsIdle: boolean;
}

/**
 * A client's connection. Its requests are handled as they come, and Node sends the answers in the order of
 * the requests.
 */
export class Connection {
  readonly capacity: Capacity;
  /** The network address of the client, or its IPv6 network (peerOf). */
  readonly peer: string;
  readonly socket: Socket;
  readonly #shared: Shared;
  /** The responses that are not sent yet, in the order of their requests. */
  readonly #responses = new Set<ConnectionAwareResponse>();
  #latest: ConnectionAwareResponse | null = null;
  /** Whether an answer with `Connection: close` was begun. */
  #isEnding = false;
  /** The times of the last two refusals, by performance.now(). */
  #refusedAt = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY] as const;
  /** Whether reading from the client is paused. */
  #isPaused = false;

  constructor(socket: Socket, shared: Shared) {
    this.socket = socket;
    this.capacity = shared.capacity;
    this.#shared = shared;
    this.peer = peerOf(socket.remoteAddress);
  }

  get isIdle(): boolean {
    return this.#responses.size === 0;
  }

  /** Whether a complete request waits for its answer to begin. */
  get isWaiting(): boolean {
    return this.#responses.values().some(({ req, headersSent }) => req.complete && !headersSent);
  }

  /**
   * Whether the client waits for an answer: a request has arrived completely, or its answer has begun. The client would
   * take any other answer for this one.
   */
  get isAnswering(): boolean {
    return this.#responses.values().some(({ req, headersSent }) => req.complete || headersSent);
  }

  /**
   * Called when a request has arrived. The request is not handled if an earlier answer ends the connection, because its own
   * answer would be lost.
   */
  receive(response: ConnectionAwareResponse): void {
    // Node passes on all requests of a packet, even after it has closed their connection.
    if (this.socket.destroyed || this.#isEnding) return;
    this.#responses.add(response);
    this.#latest = response;
    this.#shared.listener(response.req, response, response.belongTo(this));
  }

  /**
   * Whether an answer that begins now must have `Connection: close`. Only the last answer may have it, because Node drops later
   * answers.
   */
  endsWith(response: ConnectionAwareResponse, mustEnd: boolean): boolean {
    if (this.#latest !== response) return false;
    this.#isEnding = mustEnd || this.#shared.isDraining;
    return this.#isEnding;
  }

  /** Called when an answer is sent, or the client has left. */
  end(response: ConnectionAwareResponse): void {
    this.#responses.delete(response);
    if (this.#latest === response) this.#latest = null;
    this.pace();
    if (this.#shared.endsIdle && this.isIdle) this.socket.destroySoon();
    // A connection that is kept needs nothing here: Node reads the rest of an incomplete request first.
  }

  /**
   * Called when a request is refused for lack of capacity. Returns whether the client repeats requests so fast that the
   * connection has to end.
   */
  refuse(): boolean {
    const [secondLast, last] = this.#refusedAt;
    const now = performance.now();
    this.#refusedAt = [last, now];
    return !this.#shared.isBehindProxy && now - secondLast < refusalsMs;
  }

  /**
   * Pauses reading while bytes wait for the client. Otherwise, whatever the client sends would postpone the deadline by which
   * it has to take its answer (`expire`).
   */
  pace(): void {
    const isBehind = this.socket.writableLength > 0;
    if (isBehind === this.#isPaused || this.socket.destroyed) return;
    this.#isPaused = isBehind;
    if (isBehind) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Called when nothing was read or written for a while, and the system took none of the waiting bytes: the client is away, or
   * does not read.
   */
  expire(): void {
    // If a client waits for its answer, it sends and reads nothing, and the connection is kept.
    if (this.isIdle || this.socket.writableLength > 0) this.socket.destroy();
  }

  /** Called when the socket is closed. Node closes only the response that is being sent, so the later ones are destroyed here. */
  close(): void {
    for (const response of this.#responses) {
      if (response.socket !== null) continue;
      response.destroy();
    }
  }
}

/**
 * The client's network address. The first four groups of an IPv6 address are used, because a client may choose from 2^64
 * addresses.
 */
export function peerOf(address = ''): string {
  if (!address.includes(':') || address.includes('.')) return `peer ${address}`;
  const [before = [], behind = []] = address
    .split('::', 2)
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - before.length - behind.length }, () => '0');
  return `peer ${[...before, ...zeros, ...behind].slice(0, 4).join(':')}`;
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Sent = (error?: Error | null) => void;

const sizeOf = (chunk: unknown, encoding?: unknown): number => {
  if (typeof chunk === 'string')
    return Buffer.byteLength(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  return chunk instanceof Uint8Array ? chunk.byteLength : 0;
};

/**
 * A response that announces correctly whether its connection ends. If it is sent before the body was read completely, the rest
 * of the body is dropped, and the connection is kept: `checkRequest` has checked the body's length. If the body is chunked, or
 * the client awaits a 100, bankql cannot tell where the body ends: the connection is closed, and the response announces this.
 */
export class ConnectionAwareResponse extends ServerResponse {
  /** The resources that the request holds; null if the connection was closed before the request arrived. */
  holder: RequestHolder | null = null;
  /**
   * Whether the client waits for 100 (Continue) before it sends the body. If its headers are refused, it
   * sends no body.
   */
  awaitsContinue = false;
  /** The client's connection; null once it is closed. */
  #connection: Connection | null = null;

  constructor(...given: ConstructorParameters<typeof ServerResponse<IncomingMessage>>) {
    super(...given);
    // `once`, because both Node and Connection.close() may close a response.
    this.once('close', () => {
      this.#connection?.end(this);
      this.#connection = null;
      this.holder?.end(!this.writableFinished);
    });
  }

  belongTo(connection: Connection): RequestHolder {
    this.#connection = connection;
    this.holder = new RequestHolder(connection.capacity, connection.peer, this.req);
    return this.holder;
  }

  override writeContinue(callback?: () => void): void {
    this.awaitsContinue = false;
    super.writeContinue(callback);
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { complete, headers: asked } = this.req;
    const isEndless = !complete && asked['transfer-encoding'] !== undefined;
    const repeats = this.holder?.isRefused === true && this.#connection?.refuse() === true;
    const mustEnd = !this.shouldKeepAlive || this.awaitsContinue || isEndless || repeats;
    if (this.#connection !== null) this.shouldKeepAlive = !this.#connection.endsWith(this, mustEnd);
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason);
  }

  override write(chunk: unknown, encoding?: BufferEncoding | Sent, sent?: Sent): boolean {
    const bytes = sizeOf(chunk, encoding);
    this.holder?.write(bytes);
    const whenSent: Sent = (error) => {
      // If sending fails, the reserved bytes are released when the answer is closed.
      if (!error) this.holder?.sent(bytes);
      this.#connection?.pace();
      (typeof encoding === 'function' ? encoding : sent)?.(error);
    };
    const hasRoom =
      typeof encoding === 'string' ? super.write(chunk, encoding, whenSent) : super.write(chunk, whenSent);
    if (!hasRoom) this.#connection?.pace();
    return hasRoom;
  }

  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), sent?: () => void): this {
    // The bytes are released when everything is sent: Node then closes the answer.
    this.holder?.answered(sizeOf(chunk, encoding));
    // Node sets the timer of an idle connection when the answer ends. Created in the request's async context, the timer would
    // keep the request in memory.
    outside(() => {
      if (typeof encoding === 'string') super.end(chunk, encoding, sent);
      else if (typeof chunk === 'function') super.end(chunk);
      else super.end(chunk, encoding);
    });
    this.#connection?.pace();
    return this;
  }
}

const outside = AsyncLocalStorage.snapshot();
