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
  type KnownHead,
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

const headOf = ({ url = '', headers, rawHeaders }: IncomingMessage, policy: Headers): KnownHead => ({
  target: url,
  rawHeaders,
  hasRequestId: headers['x-request-id'] !== undefined,
  policy: policy.slice(),
  mediaType: negotiateMediaType(headers.accept),
  stream: incrementalStreamOf(headers.accept),
  explain: headers[explainHeader]?.toString(),
  caller: null,
  secrets: [],
});

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
 * One engine, and the endpoint for node:http that answers requests with it. `headers` are those that its answer bears; `known`
 * is given if its connection knows the head. Errors: unexpected ones only; the answer may have begun by then.
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
    head: KnownHead,
    activity: OperationActivity | null,
  ): Promise<void> {
    const { stream } = head;
    const isPost = request.method === 'POST';
    const mediaType =
      head.mediaType ?? (stream === null ? 'application/json' : 'application/graphql-response+json');
    let result: EngineResult;
    try {
      // Only the heads of POSTs are remembered.
      const found = identify(request, response, isPost ? head : null);
      const credentials = found instanceof Promise ? await found : found;
      if (activity !== null) activity.credentials = credentials;
      if (head.mediaType === null && stream === null) throw notAcceptable();
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
        params = parseUrlParams(head.target);
      }
      const asked: EngineRequest = {
        credentials,
        signal: () => response.signal,
        isReadOnly: !isPost,
        explain: head.explain,
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
    const sent = head.mediaType === null && stream !== null ? streamOf(answer, stream.type) : answer;
    sendAnswer(request, response, sent, policy, activity);
  }

  return (
    request: IncomingMessage,
    response: ConnectionAwareResponse,
    headers: Headers,
    known: KnownHead | null = null,
    activity: OperationActivity | null = currentActivity(),
  ): Promise<void> => {
    if (known !== null) return serveOperation(request, response, headers, known, activity);
    // The answer to a GET; node:http leaves out its body, as it has kept the method for itself.
    if (request.method === 'HEAD') request.method = 'GET';
    const page = graphiql?.(request, response, headers) ?? null;
    if (page !== null) return page;
    if (isEndpoint(request.url ?? ''))
      return serveOperation(request, response, headers, headOf(request, headers), activity);
    yoga ??= import('./yoga-handler.ts').then(({ createYogaHandler }) => createYogaHandler(whyNotReady));
    return yoga.then((answerOther) => answerOther(request, response, headers));
  };
}
