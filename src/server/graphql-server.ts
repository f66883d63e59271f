import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { createEngine, type EngineOptions } from '../engine/engine.ts';
import { type Authenticate, withRateLimit } from './auth/authenticate.ts';
import { authenticateByHeaders } from './auth/header-credentials.ts';
import { fromFetchRequest, fromNodeRequest, type IncomingRequest } from './auth/incoming-request.ts';
import { createGraphiQLHandler } from './graphiql/handler.ts';
import type { GraphiQLOptions } from './graphiql/page.ts';
import { createGraphQLHandler } from './graphql-handler.ts';
import { headerPairs } from './http-response.ts';
import type { RateLimiter } from './rate-limit/rate-limiter.ts';
import { createAnswerSender, type SendOptions } from './send-answer.ts';
import { sendResponse } from './send-response.ts';
import { createPendingLimit, createResultSerializer, type ReserveRoom } from './serialize-result.ts';
import { createYogaHandler, type YogaHandlerOptions } from './yoga-handler.ts';

export interface GraphQLServerOptions
  extends Omit<EngineOptions, 'unexpected'>,
    Omit<SendOptions, 'limitPending'>,
    Pick<YogaHandlerOptions, 'maxRequestBytes'> {
  /** GraphiQL for browsers, which is off where this is left out. */
  readonly graphiql?: GraphiQLOptions | undefined;
  /** `bank` and `payments` have it around them too, where there is one: see rate-limited-bank.ts. */
  readonly rateLimiter?: RateLimiter | null;
  /** The operator's subscription key, which stands for every caller's; null where callers bring their own. */
  readonly subscriptionKey: string | null;
  /** Finds out who calls, such as jwt.ts; where it is left out, the request's headers say it. */
  readonly authenticate?: Authenticate | undefined;
  readonly logger: Logger;
  /** False while the process should get no traffic, because it is about to end, say: /ready then answers 503. */
  readonly isReady?: () => boolean | Promise<boolean>;
  /** Always true, where it is left out. */
  readonly reserveRoom?: ReserveRoom;
  /** False: all goes by yoga's handler. Tests of HTTP over a socket are run with each. */
  readonly hasGraphQLHandler?: boolean;
}

export interface GraphQLServer {
  /**
   * The endpoint for node:http; `headers`, names and values in turn, are those that its answer bears; `incoming` is the
   * request as somebody has looked at it already. Errors: what nobody expects, where the answer may have begun.
   */
  listen(
    request: IncomingMessage,
    response: ServerResponse,
    headers: readonly string[],
    incoming?: IncomingRequest,
  ): Promise<void>;
  /** The same as a Fetch handler, by yoga's handler. */
  fetch(request: Request): Promise<Response>;
}

/** One engine, and the handlers to it. */
export function createGraphQLServer(options: GraphQLServerOptions): GraphQLServer {
  const {
    authenticate,
    subscriptionKey,
    rateLimiter = null,
    logger,
    isReady = () => true,
    reserveRoom = () => true,
  } = options;
  const engine = createEngine({
    ...options,
    unexpected: (error) => logger.error({ err: error }, 'unexpected error'),
  });
  const answering = {
    engine,
    authenticate: withRateLimit(authenticate ?? authenticateByHeaders(subscriptionKey), rateLimiter),
    serializeResult: createResultSerializer(engine),
    sendAnswer: createAnswerSender({ ...options, limitPending: createPendingLimit(engine, reserveRoom) }),
    reserveRoom,
  };
  const yoga = createYogaHandler({ ...options, ...answering, isReady });
  const post = createGraphQLHandler({ ...options, ...answering });
  const graphiql =
    options.graphiql === undefined
      ? null
      : createGraphiQLHandler(options.graphiql, options.explains ?? false);
  return {
    listen(request, response, headers, incoming = fromNodeRequest(request)) {
      const { method = '', url = '' } = request;
      const page = graphiql?.({ method, path: pathOf(url), header: incoming.header }) ?? null;
      if (page !== null) return page.then((answer) => sendPage(answer, response, headers));
      const byPost = options.hasGraphQLHandler === false ? null : post(request, response, headers, incoming);
      return byPost ?? yoga.listen(request, response, headers, incoming);
    },
    async fetch(request) {
      const { method, url } = request;
      const { header } = fromFetchRequest(request);
      return (await graphiql?.({ method, path: new URL(url).pathname, header })) ?? yoga.fetch(request);
    },
  };
}

/** The path of a request's target. */
const pathOf = (target: string): string => target.split('?', 1)[0] ?? '';

/** A page says for itself how long it may be kept, and what it may run. */
const sendPage = (page: Response, response: ServerResponse, headers: readonly string[]): Promise<void> =>
  sendResponse(
    page,
    response,
    headerPairs(headers)
      .filter(([name]) => !page.headers.has(name))
      .flat(),
  );
