import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorCodes } from '../bank/error.ts';
import { createGraphQL, type GraphQLOptions } from './graphql.ts';
import { createLoadGuard, type LoadLimits, type Shed } from './load.ts';

export interface ServerOptions extends GraphQLOptions {
  readonly host: string;
  readonly port: number;
  readonly load: LoadLimits;
  /** Is told of every request that is not accepted; it must not throw. */
  readonly onShed?: (why: Shed) => void;
}

export interface RunningServer {
  readonly url: string;
  /** How many GraphQL requests are under way. */
  readonly inFlight: number;
  /** Lets what is under way end, and serves nothing new. */
  close(): Promise<void>;
}

/** Serves the endpoint. Errors: what `listen` fails with, such as EADDRINUSE. */
export async function serve(options: ServerOptions): Promise<RunningServer> {
  let draining = false;
  const graphql = createGraphQL({
    ...options,
    isReady: () => !draining && (options.isReady?.() ?? true),
  });
  const load = createLoadGuard(options.load);
  const listening = await listen(options.host, options.port, (request, response) => {
    // A connection that is kept alive would go on being served after close().
    if (draining) response.setHeader('Connection', 'close');
    // Health is told whatever the load.
    if (request.url?.startsWith('/graphql')) {
      const entered = load.enter(request);
      if (typeof entered === 'string') {
        options.onShed?.(entered);
        return refuse(response);
      }
      response.once('close', entered);
    }
    void graphql(request, response);
  });
  return {
    url: listening.url,
    get inFlight() {
      return load.inFlight;
    },
    async close() {
      draining = true;
      await listening.close();
      load.close();
    },
  };
}

/** Says at once that there is too much to do. */
function refuse(response: ServerResponse): void {
  const extensions = { code: 'OVERLOADED', retryable: errorCodes.OVERLOADED.retryable, retryAfter: 1 };
  response.writeHead(503, { 'Content-Type': 'application/json; charset=utf-8', 'Retry-After': '1' });
  response.end(
    JSON.stringify({
      errors: [
        { message: 'bankql has too much to do; nothing was sent. Try again in a moment.', extensions },
      ],
    }),
  );
}

/**
 * An HTTP server that listens.
 * Errors: what `listen` fails with, such as EADDRINUSE.
 */
export async function listen(
  host: string,
  port: number,
  listener: RequestListener,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        // A connection that is kept alive becomes idle when its answer is out, and is closed then.
        const sweep = setInterval(() => server.closeIdleConnections(), 50);
        server.close(() => {
          clearInterval(sweep);
          resolve();
        });
      }),
  };
}
