import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  type Server,
  ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Identity } from '../bank/credentials.ts';
import { overloadedError, type RequestError } from '../engine/errors.ts';
import { getOrMake } from '../get-or-make.ts';
import {
  Account,
  type Counted,
  type Holder,
  Ledger,
  overheadBytes,
  refusalOnArrival,
  type ShedReason,
  unbounded,
} from '../ledger.ts';
import { type Clock, realClock } from './clock.ts';
import { LinkedList, type ListNode } from './linked-list.ts';

/** How often refused connections are read again, in milliseconds, and how many refusals are given without a rest meanwhile. */
const restMs = 100;
export const refusalsAtOnce = 50;

/**
 * Connections whose request was refused for now, and which ask again at once: a refusal costs a tenth of a millisecond, so that
 * some thousands of such connections would use up the process. Beyond so many refusals at a time, a connection is not read
 * until its turn has come.
 */
function createResting(clock: Clock) {
  const connections = new Set<Connection>();
  let left = refusalsAtOnce;
  let stop: (() => void) | null = null;

  /** Stops the clock; it starts again with the next refusal. */
  function close(): void {
    stop?.();
    stop = null;
  }

  function tick(): void {
    const isIdle = left === refusalsAtOnce;
    left = refusalsAtOnce;
    for (const connection of connections) {
      if (left === 0) return;
      left--;
      connections.delete(connection);
      connection.resume();
    }
    if (isIdle) close();
  }

  return {
    /** A request on this connection has been refused. Returns whether it rests. */
    refused(connection: Connection): boolean {
      stop ??= clock.every(restMs, tick);
      if (left > 0) {
        left--;
        return false;
      }
      connections.add(connection);
      return true;
    },
    /** The connection that has rested longest; undefined if none rests. */
    first: (): Connection | undefined => connections.keys().next().value,
    has: (connection: Connection) => connections.has(connection),
    delete: (connection: Connection) => connections.delete(connection),
  };
}
type Resting = ReturnType<typeof createResting>;

/** Where a socket keeps its connection. */
const ownConnection = Symbol('connection');
type ConnectedSocket = Socket & { [ownConnection]?: Connection };

type Listener = (request: IncomingMessage, response: ConnectionAwareResponse) => void;

/** What the connections of a server have in common. */
interface ConnectionServer {
  readonly ledger: Ledger;
  readonly resting: Resting;
  readonly listener: Listener;
  /** Whether the last answer of a connection says that it ends. */
  isDraining: boolean;
  /** Whether a connection ends as soon as it is idle. */
  endsIdle: boolean;
}

/**
 * A client's connection. Its requests are handled one at a time: HTTP sends the answers in that order, and a client that does not
 * wait for them would otherwise have many requests in progress for the cost of one packet.
 */
export class Connection {
  readonly ledger: Ledger;
  readonly #server: ConnectionServer;
  /**
   * The peer at its other end, as far as the network knows: callers are counted by it until they have proven their identity.
   */
  readonly peer: string;
  readonly socket: Socket;
  /** Its position among all connections. */
  readonly position: ListNode<Connection> = { value: this, previous: null, next: null };
  /** The request that is under way; null if it is idle. */
  #response: ConnectionAwareResponse | null = null;
  /** The requests that arrived while it was handled; null before the first such request. */
  #pipelined: ConnectionAwareResponse[] | null = null;
  #isPaused = false;
  /** The caller of its latest request; its peer until one is known. */
  account: Account = nobody;

  constructor(socket: Socket, server: ConnectionServer) {
    this.socket = socket;
    this.ledger = server.ledger;
    this.#server = server;
    this.peer = peerOf(socket.remoteAddress);
  }

  /** The group of its caller: the one that has most gives up connections. Its peer until a caller is known. */
  get group(): string {
    return this.account === nobody ? this.peer : this.account.group.name;
  }

  get isIdle(): boolean {
    return this.#response === null && !this.#pipelined?.length;
  }

  /** Whether its client has to send or read something before bankql can do more for it. */
  get awaitsClient(): boolean {
    return this.#response === null ? this.isIdle : this.#response.arriving > 0 || this.#response.unread > 0;
  }

  /** Whether a complete request is under way, or an answer: the client would think that any other answer belongs to it. */
  get isAnswering(): boolean {
    return this.#response !== null && (this.#response.req.complete || this.#response.headersSent);
  }

  /** A request has arrived. */
  receive(response: ConnectionAwareResponse): void {
    // Node goes on with the requests of a packet when their connection is closed already.
    if (this.socket.destroyed) return;
    response.belongTo(this);
    if (this.#response === null && !this.#pipelined?.length) {
      this.#begin(response);
      return;
    }
    this.#pipelined ??= [];
    this.#pipelined.push(response);
    response.wait();
  }

  #begin(response: ConnectionAwareResponse): void {
    this.#response = response;
    if (this.#server.isDraining) this.announceEnd();
    this.#server.listener(response.req, response);
  }

  /** A response is sent, or its client has left. */
  end(response: ConnectionAwareResponse): void {
    if (this.#response !== response) return;
    this.#response = null;
    if (this.#server.endsIdle) this.socket.destroySoon();
    // Node still has to read the rest of a request that has not arrived completely.
    else if (
      response.isRefused &&
      response.req.complete &&
      !this.socket.destroyed &&
      this.#server.resting.refused(this)
    )
      this.#pause();
    // Not at once: thousands of requests that need no waiting would be answered before any other event is handled.
    else if (this.#pipelined !== null)
      setImmediate(() => {
        if (!this.#server.resting.has(this)) this.resume();
      });
  }

  #pause(): void {
    this.#isPaused = true;
    this.socket.pause();
  }

  /** Goes on with its next request. */
  resume(): void {
    // No request is handled after an answer with "Connection: close".
    if (this.#response !== null || !this.socket.writable) return;
    const next = this.#pipelined?.shift();
    if (next !== undefined) this.#begin(next);
    if (!this.#isPaused || this.#pipelined?.length) return;
    this.#isPaused = false;
    this.socket.resume();
  }

  /** Clients that are not told that a connection ends send another request on it. Those that wait already are answered first. */
  announceEnd(): void {
    if (!this.#pipelined?.length && this.#response?.headersSent === false)
      this.#response.shouldKeepAlive = false;
  }

  /** Ends it if its answer has been waiting for longer than this to be read, in milliseconds. */
  enforceDeadline(deadlineMs: number): void {
    const response = this.#response;
    if (response !== null && response.unread > 0 && response.since < performance.now() - deadlineMs)
      this.socket.destroy();
  }

  /** The socket is closed. Node says so to the response that is being sent, and not to those behind it. */
  close(): void {
    this.#server.resting.delete(this);
    for (const response of this.#pipelined?.splice(0) ?? []) {
      response.destroy();
      response.emit('close');
    }
  }
}

/** An address of IPv6 is one of 2^64 that a client may choose from: they are one peer, by the four groups that they share. */
function peerOf(address = ''): string {
  if (!address.includes(':') || address.includes('.')) return `peer ${address}`;
  const [before = [], behind = []] = address
    .split('::', 2)
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - before.length - behind.length }, () => '0');
  return `peer ${[...before, ...zeros, ...behind].slice(0, 4).join(':')}`;
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Sent = (error?: Error | null) => void;

const sizeOf = (chunk: unknown, encoding?: BufferEncoding | (() => void)): number => {
  if (typeof chunk === 'string')
    return Buffer.byteLength(chunk, typeof encoding === 'string' ? encoding : 'utf8');
  return chunk instanceof Uint8Array ? chunk.byteLength : 0;
};

/**
 * An answer that tells the truth about its connection. If it is given before the body was read to its end, the rest
 * is dropped as it comes, and the connection stays: `checkRequest` has seen how long it is. A body in chunks may have no end:
 * the connection closes, and the answer says so. It holds what its request holds of the process.
 */
export class ConnectionAwareResponse extends ServerResponse implements Holder {
  account = nobody;
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  since = 0;
  canGiveWay = true;
  previous: Holder | null = null;
  next: Holder | null = null;
  isListed = false;
  /** Whether its client sends the body only after a 100 (Continue), and so none that is refused for its headers. */
  awaitsContinue = false;
  /** Answers it in place of its handler if it gives way; null while its request waits for an earlier one. Set by the server. */
  serving: { giveWay(resource: Counted): void } | null = null;
  /** Its connection; null once it is closed, when what is made of it goes nowhere. */
  #connection: Connection | null = null;
  /** Bytes that are written and that the network has not taken, before it is ended. */
  #written = 0;
  #abort: AbortController | null = null;
  /** Whether nothing more needs to be done for it: its client has left, or it has given way. */
  isAbandoned = false;
  /** Whether it says that there is too much to do. */
  isRefused = false;

  constructor(...given: ConstructorParameters<typeof ServerResponse<IncomingMessage>>) {
    super(...given);
    // Once: see Connection.close().
    this.once('close', () => {
      const connection = this.#connection;
      connection?.end(this);
      connection?.ledger.release(this);
      this.#connection = null;
      if (!this.writableFinished) this.abandon();
    });
  }

  belongTo(connection: Connection): void {
    this.#connection = connection;
    this.since = performance.now();
  }

  /** Its request waits for an earlier one of its connection, and counts as one that is arriving. */
  wait(): void {
    try {
      this.awaitMore(bufferedBytes(this.req));
    } catch {
      this.req.socket.destroy();
    }
  }

  /** Is raised when nothing more needs to be done for it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.isAbandoned) this.#abort.abort(leftReason);
    return this.#abort.signal;
  }

  abandon(): void {
    this.isAbandoned = true;
    this.#abort?.abort(leftReason);
  }

  giveWay(resource: Counted): void {
    if (resource === 'unread') {
      this.socket?.destroy();
      return;
    }
    this.isRefused = true;
    this.abandon();
    if (this.serving === null) this.req.socket.destroy();
    else this.serving.giveWay(resource);
  }

  /** The peer at the other end of its connection, as far as the network knows. */
  get peer(): string {
    return this.#connection?.peer ?? '';
  }

  /** Its caller, as far as that is known: null for the connection's peer. */
  identify(caller: Identity | null): void {
    const connection = this.#connection;
    if (connection === null) return;
    const { ledger, peer } = connection;
    if (this.arriving > 0) ledger.release(this);
    const name = caller?.name ?? peer;
    const { account } = connection;
    // The ledger forgets accounts that hold nothing.
    if (!account.isListed || account.name !== name)
      connection.account = ledger.account(name, caller?.group ?? peer);
    this.account = connection.account;
  }

  /** So many bytes of its request have arrived now, and more of it is awaited. Errors: RequestError OVERLOADED. */
  awaitMore(bytes: number): void {
    if (this.#connection === null) return;
    if (this.account === nobody) this.identify(null);
    const taken = this.arriving === 0 ? bytes + headBytes(this.req) : bytes;
    const why = this.#connection.ledger.take(this, 'arriving', taken);
    if (why !== null) throw this.#refusal(why);
  }

  /** Its request has arrived, and the work for it begins. Errors: RequestError OVERLOADED. */
  admit(): void {
    if (this.#connection === null) return;
    const why = this.#connection.ledger.admit(this);
    if (why !== null) throw this.#refusal(why);
  }

  #refusal(why: ShedReason): RequestError {
    this.isRefused = true;
    return overloaded(why);
  }

  /** Takes so many more values; false if this caller has none left, or the request is over: nothing would give them back. */
  takeValues(count: number): boolean {
    if (this.isAbandoned) return false;
    if (this.#connection === null) return true;
    return this.requests > 0 && this.#connection.ledger.take(this, 'values', count) === null;
  }

  /**
   * Reserves room for so many bytes, in the place of what was reserved before, until they are written; false if there
   * is not enough, and nothing is reserved then.
   */
  reserveRoom(bytes: number): boolean {
    if (this.#connection === null) return true;
    const { ledger } = this.#connection;
    ledger.add(this, 'unread', this.#written - this.unread);
    this.since = performance.now();
    return ledger.take(this, 'unread', bytes) === null;
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
    const bytes = sizeOf(chunk, encoding);
    if (this.#connection !== null) {
      if (this.#written === 0) this.since = performance.now();
      // The bytes written now replace those that were reserved.
      this.#connection.ledger.add(this, 'unread', this.#written + bytes - this.unread);
      this.#written += bytes;
    }
    const whenSent: Sent = (error) => {
      // Room for bytes that are never sent is given back when the answer is closed.
      if (!error && this.#connection !== null) {
        this.#written -= bytes;
        this.#connection.ledger.add(this, 'unread', -bytes);
      }
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
    if (this.#connection !== null) {
      if (this.account === nobody) this.identify(null);
      if (this.#written === 0) this.since = performance.now();
      // Given back when all is out: Node then says that the answer is closed.
      this.#connection.ledger.release(this, this.#written + sizeOf(chunk, encoding));
    }
    // Node sets the timer of an idle connection where the answer ends: in the request's context it would retain the request.
    return outside(() => {
      if (typeof encoding === 'string') return super.end(chunk, encoding, sent);
      return typeof chunk === 'function' ? super.end(chunk) : super.end(chunk, encoding);
    });
  }
}

/** What Node keeps for each header in addition to its text, in bytes. */
const headerBytes = 128;

/** The memory that the head of a waiting request takes: the usual overhead, or more if it has many or long headers. */
function headBytes({ url = '', rawHeaders }: IncomingMessage): number {
  let bytes = url.length + (rawHeaders.length / 2) * headerBytes;
  for (const text of rawHeaders) bytes += text.length;
  return Math.max(overheadBytes, bytes);
}

/** About how many bytes of a waiting request's body Node reads before it stops reading from the connection. */
function bufferedBytes({ headers, readableHighWaterMark }: IncomingMessage): number {
  const isChunked = headers['transfer-encoding'] !== undefined;
  const length = isChunked ? Infinity : Number(headers['content-length'] ?? 0);
  return Math.min(length, readableHighWaterMark);
}

/** The part of all connections that is closed at once: looking through all of them for each client that connects costs too much. */
const closedAtOnce = 1 / 64;

/**
 * The oldest connections of the group that has most, and in it of the caller that has most: those that are idle, or else those
 * whose client has to send or read more. None that bankql works for, and no group's only connection unless it is idle.
 */
function closableOfMost(connections: LinkedList<Connection>): readonly Connection[] {
  const open = [...connections].filter(({ socket }) => !socket.destroyed);
  const most = Math.ceil(connections.size * closedAtOnce);
  for (const group of largestFirst(open, (connection) => connection.group)) {
    for (const theirs of largestFirst(group, ({ account }) => account.name)) {
      const idle = theirs.filter(({ isIdle }) => isIdle);
      const closable =
        idle.length > 0 || group.length === 1 ? idle : theirs.filter(({ awaitsClient }) => awaitsClient);
      if (closable.length > 0) return closable.slice(0, most);
    }
  }
  return [];
}

const largestFirst = (connections: Iterable<Connection>, keyOf: (connection: Connection) => string) =>
  [...Map.groupBy(connections, keyOf).values()].sort((a, b) => b.length - a.length);

/** Nobody sees it. Without a reason, `abort` would make an error with a stack for each request. */
const leftReason = new Error('The client has left, or its request has given way.');

const outside = AsyncLocalStorage.snapshot();

const nobody = new Account('', { name: '', requests: 0, arriving: 0, values: 0, unread: 0 }, { requests: 0 });

const refusals = new Map<ShedReason, RequestError>();

/** One error for each reason: a refusal must cost far less than what is refused, and an error costs most of it. */
const overloaded = (why: ShedReason): RequestError =>
  getOrMake(refusals, why, () => overloadedError(refusalOnArrival(why)));

/**
 * How many clients may wait to be accepted, if the system allows as many: Node accepts one in each iteration of the event loop,
 * and a client that is not let in tries again a second later.
 */
const backlog = 4096;

/** A client that sends its headers or its body slower than this is cut off, in milliseconds. */
const usualSlowestRequestMs = 10_000;
/** Longer than a load balancer keeps an idle connection, so that it is the one who closes it. */
const keepAliveMs = 65_000;
/** A client that does not read its answer holds the process no longer than this. */
const maxDrainMs = 30_000;
/** A client that has not taken an answer this long after it was made is cut off, in milliseconds. */
const writeDeadlineMs = 30_000;

/** The status for a request that cannot be parsed, by the error's code; the same as Node's. */
const unreadable: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

interface ListenOptions {
  /** Counts what callers hold (default: nothing is bounded). */
  readonly ledger?: Ledger;
  /** How long an answer may wait to be taken, in milliseconds. */
  readonly writeDeadlineMs?: number | undefined;
  /** How long a request may take to arrive, in milliseconds. */
  readonly slowestRequestMs?: number;
  /** The clock by which refused connections rest. */
  readonly clock?: Clock;
}

export type Listening = Awaited<ReturnType<typeof listen>>;

/**
 * An HTTP server that listens. The listener must not throw.
 * Errors: what `listen` fails with, such as EADDRINUSE.
 */
export async function listen(
  host: string,
  port: number,
  listener: Listener,
  { ledger = new Ledger(unbounded), clock = realClock, ...options }: ListenOptions = {},
) {
  const deadlineMs = options.writeDeadlineMs ?? writeDeadlineMs;
  const { slowestRequestMs = usualSlowestRequestMs } = options;
  const connections = new LinkedList<Connection>();
  const resting = createResting(clock);
  const shared: ConnectionServer = { ledger, resting, listener, isDraining: false, endsIdle: false };
  /** What can be closed for a new connection. */
  const closable = (): readonly Connection[] => {
    const rested = resting.first();
    return rested === undefined ? closableOfMost(connections) : [rested];
  };
  const receive: Listener = ({ socket }: { socket: ConnectedSocket }, response) =>
    socket[ownConnection]?.receive(response);
  const server: Server<typeof IncomingMessage, typeof ConnectionAwareResponse> = createServer(
    {
      headersTimeout: slowestRequestMs,
      requestTimeout: slowestRequestMs,
      // How often Node looks: by default every 30 s, whatever the two above say.
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
  // Without a listener, Node answers 417 at once, also while another request of the connection is handled.
  server.on('checkExpectation', receive);
  // Without a listener, Node answers what it cannot parse also while a payment is under way, and the client would take that for
  // the refusal of the payment.
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: ConnectedSocket) => {
    if (socket.writable && socket[ownConnection]?.isAnswering !== true)
      socket.write(`HTTP/1.1 ${unreadable[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
    socket.destroy();
  });
  // Node takes a connection for idle once its answer is handed over, also while it is still being written.
  server.closeIdleConnections = () => {};
  server.on('connection', (socket: ConnectedSocket) => {
    const isFull = connections.size >= ledger.maxSockets;
    const others = isFull ? closable() : [];
    const connection = new Connection(socket, shared);
    socket[ownConnection] = connection;
    connections.appendNode(connection.position);
    for (const each of isFull && others.length === 0 ? [connection] : others) {
      ledger.refuseSocket();
      each.socket.destroy();
      // It is closed only later: it must not be found here again.
      resting.delete(each);
      connections.remove(each.position);
    }
    ledger.sockets = connections.size;
    // Node makes an error for each request that the client had sent: their stacks take milliseconds if these are many.
    let { stackTraceLimit } = Error;
    socket.prependOnceListener('close', () => {
      ({ stackTraceLimit } = Error);
      Error.stackTraceLimit = 0;
    });
    socket.once('close', () => {
      Error.stackTraceLimit = stackTraceLimit;
      connections.remove(connection.position);
      ledger.sockets = connections.size;
      connection.close();
    });
  });
  const cutOff = setInterval(
    () => {
      for (const connection of connections) connection.enforceDeadline(deadlineMs);
    },
    Math.min(1000, deadlineMs),
  ).unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog }, resolve);
  });
  const address = server.address() as AddressInfo;
  const drain = () => {
    shared.isDraining = true;
    for (const connection of connections) connection.announceEnd();
  };
  const endIdle = () => {
    shared.endsIdle = true;
    for (const { isIdle, socket } of connections) if (isIdle) socket.destroy();
  };
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    /** From now on each answer says that its connection ends, and ends it. */
    drain,
    /** Lets what is under way end. Idle connections may be used once more for so many milliseconds. */
    close: (idleMs = 0) =>
      new Promise<void>((resolve) => {
        drain();
        const idle = idleMs === 0 ? undefined : setTimeout(endIdle, idleMs);
        const last = setTimeout(() => server.closeAllConnections(), maxDrainMs);
        server.close(() => {
          clearTimeout(idle);
          clearTimeout(last);
          clearInterval(cutOff);
          ledger.close();
          resolve();
        });
        if (idle === undefined) endIdle();
      }),
  };
}
