import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Connection, UnreadBytes } from './connection.ts';
import { ConnectionAwareResponse } from './server-response.ts';

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
