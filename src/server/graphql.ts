import type { IncomingMessage, ServerResponse } from 'node:http';
import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import { createYoga, useReadinessCheck } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { BankClient } from '../bank/client.ts';
import type { Payments } from '../payments/payments.ts';
import { type Context, type Defaults, type OperationLimits, Reader } from '../schema/context.ts';
import { schema } from '../schema/schema.ts';
import { readCredentials } from './credentials.ts';
import { graphiqlOptions } from './graphiql.ts';
import { maskError } from './mask-error.ts';
import { type DocumentLimits, useDocumentLimits } from './use-document-limits.ts';
import { useIntrospectionGuard } from './use-introspection-guard.ts';
import { useOnePayment } from './use-one-payment.ts';
import { useStaleNotice } from './use-stale-notice.ts';

export interface GraphQLOptions {
  readonly bank: BankClient;
  readonly payments: Payments;
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  readonly documentLimits: DocumentLimits;
  /** The longest request body, in bytes. */
  readonly maxRequestBytes: number;
  /** The operator's subscription key, which stands for every caller's; null where callers bring their own. */
  readonly subscriptionKey: string | null;
  readonly introspection: boolean;
  /** The headers that GraphiQL's tabs send, null for none; undefined switches GraphiQL off. */
  readonly graphiqlHeaders?: Readonly<Record<string, string>> | null | undefined;
  readonly logger: Logger;
  /** False while the process is about to end: /ready then answers 503. */
  readonly isReady?: () => boolean;
}

/** How much text of documents is kept parsed, in characters. */
const documentCacheSize = 4 * 1024 * 1024;

function documentCache<T extends object>() {
  return new LRUCache<string, T>({
    maxSize: documentCacheSize,
    sizeCalculation: (_parsed, text) => text.length + 1,
  });
}

interface NodeContext {
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
}

/** The endpoint as a Fetch handler (`fetch`), which is a request listener for node:http as well. */
export function createGraphQL(options: GraphQLOptions) {
  const { bank, payments, defaults, limits, subscriptionKey, logger } = options;
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
    maxRequestBodySize: options.maxRequestBytes,
    // Bounded by their text, not by their number: a thousand documents of 100 kB are 100 MB, parsed several times that.
    parserAndValidationCache: { documentCache: documentCache(), errorCache: documentCache() },
    // Original errors may hold secrets: what is logged goes through `unexpected`.
    logging: false,
    maskedErrors: { maskError: (error) => maskError(error, unexpected), isDev: false },
    plugins: [
      useReadinessCheck({ endpoint: '/ready', check: () => options.isReady?.() ?? true }),
      useDocumentLimits(options.documentLimits, { hideSuggestions: !options.introspection }),
      useOnePayment(),
      useStaleNotice(),
      ...(options.introspection ? [] : [useIntrospectionGuard()]),
    ],
    context: ({ request, req }): Context => {
      const given = readCredentials(request, req);
      const credentials = subscriptionKey === null ? given : { ...given, subscriptionKey };
      return {
        credentials,
        payments,
        defaults,
        reader: new Reader({ bank, credentials, limits, signal: request.signal }),
      };
    },
  });
}
