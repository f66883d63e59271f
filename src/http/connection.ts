import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { RequestHolder } from '../graphql/request-holder.ts';
import { Capacity, unbounded } from '../load/capacity.ts';
import { Connections } from './connections.ts';
import { headerPairs } from './response.ts';
import { describeUnreadable, type ParserError, type Unreadable } from './unreadable.ts';

/**
 * After a refusal, a connection is not read for a time that grows with the number of such connections. So clients that repeat
 * at once get about 500 refusals a second in all, and each takes a tenth of a millisecond.
 */
const pauseMs = 2;
const longestPauseMs = 1000;

/**
 * How many clients may wait to be accepted, if the system allows this number. Node accepts one in each iteration of the event
 * loop, and a client that does not fit tries again a second later.
 */
const backlog = 4096;
/** A client that takes longer than this to send its headers or its body is disconnected, in milliseconds. */
const usualSlowestRequestMs = 10_000;
/** Longer than load balancers keep an idle connection, so that they close it, and not bankql. */
const keepAliveMs = 65_000;
/** At the stop, the process waits at most this long for a client that does not read its answer. */
const maxDrainMs = 30_000;
/** A client that has not read its answer after this time is disconnected, in milliseconds. */
const writeDeadlineMs = 30_000;

/** Where a socket keeps its connection. */
const ownConnection = Symbol('connection');
type ConnectedSocket = Socket & { [ownConnection]?: Connection };

/** `holder`: the resources that the request holds. */
type Listener = (request: IncomingMessage, response: ConnectionAwareResponse, holder: RequestHolder) => void;

/** The state that all connections of a server share. */
interface Shared {
  readonly capacity: Capacity;
  readonly listener: Listener;
  /** How many connections pause after a refusal. */
  paused: number;
  /** Whether the server drains: the last answer of each connection announces its end. */
  isDraining: boolean;
  /** Whether a connection ends as soon as it is idle. */
  endsIdle: boolean;
}

/** A client's connection. Its requests are handled as they come, and Node sends their answers in that order. */
class Connection {
  readonly capacity: Capacity;
  /** The peer at the other end: its network address. */
  readonly peer: string;
  readonly socket: Socket;
  readonly #shared: Shared;
  /** The responses that are not sent yet, in the order of their requests. */
  readonly #responses = new Set<ConnectionAwareResponse>();
  #latest: ConnectionAwareResponse | null = null;
  /** Whether an answer has announced the end of the connection. */
  #isEnding = false;

  constructor(socket: Socket, shared: Shared) {
    this.socket = socket;
    this.capacity = shared.capacity;
    this.#shared = shared;
    this.peer = peerOf(socket.remoteAddress);
  }

  get isIdle(): boolean {
    return this.#responses.size === 0;
  }

  /**
   * Whether a complete request or an answer is in progress. The client would take any other answer for the answer to this
   * request.
   */
  get isAnswering(): boolean {
    return this.#responses.values().some(({ req, headersSent }) => req.complete || headersSent);
  }

  /**
   * A request has arrived. It is not handled if an answer has announced the end of the connection: the request's own answer
   * would be lost.
   */
  receive(response: ConnectionAwareResponse): void {
    // Node passes on the remaining requests of a packet even if their connection is closed.
    if (this.socket.destroyed || this.#isEnding) return;
    this.#responses.add(response);
    this.#latest = response;
    this.#shared.listener(response.req, response, response.belongTo(this));
  }

  /**
   * Whether an answer that begins now has to announce the end of the connection. Only the last answer may: Node drops later
   * ones.
   */
  endsWith(response: ConnectionAwareResponse, mustEnd: boolean): boolean {
    if (this.#latest !== response) return false;
    this.#isEnding = mustEnd || this.#shared.isDraining;
    return this.#isEnding;
  }

  /** An answer is sent, or its client has left. */
  end(response: ConnectionAwareResponse): void {
    this.#responses.delete(response);
    if (this.#latest === response) this.#latest = null;
    if (this.#shared.endsIdle && this.isIdle) this.socket.destroySoon();
    // Node still has to read the rest of a request that has not arrived completely.
    else if (response.holder?.isRefused && response.req.complete && !this.#shared.isDraining) this.#pause();
  }

  #pause(): void {
    const shared = this.#shared;
    this.socket.pause();
    shared.paused++;
    const resume = () => {
      shared.paused--;
      this.socket.resume();
    };
    outside(() => setTimeout(resume, Math.min(pauseMs * shared.paused, longestPauseMs)).unref());
  }

  /** Ends the connection if the current answer has waited longer than this to be read, in milliseconds. */
  enforceDeadline(deadlineMs: number, now: number): void {
    for (const response of this.#responses) if (response.isStalled(deadlineMs, now)) this.socket.destroy();
  }

  /** The socket is closed. Node tells only the current response, not later ones. */
  close(): void {
    for (const response of this.#responses) {
      if (response.socket !== null) continue;
      response.destroy();
    }
  }
}

/** The peer of a network address. An IPv6 client may choose from 2^64 addresses, so the first four groups identify the peer. */
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
 * of the body is dropped, and the connection stays: `checkRequest` has checked the body's length. If the body is chunked, or
 * the client awaits a 100, its end is not known: the connection then closes, and the response announces this.
 */
export class ConnectionAwareResponse extends ServerResponse {
  /** The resources that its request holds; null if the connection was closed before the request arrived. */
  holder: RequestHolder | null = null;
  /** Whether the client waits for 100 (Continue) before it sends the body. If its headers are refused, it sends none. */
  awaitsContinue = false;
  /** Null once the connection is closed. */
  #connection: Connection | null = null;
  /** The time of performance.now() at which bytes were first seen to wait for the client; null if none wait. */
  #stalledSince: number | null = null;

  constructor(...given: ConstructorParameters<typeof ServerResponse<IncomingMessage>>) {
    super(...given);
    // Once: see Connection.close().
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

  /**
   * Whether bytes have waited for the client for at least this time. An answer behind another one does not wait for the client.
   */
  isStalled(deadlineMs: number, now: number): boolean {
    if (this.holder === null || this.holder.unread === 0 || this.socket === null) return false;
    this.#stalledSince ??= now;
    return now - this.#stalledSince >= deadlineMs;
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { complete, headers: asked } = this.req;
    const isEndless = !complete && asked['transfer-encoding'] !== undefined;
    const mustEnd = !this.shouldKeepAlive || this.awaitsContinue || isEndless;
    if (this.#connection !== null) this.shouldKeepAlive = !this.#connection.endsWith(this, mustEnd);
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason);
  }

  override write(chunk: unknown, encoding?: BufferEncoding | Sent, sent?: Sent): boolean {
    const bytes = sizeOf(chunk, encoding);
    this.holder?.write(bytes);
    const whenSent: Sent = (error) => {
      // Room for bytes that are never sent is released when the answer is closed.
      if (!error) this.holder?.sent(bytes);
      if (this.holder?.written === 0) this.#stalledSince = null;
      (typeof encoding === 'function' ? encoding : sent)?.(error);
    };
    return typeof encoding === 'string'
      ? super.write(chunk, encoding, whenSent)
      : super.write(chunk, whenSent);
  }

  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), sent?: () => void): this {
    // The room is released when everything is sent: Node then closes the answer.
    this.holder?.answered(sizeOf(chunk, encoding));
    // Node sets an idle connection's timer when the answer ends. In the request's context, the timer
    // would retain it.
    return outside(() => {
      if (typeof encoding === 'string') return super.end(chunk, encoding, sent);
      return typeof chunk === 'function' ? super.end(chunk) : super.end(chunk, encoding);
    });
  }
}

const outside = AsyncLocalStorage.snapshot();

/** The head of an answer that closes the connection, and has no body. */
const headOf = (status: number, headers: readonly string[]): string =>
  [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    ...headerPairs(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

export interface ListenOptions {
  /** Counts the resources that callers use (default: nothing is bounded). */
  readonly capacity?: Capacity;
  /** How long an answer may wait to be read, in milliseconds. */
  readonly writeDeadlineMs?: number | undefined;
  /** How long a request may take to arrive, in milliseconds. */
  readonly slowestRequestMs?: number;
  /** Called with a request that cannot be read. Returns the headers of its answer, names and values in turn. Must not throw. */
  readonly onUnreadable?: (request: Unreadable) => readonly string[];
  /** Called when a connection is closed because there is one too many. Must not throw. */
  readonly onSurplus?: (closed: { readonly address: string; readonly connections: number }) => void;
}

export type Listening = Awaited<ReturnType<typeof listen>>;

/**
 * An HTTP server that listens. The listener must not throw.
 * Errors: those of `listen`, such as EADDRINUSE.
 */
export async function listen(
  host: string,
  port: number,
  listener: Listener,
  { capacity = new Capacity(unbounded), ...options }: ListenOptions = {},
) {
  const deadlineMs = options.writeDeadlineMs ?? writeDeadlineMs;
  const { slowestRequestMs = usualSlowestRequestMs } = options;
  const connections = new Connections<Connection>();
  const shared: Shared = { capacity, listener, paused: 0, isDraining: false, endsIdle: false };
  const receive = ({ socket }: { socket: ConnectedSocket }, response: ConnectionAwareResponse) =>
    socket[ownConnection]?.receive(response);
  const server: Server<typeof IncomingMessage, typeof ConnectionAwareResponse> = createServer(
    {
      headersTimeout: slowestRequestMs,
      requestTimeout: slowestRequestMs,
      // How often Node checks the two limits above; by default, every 30 s.
      connectionsCheckingInterval: 500,
      keepAliveTimeout: keepAliveMs,
      ServerResponse: ConnectionAwareResponse,
    },
    receive,
  );
  // By default, Node drops headers beyond the thousandth, or refuses them: a credential that is given twice would look like one. The
  // size of the head bounds their number.
  server.maxHeadersCount = 0;
  // Without a listener, Node writes the 100 before anybody has seen the headers.
  server.on('checkContinue', (request: IncomingMessage, response: ConnectionAwareResponse) => {
    response.awaitsContinue = true;
    receive(request, response);
  });
  // Without a listener, Node answers 417.
  server.on('checkExpectation', receive);
  // Without a listener, Node answers an unreadable request even while a payment is under way, and the client would take that for
  // the refusal of the payment.
  server.on('clientError', (error: ParserError, socket: ConnectedSocket) => {
    const unreadable = describeUnreadable(error);
    // Browsers open connections in advance: no request has begun.
    const isSilent = socket.bytesRead === 0;
    if (unreadable !== null && socket.writable) {
      const headers = isSilent ? [] : (options.onUnreadable?.(unreadable) ?? []);
      if (socket[ownConnection]?.isAnswering !== true) socket.write(headOf(unreadable.status, headers));
    }
    socket.destroy();
  });
  // Node treats a connection as idle as soon as it has the whole answer, even while it is still writing it.
  server.closeIdleConnections = () => {};
  server.on('connection', (socket: ConnectedSocket) => {
    const connection = new Connection(socket, shared);
    socket[ownConnection] = connection;
    connections.add(connection);
    if (connections.size > capacity.totals.sockets) closeSurplus(connections.surplus(connection));
    capacity.sockets = connections.size;
    socket.once('close', () => {
      connections.delete(connection);
      capacity.sockets = connections.size;
      connection.close();
    });
  });
  // Not server.maxConnections: Node would close every newcomer, and workers would pass it on among them for ever.
  const closeSurplus = (surplus: Connection) => {
    options.onSurplus?.({
      address: surplus.socket.remoteAddress ?? '',
      connections: connections.countOf(surplus),
    });
    connections.delete(surplus);
    surplus.socket.destroy();
    capacity.refuse('sockets');
  };
  const enforceDeadlines = () => {
    const now = performance.now();
    for (const connection of connections) connection.enforceDeadline(deadlineMs, now);
  };
  const cutOff = setInterval(enforceDeadlines, Math.min(1000, deadlineMs)).unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog }, resolve);
  });
  const address = server.address() as AddressInfo;
  const drain = () => {
    shared.isDraining = true;
  };
  const endIdle = () => {
    shared.endsIdle = true;
    for (const { isIdle, socket } of connections) if (isIdle) socket.destroy();
  };
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    /** From now on, the last answer of each connection announces its end, and the connection closes. */
    drain,
    /** Waits until the requests in progress have ended. For `idleMs` milliseconds, idle connections may be used once more. */
    close: (idleMs = 0) =>
      new Promise<void>((resolve) => {
        drain();
        const idle = idleMs === 0 ? undefined : setTimeout(endIdle, idleMs);
        const last = setTimeout(() => server.closeAllConnections(), maxDrainMs);
        server.close(() => {
          clearTimeout(idle);
          clearTimeout(last);
          clearInterval(cutOff);
          resolve();
        });
        if (idle === undefined) endIdle();
      }),
  };
}
