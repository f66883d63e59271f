import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type ErrorCode, errorCodes, requestSentNothing } from '../bank/error.ts';
import { Answer } from './answer.ts';
import { duringRequest } from './current-request.ts';
import { createGraphQL, type GraphQLOptions } from './graphql.ts';
import { type HttpPolicyOptions, type HttpRefusal, judge, type Verdict } from './http-policy.ts';
import { createLoadGuard, type LoadLimits, type Shed } from './load.ts';

export interface ServerOptions extends GraphQLOptions {
  readonly host: string;
  readonly port: number;
  readonly load: LoadLimits;
  /** The headers that tell callers apart, in lower case; the three credentials where left out. */
  readonly callerHeaders?: readonly string[] | undefined;
  readonly http: Omit<HttpPolicyOptions, 'maxRequestBytes'>;
  /** How long /ready says so before the server stops to listen, in milliseconds. */
  readonly drainDelayMs?: number;
  /** Is told of every request that is not accepted; it must not throw. */
  readonly onShed?: (why: Shed) => void;
  /** Is told of every request that HTTP alone is enough to refuse; it must not throw. */
  readonly onHttpRefusal?: (status: HttpRefusal) => void;
}

export interface RunningServer {
  readonly url: string;
  /** How many GraphQL requests are under way. */
  readonly inFlight: number;
  /** From now on these are the documents that may be asked for by their ids; what is under way ends as it began. */
  replacePersisted(persisted: GraphQLOptions['persisted']): void;
  /** Lets what is under way end, and serves nothing new. */
  close(): Promise<void>;
}

/** Serves the endpoint. Errors: what `listen` fails with, such as EADDRINUSE. */
export async function serve(options: ServerOptions): Promise<RunningServer> {
  let draining = false;
  const graphqlOptions: GraphQLOptions = {
    ...options,
    isReady: () => !draining && (options.isReady?.() ?? true),
  };
  let graphql = createGraphQL(graphqlOptions);
  const policy = { ...options.http, maxRequestBytes: options.maxRequestBytes };
  const load = createLoadGuard(options.load, options.callerHeaders);
  const listening = await listen(options.host, options.port, (request, response) => {
    const { method = '', url: target = '' } = request;
    const { headers, requestId, refusal } = judge({ method, target, headers: request.headers }, policy);
    // A connection that is kept alive would go on being served after close().
    if (draining) headers.push('Connection', 'close');
    if (method === 'OPTIONS' && refusal?.status !== 413) return void response.writeHead(204, headers).end();
    if (refusal !== null) {
      options.onHttpRefusal?.(refusal.status);
      return refuse(response, refusal.status, headers, refusal.message, 'BAD_USER_INPUT');
    }
    if (request.headers['transfer-encoding'] !== undefined) {
      // Of a body in chunks only its reader knows that it is too long.
      response.on('finish', () => response.statusCode === 413 && options.onHttpRefusal?.(413));
    }
    // Health is told whatever the load.
    if (!/^\/(health|ready)(\?|$)/.test(target)) {
      const entered = load.enter(request);
      if (typeof entered === 'string') {
        options.onShed?.(entered);
        headers.push('Retry-After', '1');
        const message = `bankql has too much to do. ${requestSentNothing}`;
        return refuse(response, 503, headers, message, 'OVERLOADED', { retryAfter: 1 });
      }
      response.on('close', entered);
    }
    duringRequest(requestId, () => graphql.listen(request, response, headers));
  });
  return {
    url: listening.url,
    get inFlight() {
      return load.inFlight;
    },
    replacePersisted(persisted) {
      graphql = createGraphQL({ ...graphqlOptions, persisted });
    },
    async close() {
      draining = true;
      await delay(options.drainDelayMs ?? 0);
      await listening.close();
      load.close();
    },
  };
}

/** Answers without reading the request's body. */
function refuse(
  response: ServerResponse,
  status: number,
  headers: Verdict['headers'],
  message: string,
  code: ErrorCode,
  more = {},
): void {
  headers.push('Content-Type', 'application/json; charset=utf-8');
  if (!headers.includes('Connection')) headers.push('Connection', 'close');
  response.writeHead(status, headers);
  const extensions = { code, retryable: errorCodes[code].retryable, ...more };
  response.end(JSON.stringify({ errors: [{ message, extensions }] }));
}

/** A client that sends its headers or its body slower than this is cut off, in milliseconds. */
const slowestRequestMs = 10_000;
/** Longer than a load balancer keeps an idle connection, so that it is the one who closes it. */
const keepAliveMs = 65_000;
/** A client that does not read its answer holds the process no longer than this. */
const longestDrainMs = 30_000;

/**
 * An HTTP server that listens.
 * Errors: what `listen` fails with, such as EADDRINUSE.
 */
export async function listen(
  host: string,
  port: number,
  listener: RequestListener,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server: Server = createServer(
    {
      headersTimeout: slowestRequestMs,
      requestTimeout: slowestRequestMs,
      // How often Node looks: by default every 30 s, whatever the two above say.
      connectionsCheckingInterval: 500,
      keepAliveTimeout: keepAliveMs,
      ServerResponse: Answer,
    },
    (request, response) => {
      const { socket } = request;
      const connection = connections.get(socket) ?? { underWay: 0 };
      connection.underWay++;
      response.on('close', () => {
        connection.underWay--;
        if (closing && connection.underWay === 0) socket.destroySoon();
      });
      listener(request, response);
    },
  );
  // Node takes a connection for idle once its answer is handed over, also while it is still being written.
  const connections = new Map<Socket, { underWay: number }>();
  let closing = false;
  server.closeIdleConnections = () => {};
  server.on('connection', (socket) => {
    connections.set(socket, { underWay: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        closing = true;
        const last = setTimeout(() => server.closeAllConnections(), longestDrainMs);
        server.close(() => {
          clearTimeout(last);
          resolve();
        });
        for (const [socket, { underWay }] of connections) if (underWay === 0) socket.destroy();
      }),
  };
}
