import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { Capacity, unbounded } from '../load/capacity.ts';
import {
  type ConnectedSocket,
  Connection,
  ConnectionAwareResponse,
  type Listener,
  ownConnection,
  type Shared,
} from './connection.ts';
import { Connections } from './connections.ts';
import { headerPairs } from './head.ts';
import type { HttpRefusal } from './rules.ts';

/**
 * The number of clients that may wait to be accepted, if the system allows it: Node accepts one in each iteration of the event
 * loop. Any further client tries again a second later.
 */
const backlog = 4096;
/** The time that a client may take to send its headers or its body, in milliseconds. */
const usualSlowestRequestMs = 10_000;
/**
 * The time for which an idle connection is kept, in milliseconds. Load balancers keep one for less time, so
 * that a load balancer closes the connection, and not bankql.
 */
const keepAliveMs = 65_000;
/** The longest time for which a stopping process waits for a client that takes its answer slowly, in milliseconds. */
const maxDrainMs = 30_000;
/** The time after which a client that reads nothing of its answer is disconnected, in milliseconds. */
const usualWriteDeadlineMs = 30_000;

/** An error of Node's parser of HTTP, or of a request that does not arrive in time. */
type ParserError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** A request that cannot be read. */
interface Unreadable {
  readonly status: HttpRefusal;
  /** Node's code of the error. */
  readonly reason: string;
  /** The origin of the page that sent the request, if it can be found. */
  readonly origin: string | undefined;
}

/** The statuses that Node gives to its error codes. All other codes are answered with 400. */
const statuses: Readonly<Record<string, HttpRefusal>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Describes why a request cannot be read. Null if the client has left. */
function describeUnreadable({ code = '', rawPacket }: ParserError): Unreadable | null {
  const status = statuses[code] ?? 400;
  // There is nobody to answer if the connection ended within a request, or failed.
  if (status === 400 && (!code.startsWith('HPE_') || code === 'HPE_INVALID_EOF_STATE')) return null;
  // The origin is looked for in the bytes that arrived last, because Node keeps no header of an unreadable
  // request.
  const origin = /^origin:[ \t]*([^\s]+)[ \t]*$/im.exec(rawPacket?.toString('latin1') ?? '')?.[1];
  return { status, reason: code, origin };
}

/** The head of an answer without a body, which closes the connection. */
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
  /** Whether a trusted proxy is in front, so that a connection has requests of many callers (default: false). */
  readonly isBehindProxy?: boolean | undefined;
  /** The time after which a client that reads nothing of its answer is disconnected, in milliseconds. */
  readonly writeDeadlineMs?: number | undefined;
  /** The longest time in which a request must arrive, in milliseconds. */
  readonly slowestRequestMs?: number;
  /**
   * Called with a request that cannot be read. Returns the headers of its answer, as alternating names and values. Must not
   * throw.
   */
  readonly onUnreadable?: (request: Unreadable) => readonly string[];
  /** Called when a connection is closed because there are too many. Must not throw. */
  readonly onSurplus?: (closed: { readonly address: string; readonly connections: number }) => void;
}

export type Listening = Awaited<ReturnType<typeof listen>>;

/** Starts to listen. Returns the address as a URL. Errors: those of `listen`, such as EADDRINUSE. */
export async function listenOn(server: NetServer, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog }, resolve);
  });
  const address = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

/**
 * Starts an HTTP server that listens. The listener must not throw.
 * Errors: those of `listen`, such as EADDRINUSE.
 */
export async function listen(
  host: string,
  port: number,
  listener: Listener,
  { capacity = new Capacity(unbounded), ...options }: ListenOptions = {},
) {
  const { slowestRequestMs = usualSlowestRequestMs, isBehindProxy = false } = options;
  const connections = new Connections<Connection>();
  const shared: Shared = { capacity, listener, isBehindProxy, isDraining: false, endsIdle: false };
  const receive = ({ socket }: { socket: ConnectedSocket }, response: ConnectionAwareResponse) =>
    socket[ownConnection]?.receive(response);
  const server: Server<typeof IncomingMessage, typeof ConnectionAwareResponse> = createServer(
    {
      headersTimeout: slowestRequestMs,
      requestTimeout: slowestRequestMs,
      // The interval at which Node checks the two limits above, in milliseconds. Node's default is 30 s.
      connectionsCheckingInterval: 500,
      keepAliveTimeout: keepAliveMs,
      ServerResponse: ConnectionAwareResponse,
    },
    receive,
  );
  // By default, Node drops or refuses headers beyond the thousandth, so bankql could miss that a credential
  // is sent twice. The size of the head already bounds the number of headers.
  server.maxHeadersCount = 0;
  // Without this listener, Node sends the status 100 before the headers are checked.
  server.on('checkContinue', (request: IncomingMessage, response: ConnectionAwareResponse) => {
    response.awaitsContinue = true;
    receive(request, response);
  });
  // Without this listener, Node answers 417.
  server.on('checkExpectation', receive);
  // Without this listener, Node answers an unreadable request even while a payment is in progress, and the client would take that
  // answer for the refusal of the payment.
  server.on('clientError', (error: ParserError, socket: ConnectedSocket) => {
    const unreadable = describeUnreadable(error);
    // Browsers open connections in advance. If no byte has arrived, there is no request to report.
    const isSilent = socket.bytesRead === 0;
    if (unreadable !== null && socket.writable) {
      const headers = isSilent ? [] : (options.onUnreadable?.(unreadable) ?? []);
      if (socket[ownConnection]?.isAnswering !== true) socket.write(headOf(unreadable.status, headers));
    }
    socket.destroy();
  });
  server.timeout = options.writeDeadlineMs ?? usualWriteDeadlineMs;
  // Without this listener, Node also ends a connection whose request waits for the bank.
  server.on('timeout', (socket: ConnectedSocket) => socket[ownConnection]?.expire());
  // Node's method is replaced, because to Node a connection is idle as soon as the answer is complete, even while it is being
  // sent.
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
  // server.maxConnections is not used: Node would close every new connection, and workers would pass it to each other for ever.
  const closeSurplus = (surplus: Connection) => {
    options.onSurplus?.({
      address: surplus.socket.remoteAddress ?? '',
      connections: connections.countOf(surplus),
    });
    connections.delete(surplus);
    surplus.socket.destroy();
    capacity.refuse('sockets');
  };
  const url = await listenOn(server, host, port);
  const drain = () => {
    shared.isDraining = true;
  };
  const endIdle = () => {
    shared.endsIdle = true;
    for (const { isIdle, socket } of connections) if (isIdle) socket.destroy();
  };
  const endSlow = () => {
    for (const { isWaiting, socket } of connections) if (!isWaiting) socket.destroy();
  };
  return {
    url,
    /** From now on, the last answer of each connection has `Connection: close`. */
    drain,
    /** Waits until the requests in progress have ended. For `idleMs` milliseconds, idle connections may be used once more. */
    close: (idleMs = 0) =>
      new Promise<void>((resolve) => {
        drain();
        const idle = idleMs === 0 ? undefined : setTimeout(endIdle, idleMs);
        const last = setTimeout(endSlow, maxDrainMs);
        server.close(() => {
          clearTimeout(idle);
          clearTimeout(last);
          resolve();
        });
        if (idle === undefined) endIdle();
      }),
  };
}
