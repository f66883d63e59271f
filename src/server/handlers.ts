import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { EngineRequest } from '../engine/context.ts';
import { explainHeader } from '../engine/context.ts';
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type EngineResult,
  isIncrementalResult,
} from '../engine/engine.ts';
import {
  type Authenticate,
  type AuthenticateWithinLimit,
  identify,
  withRateLimit,
} from './auth/authenticate.ts';
import { authenticateByHeaders } from './auth/header-credentials.ts';
import type { ConnectionAwareResponse } from './connection.ts';
import { createGraphiQLHandler, type GraphiQLOptions } from './graphiql/page.ts';
import {
  type IncrementalStream,
  incrementalStreamOf,
  sendIncremental,
  streamOf,
} from './incremental-response.ts';
import type { RateLimiter } from './rate-limit/rate-limiter.ts';
import {
  bufferedBody,
  ClientDisconnected,
  fromFetchRequest,
  fromNodeRequest,
  type IncomingRequest,
  inflateBody,
  isGzip,
  parseBodyParams,
  readBody,
} from './request.ts';
import { currentActivity } from './request-scope.ts';
import {
  createAnswerSender,
  createResultSerializer,
  headerPairs,
  type MediaType,
  negotiateMediaType,
  type SendAnswer,
  type SendOptions,
  type SerializeResult,
  sendResponse,
} from './response.ts';
import { createYogaHandler, type YogaHandlerOptions } from './yoga-handler.ts';

export interface GraphQLHandlerOptions {
  readonly engine: Engine;
  readonly authenticate: AuthenticateWithinLimit;
  readonly serializeResult: SerializeResult;
  readonly sendAnswer: SendAnswer;
  /** The longest request body, in bytes. */
  readonly maxRequestBytes: number;
}

/**
 * The way of nearly all requests, a POST of JSON to /graphql, straight on node:http: yoga's Fetch objects and hooks cost
 * more than the rest of a request. It answers null, and does nothing, where yoga has to do it: another path or method,
 * or a client that takes no JSON.
 */
export function createGraphQLHandler(options: GraphQLHandlerOptions) {
  return (
    request: IncomingMessage,
    response: ConnectionAwareResponse,
    headers: Headers,
    incoming: IncomingRequest,
  ): Promise<void> | null => {
    const { method, url = '' } = request;
    if (method !== 'POST' || !(url === '/graphql' || url.startsWith('/graphql?'))) return null;
    const { accept } = request.headers;
    const [mediaType, stream] = [negotiateMediaType(accept), incrementalStreamOf(accept)];
    if (mediaType === null && stream === null) return null;
    return serve({ request, incoming, response, mediaType, stream, headers }, options);
  };
}

/** Headers that every answer bears, names and values in turn. */
type Headers = readonly string[];

interface PostRequest {
  readonly request: IncomingMessage;
  readonly incoming: IncomingRequest;
  readonly response: ConnectionAwareResponse;
  /** What it takes one result as; null if it takes only a stream. */
  readonly mediaType: MediaType | null;
  /** What it takes several results as; null if it takes only one. */
  readonly stream: IncrementalStream | null;
  readonly headers: Headers;
}

async function serve(
  { request, incoming, response, mediaType: wanted, stream, headers }: PostRequest,
  { engine, authenticate, serializeResult, sendAnswer, maxRequestBytes }: GraphQLHandlerOptions,
): Promise<void> {
  let result: EngineResult;
  const mediaType = wanted ?? 'application/graphql-response+json';
  const activity = currentActivity();
  try {
    const credentials = await identify(incoming, response, authenticate);
    if (activity !== null) activity.credentials = credentials;
    let body: Uint8Array =
      bufferedBody(request, maxRequestBytes) ?? (await readBody(request, maxRequestBytes, response));
    response.admit();
    if (isGzip(request.headers['content-encoding'])) body = await inflateBody(body, maxRequestBytes);
    const params = parseBodyParams(body);
    const asked: EngineRequest = {
      credentials,
      signal: () => response.signal,
      idempotencyKeyHeader: () => incoming.header('idempotency-key'),
      explain: explainOf(request),
      holder: response,
      observation: activity,
    };
    const answered =
      stream === null
        ? engine.execute(params, asked)
        : engine.executeIncrementally(params, asked, stream.form);
    result = answered instanceof Promise ? await answered : answered;
  } catch (error) {
    if (error instanceof ClientDisconnected) return;
    result = engine.toErrorResult(error);
  }
  if (isIncrementalResult(result)) {
    // Only who takes a stream gets one.
    const taken = stream as IncrementalStream;
    return sendIncremental(response, result, { stream: taken, headers });
  }
  const answer = serializeResult(result, mediaType);
  const sent = wanted === null && stream !== null ? streamOf(answer, stream.type) : answer;
  const sending = sendAnswer(request, response, sent, headers);
  if (sending !== null) await sending;
}

/** What the request's header asks to be explained. */
export function explainOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const given = headers[explainHeader];
  return Array.isArray(given) ? given.join() : given;
}

export interface GraphQLServerOptions
  extends Omit<EngineOptions, 'unexpected'>,
    Omit<SendOptions, 'engine'>,
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
  /** Whether a proxy vouches for the headers that say who calls. */
  readonly areHeadersProven?: boolean;
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
    response: ConnectionAwareResponse,
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
    areHeadersProven = false,
  } = options;
  const engine = createEngine({
    ...options,
    unexpected: (error) => logger.error({ err: error }, 'unexpected error'),
  });
  const answering = {
    engine,
    authenticate: withRateLimit(
      authenticate ?? authenticateByHeaders(subscriptionKey, areHeadersProven),
      rateLimiter,
    ),
    serializeResult: createResultSerializer(engine),
    sendAnswer: createAnswerSender({ ...options, engine }),
  };
  const yoga = createYogaHandler({ ...options, ...answering, isReady });
  const post = createGraphQLHandler({ ...options, ...answering });
  const graphiql =
    options.graphiql === undefined
      ? null
      : createGraphiQLHandler(options.graphiql, (options.explain ?? null) !== null);
  return {
    listen(request, response, headers, incoming = fromNodeRequest(request, response.peer)) {
      // The answer to a GET; node:http leaves out its body, as it has kept the method for itself.
      if (request.method === 'HEAD') request.method = 'GET';
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
const sendPage = (
  page: Response,
  response: ConnectionAwareResponse,
  headers: readonly string[],
): Promise<void> =>
  sendResponse(
    page,
    response,
    headerPairs(headers)
      .filter(([name]) => !page.headers.has(name))
      .flat(),
  );
