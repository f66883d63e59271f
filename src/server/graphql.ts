import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import { createYoga, useReadinessCheck } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import type { Payments } from '../payments/payments.ts';
import { type Context, type Defaults, type OperationLimits, Reader } from '../schema/context.ts';
import { schema } from '../schema/schema.ts';
import { identifyByHeaders } from './credentials.ts';
import { type DocumentRules, documentRules } from './document-rules.ts';
import { graphiqlOptions } from './graphiql.ts';
import { maskError } from './mask-error.ts';
import type { PersistedDocuments } from './persisted-manifest.ts';
import type { RateLimiter } from './rate-limit.ts';
import { useCallPlan } from './use-call-plan.ts';
import { type Identify, type NodeContext, useCaller } from './use-caller.ts';
import { usePersistedDocuments } from './use-persisted-documents.ts';
import { useStaleNotice } from './use-stale-notice.ts';
import { useStrictJson } from './use-strict-json.ts';

export interface GraphQLOptions extends DocumentRules {
  /** Both with `rateLimiter` around them, where there is one: see rate-limit-bank.ts. */
  readonly bank: BankClient;
  readonly payments: Payments;
  readonly rateLimiter?: RateLimiter | null;
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  /** The longest request body, in bytes. */
  readonly maxRequestBytes: number;
  /** The operator's subscription key, which stands for every caller's; null where callers bring their own. */
  readonly subscriptionKey: string | null;
  /** Finds out who calls, such as identity.ts; where it is left out, the request's headers say it. */
  readonly identify?: Identify | undefined;
  /** Documents that are asked for by their ids, and whether nothing else is served; null for none. */
  readonly persisted?: { readonly documents: PersistedDocuments; readonly only: boolean } | null;
  /** The headers that GraphiQL's tabs send, null for none; undefined switches GraphiQL off. */
  readonly graphiqlHeaders?: Readonly<Record<string, string>> | null | undefined;
  readonly logger: Logger;
  /** False while the process is about to end: /ready then answers 503. */
  readonly isReady?: () => boolean;
}

/**
 * How much text of documents is kept parsed, in characters. Parsed, a document takes 75 to 210 bytes for each: this is 20
 * to 55 MB.
 */
const documentCacheSize = 256 * 1024;

function documentCache<T extends object>() {
  return new LRUCache<string, T>({
    maxSize: documentCacheSize,
    sizeCalculation: (_parsed, text) => text.length + 1,
  });
}

/** The endpoint as a Fetch handler (`fetch`), which is a request listener for node:http as well. */
export function createGraphQL(options: GraphQLOptions) {
  const { bank, payments, defaults, limits, persisted = null, rateLimiter = null, logger } = options;
  const { identify = identifyByHeaders(options.subscriptionKey) } = options;
  const unexpected = (error: unknown) => logger.error({ err: error }, 'unexpected error');
  const callers = new WeakMap<Request, Credentials>();

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
      useCaller({ identify, callers, rateLimiter, unexpected }),
      ...(persisted === null ? [] : [usePersistedDocuments(persisted.documents, persisted.only)]),
      useStrictJson(),
      ...documentRules(options),
      useCallPlan({ defaults, limits }),
      useStaleNotice(),
    ],
    context: ({ request }): Context => {
      const credentials = callers.get(request);
      if (credentials === undefined) throw new Error('a request reached its operation without a caller');
      return {
        credentials,
        payments,
        defaults,
        reader: new Reader({ bank, credentials, limits, signal: request.signal }),
      };
    },
  });
}
