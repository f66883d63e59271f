import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  type Server,
  ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What one caller may hold of all unread bytes. */
const callerShare = 1 / 8;

/** Bytes of answers that were handed over and that the network has not taken yet: all of them, or those of one caller. */
export class UnreadBytes {
  /** How many they may be. */
  readonly #max: number;
  /** Of what they are a part. */
  readonly #all: UnreadBytes | null;
  total = 0;

  constructor(max: number, all: UnreadBytes | null = null) {
    this.#max = max;
    this.#all = all;
  }

  /** Those of one caller. */
  ofCaller(): UnreadBytes {
    return new UnreadBytes(this.#max * callerShare, this);
  }

  get isFull(): boolean {
    return this.total >= this.#max;
  }

  /** Where a caller holds nothing there is room for one answer of his, as long as there is any. */
  hasRoomFor(bytes: number): boolean {
    const all = this.#all;
    if (all === null) return this.total + bytes <= this.#max;
    return (this.total === 0 || this.total + bytes <= this.#max) && all.hasRoomFor(bytes);
  }

  add(bytes: number): void {
    this.total += bytes;
    this.#all?.add(bytes);
  }
}

/** An answer, which knows how long it has been waiting to be taken. */
interface PendingResponse extends ServerResponse {
  /** Since when its first unread byte waits, by performance.now(); null while it has none. */
  readonly waitingSince: number | null;
}

/** A client's connection, with the requests that are under way on it. */
export class Connection {
  /** Where what it has not taken of their answers is counted. */
  readonly unread: UnreadBytes;
  readonly #socket: Socket;
  /** In the order of their requests, which is the order in which they are sent. */
  readonly #responses: PendingResponse[] = [];

  constructor(socket: Socket, unread: UnreadBytes) {
    this.#socket = socket;
    this.unread = unread;
  }

  get isIdle(): boolean {
    return this.#responses.length === 0;
  }

  begin(response: PendingResponse): void {
    this.#responses.push(response);
  }

  /** A response is sent, or its client has left. */
  end(response: PendingResponse): void {
    // Responses to pipelined requests end in their order.
    if (this.#responses[0] === response) this.#responses.shift();
  }

  /** Its latest answer says that it ends, if that can still be said; a client that does not know sends another request. */
  announceEnd(): void {
    const latest = this.#responses.at(-1);
    if (latest?.headersSent === false) latest.shouldKeepAlive = false;
  }

  /**
   * Ends it where any of its answers has been waiting for longer than this to be taken, in milliseconds. Each has a deadline
   * of its own: who takes one answer in a while would keep those behind it for ever.
   */
  enforceDeadline(deadlineMs: number): void {
    const first = performance.now() - deadlineMs;
    if (this.#responses.some(({ waitingSince }) => waitingSince !== null && waitingSince < first))
      this.#socket.destroy();
  }

  /**
   * The socket is closed. Node says so to the response that is being sent, and not to those of the requests that were
   * pipelined behind it: whoever works for them would never hear of it. It may say so later, when they are answered all
   * the same: listen with `once`.
   */
  close(): void {
    for (const response of this.#responses.splice(0)) {
      if (response.socket !== null) continue;
      response.destroy();
      response.emit('close');
    }
  }
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Sent = (error?: Error | null) => void;

const sizeOf = (chunk: unknown): number => {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk);
  return chunk instanceof Uint8Array ? chunk.byteLength : 0;
};

/**
 * An answer that tells the truth about its connection. Where it is given before the body was read to its end, the rest
 * is dropped as it comes, and the connection stays: judge() has seen how long it is. A body in chunks may have no end:
 * the connection closes, and the answer says so. What its client has not taken of it is counted.
 */
export class ConnectionAwareResponse extends ServerResponse {
  /** Where its unread bytes are counted; null once it is closed, when what is made of it goes nowhere. */
  #counted: UnreadBytes | null = null;
  #unread = 0;
  /** Bytes that count already, though they are not written yet. */
  #reserved = 0;
  #waitingSince = 0;

  /** Its connection, at which its bytes count from here on. */
  belongTo(connection: Connection): void {
    this.#counted = connection.unread;
    connection.begin(this);
    // Once: see Connection.close().
    this.once('close', () => {
      this.#release();
      this.#count(-this.#unread);
      connection.end(this);
      this.#counted = null;
    });
  }

  /** Its caller, at whom its bytes count from here on. Call it before anything is written. */
  countAt(caller: UnreadBytes): void {
    this.#counted = caller;
  }

  /**
   * Reserves room for so many bytes, in the place of what was reserved before, until they are written; false where there
   * is none, and nothing is reserved then.
   */
  reserveRoom(bytes: number): boolean {
    this.#release();
    if (this.#counted?.hasRoomFor(bytes) === false) return false;
    this.#reserved = this.#counted === null ? 0 : bytes;
    this.#counted?.add(this.#reserved);
    return true;
  }

  #release(): void {
    this.#counted?.add(-this.#reserved);
    this.#reserved = 0;
  }

  /** Since when its first unread byte waits, by performance.now(); null while it has none. */
  get waitingSince(): number | null {
    return this.#unread > 0 ? this.#waitingSince : null;
  }

  #count(bytes: number): void {
    if (this.#counted === null) return;
    if (this.#unread === 0) this.#waitingSince = performance.now();
    this.#unread += bytes;
    this.#counted.add(bytes);
  }

  override writeHead(status: number, reason?: string, headers?: Headers): this;
  override writeHead(status: number, headers?: Headers): this;
  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { complete, headers: asked } = this.req;
    if (!complete && asked['transfer-encoding'] !== undefined) this.setHeader('Connection', 'close');
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason);
  }

  override write(chunk: unknown, sent?: Sent): boolean;
  override write(chunk: unknown, encoding: BufferEncoding, sent?: Sent): boolean;
  override write(chunk: unknown, encoding?: BufferEncoding | Sent, sent?: Sent): boolean {
    const bytes = sizeOf(chunk);
    this.#release();
    this.#count(bytes);
    const whenSent: Sent = (error) => {
      // What is never sent is taken back when the answer is closed.
      if (!error && this.#unread >= bytes) this.#count(-bytes);
      (typeof encoding === 'function' ? encoding : sent)?.(error);
    };
    return typeof encoding === 'string'
      ? super.write(chunk, encoding, whenSent)
      : super.write(chunk, whenSent);
  }

  override end(sent?: () => void): this;
  override end(chunk: unknown, sent?: () => void): this;
  override end(chunk: unknown, encoding: BufferEncoding, sent?: () => void): this;
  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), sent?: () => void): this {
    this.#release();
    // Taken back when all is out: Node then says that the answer is closed.
    this.#count(sizeOf(chunk));
    if (typeof encoding === 'string') return super.end(chunk, encoding, sent);
    return typeof chunk === 'function' ? super.end(chunk) : super.end(chunk, encoding);
  }
}

/** A client that sends its headers or its body slower than this is cut off, in milliseconds. */
const slowestRequestMs = 10_000;
/** Longer than a load balancer keeps an idle connection, so that it is the one who closes it. */
const keepAliveMs = 65_000;
/** A client that does not read its answer holds the process no longer than this. */
const maxDrainMs = 30_000;
/** A client that has not taken an answer this long after it was made is cut off, in milliseconds. */
const writeDeadlineMs = 30_000;

export interface ListenOptions {
  /** Where what clients have not taken yet is counted. */
  readonly unread?: UnreadBytes;
  /** How long an answer may wait to be taken, in milliseconds. */
  readonly writeDeadlineMs?: number | undefined;
}

export interface CloseOptions {
  /** How long a connection on which nothing is under way may be used once more, in milliseconds; 0 where left out. */
  readonly idleMs?: number;
}

export interface Listening {
  readonly url: string;
  /** From now on each answer says that its connection ends, and ends it. */
  drain(): void;
  /** Lets what is under way end. */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * An HTTP server that listens. The listener must not throw.
 * Errors: what `listen` fails with, such as EADDRINUSE.
 */
export async function listen(
  host: string,
  port: number,
  listener: (request: IncomingMessage, response: ConnectionAwareResponse) => void,
  { unread = new UnreadBytes(Number.POSITIVE_INFINITY), ...options }: ListenOptions = {},
): Promise<Listening> {
  const deadlineMs = options.writeDeadlineMs ?? writeDeadlineMs;
  const connections = new Map<Socket, Connection>();
  let draining = false;
  /** Whether a connection ends as soon as nothing is under way on it. */
  let endsIdle = false;
  const connectionOf = (socket: Socket): Connection => {
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = new Connection(socket, unread);
      connections.set(socket, connection);
    }
    return connection;
  };
  const server: Server<typeof IncomingMessage, typeof ConnectionAwareResponse> = createServer(
    {
      headersTimeout: slowestRequestMs,
      requestTimeout: slowestRequestMs,
      // How often Node looks: by default every 30 s, whatever the two above say.
      connectionsCheckingInterval: 500,
      keepAliveTimeout: keepAliveMs,
      ServerResponse: ConnectionAwareResponse,
    },
    (request, response) => {
      const { socket } = request;
      const connection = connectionOf(socket);
      response.belongTo(connection);
      if (draining) response.shouldKeepAlive = false;
      response.once('close', () => {
        if (endsIdle && connection.isIdle) socket.destroySoon();
      });
      listener(request, response);
    },
  );
  // Node takes a connection for idle once its answer is handed over, also while it is still being written.
  server.closeIdleConnections = () => {};
  server.on('connection', (socket) => {
    const connection = connectionOf(socket);
    socket.once('close', () => {
      connections.delete(socket);
      connection.close();
    });
  });
  const cutOff = setInterval(
    () => {
      for (const connection of connections.values()) connection.enforceDeadline(deadlineMs);
    },
    Math.min(1000, deadlineMs),
  ).unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const drain = () => {
    draining = true;
    for (const connection of connections.values()) connection.announceEnd();
  };
  const endIdle = () => {
    endsIdle = true;
    for (const [socket, connection] of connections) if (connection.isIdle) socket.destroy();
  };
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    drain,
    close: ({ idleMs = 0 } = {}) =>
      new Promise((resolve) => {
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
