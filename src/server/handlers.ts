import type { IncomingMessage } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { Logger } from 'pino';
import { type EngineRequest, explainHeader } from '../engine/context.ts';
import {
  createEngine,
  type EngineOptions,
  type EngineResult,
  isIncrementalResult,
} from '../engine/engine.ts';
import { RequestError } from '../engine/errors.ts';
import { type Authenticate, createIdentify } from './auth/authenticate.ts';
import type { ConnectionAwareResponse } from './connection.ts';
import { createGraphiQLHandler, type GraphiQLOptions } from './graphiql/page.ts';
import { incrementalStreamOf, sendIncremental, streamOf } from './incremental-response.ts';
import type { RateLimiter } from './rate-limit/rate-limiter.ts';
import {
  bufferedBody,
  ClientDisconnected,
  isEndpoint,
  parseBodyParams,
  parseUrlParams,
  readBody,
} from './request.ts';
import { currentActivity, type OperationActivity } from './request-scope.ts';
import {
  createAnswerSender,
  createResultSerializer,
  negotiateMediaType,
  notAcceptable,
  type SendOptions,
} from './response.ts';
import type { WhyNotReady, YogaHandler } from './yoga-handler.ts';

/** Headers that every answer bears, names and values in turn. */
type Headers = readonly string[];

const methodNotAllowed = () =>
  new RequestError('BAD_USER_INPUT', 'GraphQL only supports GET and POST requests.', {
    http: { status: 405, headers: { Allow: 'GET, POST' } },
  });

export interface GraphQLServerOptions extends Omit<EngineOptions, 'unexpected'>, Omit<SendOptions, 'engine'> {
  readonly maxRequestBytes: number;
  readonly graphiql?: GraphiQLOptions | undefined;
  /** `bank` and `payments` are wrapped in it too, if there is one: see rate-limits.ts. */
  readonly rateLimiter?: RateLimiter | null;
  readonly authenticate: Authenticate;
  readonly logger: Logger;
  /** /ready answers 503 with the reason (default: it answers 200). */
  readonly whyNotReady?: WhyNotReady;
}

/**
 * One engine, and the endpoint for node:http that answers requests with it. `headers` are those that its answer bears. Errors: unexpected ones only; the answer may have begun by then.
 */
export function createGraphQLHandler(options: GraphQLServerOptions) {
  const { authenticate, rateLimiter = null, logger, maxRequestBytes } = options;
  const engine = createEngine({
    ...options,
    unexpected: (error) => logger.error({ err: error }, 'unexpected error'),
  });
  const identify = createIdentify(authenticate, rateLimiter);
  const serializeResult = createResultSerializer(engine);
  const sendAnswer = createAnswerSender({ ...options, engine });
  const whyNotReady = options.whyNotReady ?? (() => null);
  /** Loaded with the first health check, which comes before any traffic: without it, the start takes a sixth less time. */
  let yoga: Promise<YogaHandler> | null = null;
  const graphiql =
    options.graphiql === undefined
      ? null
      : createGraphiQLHandler(options.graphiql, (options.explain ?? null) !== null);

  /** A POST has its operation in its body, a GET in its URL, and no other method has one. `policy` are headers of the answer. */
  async function serveOperation(
    request: IncomingMessage,
    response: ConnectionAwareResponse,
    policy: Headers,
    activity: OperationActivity | null,
  ): Promise<void> {
    const { url = '', headers } = request;
    const wanted = negotiateMediaType(headers.accept);
    const stream = incrementalStreamOf(headers.accept);
    const isPost = request.method === 'POST';
    const mediaType = wanted ?? (stream === null ? 'application/json' : 'application/graphql-response+json');
    let result: EngineResult;
    try {
      const found = identify(request, response);
      const credentials = found instanceof Promise ? await found : found;
      if (activity !== null) activity.credentials = credentials;
      if (wanted === null && stream === null) throw notAcceptable();
      let params: unknown;
      if (isPost) {
        // Node hands a request on before it has parsed the body, which nearly always is in the same packet: then it is
        // whole before this iteration of the event loop ends. To listen for its parts would add a quarter to a short request's time.
        if (!request.complete) await new Promise(setImmediate);
        const body =
          bufferedBody(request, maxRequestBytes) ?? (await readBody(request, maxRequestBytes, response));
        response.admit();
        params = parseBodyParams(body);
      } else {
        if (request.method !== 'GET') throw methodNotAllowed();
        response.admit();
        params = parseUrlParams(url);
      }
      const asked: EngineRequest = {
        credentials,
        signal: () => response.signal,
        isReadOnly: !isPost,
        explain: headers[explainHeader]?.toString(),
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
    // Only clients that take a stream get one.
    if (stream !== null && isIncrementalResult(result))
      return sendIncremental(response, result, { stream, headers: policy });
    const answer = serializeResult(result as ExecutionResult, mediaType);
    const sent = wanted === null && stream !== null ? streamOf(answer, stream.type) : answer;
    const sending = sendAnswer(request, response, sent, policy, activity);
    if (sending !== null) await sending;
  }

  return (
    request: IncomingMessage,
    response: ConnectionAwareResponse,
    headers: Headers,
    activity: OperationActivity | null = currentActivity(),
  ): Promise<void> => {
    // The answer to a GET; node:http leaves out its body, as it has kept the method for itself.
    if (request.method === 'HEAD') request.method = 'GET';
    const page = graphiql?.(request, response, headers) ?? null;
    if (page !== null) return page;
    if (isEndpoint(request.url ?? '')) return serveOperation(request, response, headers, activity);
    yoga ??= import('./yoga-handler.ts').then(({ createYogaHandler }) => createYogaHandler(whyNotReady));
    return yoga.then((answerOther) => answerOther(request, response, headers));
  };
}
