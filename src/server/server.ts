import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import { createYoga, type Plugin, useReadinessCheck } from 'graphql-yoga';
import type { Logger } from 'pino';
import type { BankClient } from '../bank/client.ts';
import type { Payments } from '../payments/payments.ts';
import { type Context, type Defaults, Reader } from '../schema/context.ts';
import { schema } from '../schema/schema.ts';
import { readCredentials } from './credentials.ts';
import { graphiqlOptions } from './graphiql.ts';
import { maskError } from './mask-error.ts';
import { useIntrospectionGuard } from './use-introspection-guard.ts';
import { useOnePayment } from './use-one-payment.ts';

export interface GraphQLOptions {
  readonly bank: BankClient;
  readonly payments: Payments;
  readonly defaults: Defaults;
  /** The operator's subscription key, which stands for every caller's; null where callers bring their own. */
  readonly subscriptionKey: string | null;
  readonly introspection: boolean;
  /** The headers that GraphiQL's tabs send, null for none; undefined switches GraphiQL off. */
  readonly graphiqlHeaders?: Readonly<Record<string, string>> | null | undefined;
  readonly logger: Logger;
  /** False while the process is about to end: /ready then answers 503. */
  readonly isReady?: () => boolean;
}

interface NodeContext {
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
}

/** The endpoint as a Fetch handler (`fetch`), which is a request listener for node:http as well. */
export function createGraphQL(options: GraphQLOptions) {
  const { bank, payments, defaults, subscriptionKey, logger } = options;
  const unexpected = (error: unknown) => logger.error({ err: error }, 'unexpected error');

  return createYoga<NodeContext, Context>({
    schema,
    graphqlEndpoint: '/graphql',
    healthCheckEndpoint: '/health',
    landingPage: false,
    graphiql: options.graphiqlHeaders === undefined ? false : graphiqlOptions(options.graphiqlHeaders),
    renderGraphiQL,
    // No page of another origin may call, no batches, no uploads: nothing here needs them.
    cors: false,
    batching: false,
    multipart: false,
    // Original errors may hold secrets: what is logged goes through `unexpected`.
    logging: false,
    maskedErrors: { maskError: (error) => maskError(error, unexpected), isDev: false },
    plugins: [
      useReadinessCheck({ endpoint: '/ready', check: () => options.isReady?.() ?? true }),
      useOnePayment(),
      ...(options.introspection ? [] : [useIntrospectionGuard()]),
    ] satisfies Plugin[],
    context: ({ request, req }): Context => {
      const given = readCredentials(request, req);
      const credentials = subscriptionKey === null ? given : { ...given, subscriptionKey };
      return { credentials, payments, defaults, reader: new Reader(bank, credentials, request.signal) };
    },
  });
}

export interface RunningServer {
  readonly url: string;
  /** Lets what is under way end, and serves nothing new. */
  close(): Promise<void>;
}

/** Serves the endpoint. Errors: what `listen` fails with, such as EADDRINUSE. */
export async function serve(
  options: GraphQLOptions,
  { host, port }: { host: string; port: number },
): Promise<RunningServer> {
  let draining = false;
  const graphql = createGraphQL({
    ...options,
    isReady: () => !draining && (options.isReady?.() ?? true),
  });
  const server: Server = createServer((request, response) => {
    // A connection that is kept alive would go on being served after close().
    if (draining) response.setHeader('Connection', 'close');
    void graphql(request, response);
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
        draining = true;
        // A connection that is kept alive becomes idle when its answer is out, and is closed then.
        const sweep = setInterval(() => server.closeIdleConnections(), 50);
        server.close(() => {
          clearInterval(sweep);
          resolve();
        });
      }),
  };
}
