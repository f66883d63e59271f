import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type FetchAPI, type Plugin, useReadinessCheck } from 'graphql-yoga';
import type { Caller } from '../bank/credentials.ts';
import { explainHeader } from '../engine/context.ts';
import type { Engine } from '../engine/engine.ts';
import { RequestError } from '../engine/errors.ts';
import { schema } from '../schema/schema.ts';
import type { Identify } from './auth/authenticate.ts';
import type { ConnectionAwareResponse } from './connection.ts';
import { streamOf, streamTypeOf } from './incremental-response.ts';
import {
  fromFetchRequest,
  type IncomingRequest,
  inflateBody,
  isGzip,
  isJsonType,
  parseBodyParams,
  parseUrlParams,
} from './request.ts';
import { currentActivity } from './request-scope.ts';
import type { SendAnswer, SerializeResult } from './response.ts';
import {
  type GraphQLHttpResponse,
  headerPairs,
  isHttpExtension,
  negotiateMediaType,
  sendResponse,
} from './response.ts';

/** Yoga's context in addition to the request, if node:http serves it. */
interface NodeContext {
  readonly req?: IncomingMessage;
  readonly res?: ConnectionAwareResponse;
  readonly incoming?: IncomingRequest;
}

export interface YogaHandlerOptions {
  readonly engine: Pick<Engine, 'parseParams' | 'executeParams' | 'toErrorResult'>;
  readonly identify: Identify;
  readonly serializeResult: SerializeResult;
  readonly sendAnswer: SendAnswer;
  /** The longest request body, in bytes. */
  readonly maxRequestBytes: number;
  /** False while the process should get no traffic: /ready then answers 503. */
  readonly isReady: () => boolean | Promise<boolean>;
}

/** All that HTTP asks of a GraphQL server: GET, health, event streams, what is not found. */
export function createYogaHandler(options: YogaHandlerOptions) {
  /** Rendered answers are sent as they are: in a Response they would be decoded and encoded once more. */
  const rendered = new WeakMap<Response, GraphQLHttpResponse>();
  const yoga = createServer(options, rendered);
  return {
    fetch: async (request: Request): Promise<Response> => yoga.fetch(request),
    /**
     * Yoga's own listener would write errors to the console, and leave a client waiting whose answer failed half-way.
     * Errors: what nobody expects, where the answer may have begun.
     */
    async listen(
      req: IncomingMessage,
      res: ConnectionAwareResponse,
      headers: readonly string[],
      incoming: IncomingRequest,
    ): Promise<void> {
      const answer = await yoga.handleNodeRequestAndResponse(req, res, { req, res, incoming });
      const whole = rendered.get(answer);
      if (whole === undefined) await sendResponse(answer, res, headers);
      else await options.sendAnswer(req, res, whole, headers);
    },
  };
}

type Rendered = WeakMap<Response, GraphQLHttpResponse>;

function createServer(options: YogaHandlerOptions, rendered: Rendered) {
  const { engine, isReady, maxRequestBytes } = options;
  return createYoga<NodeContext>({
    schema,
    graphqlEndpoint: '/graphql',
    healthCheckEndpoint: '/health',
    landingPage: false,
    graphiql: false,
    // No page of another origin may call, no batches, no uploads: nothing here needs them.
    cors: false,
    batching: false,
    multipart: false,
    maxRequestBodySize: maxRequestBytes,
    // The engine does these, for every handler.
    parserAndValidationCache: false,
    logging: false,
    maskedErrors: {
      maskError: (error) =>
        engine.toErrorResult(toRequestError(error, maxRequestBytes)).errors?.[0] ?? new Error('refused'),
      isDev: false,
    },
    plugins: [useReadinessCheck({ endpoint: '/ready', check: isReady }), useEngine(options, rendered)],
  });
}

/** What yoga itself refuses, with the status that it gives it: a method, a body that is too long. */
function toRequestError(error: unknown, maxRequestBytes: number): unknown {
  if (error instanceof RequestError || !(error instanceof GraphQLError)) return error;
  const { http } = error.extensions;
  if (!isHttpExtension(http)) return error;
  const message = http.status === 413 ? `The body is longer than ${maxRequestBytes} bytes.` : error.message;
  return new RequestError('BAD_USER_INPUT', message, { http });
}

const notAcceptable = () =>
  new RequestError('BAD_USER_INPUT', 'An answer is JSON in UTF-8: accept application/json.', {
    http: { status: 406 },
  });

/**
 * Puts the engine in the place of yoga's own parsing, validation and execution. Plugins before this one answer requests
 * that need no caller (/health, /ready).
 */
function useEngine(
  { engine, identify, serializeResult, maxRequestBytes }: Omit<YogaHandlerOptions, 'sendAnswer' | 'isReady'>,
  rendered: Rendered,
): Plugin<object, NodeContext> {
  const responseOf = (answer: GraphQLHttpResponse, { Response }: Pick<FetchAPI, 'Response'>) => {
    const { status, headers, body } = answer;
    const response = new Response(body, { status, headers: headerPairs(headers) });
    rendered.set(response, answer);
    return response;
  };
  const callers = new WeakMap<Request, Caller>();
  const bodyOf = async (request: Request) => {
    const body = new Uint8Array(await request.arrayBuffer());
    return isGzip(request.headers.get('content-encoding')) ? inflateBody(body, maxRequestBytes) : body;
  };
  const acceptOf = (request: Request) => request.headers.get('accept') ?? undefined;
  const answerTo = (request: Request) => negotiateMediaType(acceptOf(request));
  return {
    async onRequest({ request, serverContext: { incoming, res }, endResponse, fetchAPI }) {
      try {
        const credentials = await identify(
          () => incoming ?? fromFetchRequest(request),
          res === undefined ? null : { response: res, head: null },
        );
        callers.set(request, credentials);
        const activity = currentActivity();
        if (activity !== null) activity.credentials = credentials;
      } catch (error) {
        const mediaType = answerTo(request) ?? 'application/json';
        endResponse(responseOf(serializeResult(engine.toErrorResult(error), mediaType), fetchAPI));
      }
    },
    onRequestParse({ request, requestParser, setRequestParser, serverContext, endResponse, fetchAPI }) {
      // Before anything is done: yoga looks for a way to answer when there is an answer.
      if (answerTo(request) === null && streamTypeOf(acceptOf(request)) === null) {
        endResponse(
          responseOf(serializeResult(engine.toErrorResult(notAcceptable()), 'application/json'), fetchAPI),
        );
        return;
      }
      // Yoga knows the types of a POST as they are mostly written: of another case it takes none.
      const isPostOfJson = request.method === 'POST' && isJsonType(request.headers.get('content-type'));
      if (requestParser === undefined && !isPostOfJson) return;
      // Yoga passes on a request whose body ends at the point at which it becomes too long.
      setRequestParser(async (bounded) => {
        const body = request.method === 'GET' ? null : await bodyOf(bounded);
        serverContext.res?.admit();
        const asked = body === null ? parseUrlParams(request.url) : parseBodyParams(body);
        const { operationName, extensions, ...params } = engine.parseParams(asked);
        return {
          ...params,
          operationName: operationName ?? undefined,
          extensions: extensions ?? undefined,
        };
      });
    },
    onParams({ request, setParamsHandler, context: { res, incoming = fromFetchRequest(request) } }) {
      const credentials = callers.get(request);
      setParamsHandler(async ({ params }) => {
        const { query = '', operationName = null, variables = {}, extensions = null } = params;
        if (credentials === undefined) throw new Error('a request reached its operation without a caller');
        return engine.executeParams(
          { query, operationName, variables, extensions },
          {
            credentials,
            signal: () => res?.signal ?? request.signal,
            idempotencyKeyHeader: () => incoming.header('idempotency-key'),
            isReadOnly: request.method === 'GET',
            explain: request.headers.get(explainHeader) ?? undefined,
            holder: res,
            observation: currentActivity(),
          },
        );
      });
    },
    onResultProcess({ request, result, setResultProcessor }) {
      // Yoga streams what comes bit by bit; what is whole is made an answer here.
      if (Array.isArray(result) || Symbol.asyncIterator in result) return;
      const mediaType = answerTo(request);
      const stream = mediaType === null ? streamTypeOf(acceptOf(request)) : null;
      const answer = serializeResult(result, mediaType ?? 'application/graphql-response+json');
      const sent = stream === null ? answer : streamOf(answer, stream);
      setResultProcessor((_result, fetchAPI) => responseOf(sent, fetchAPI), mediaType ?? stream ?? '*/*');
    },
  };
}
