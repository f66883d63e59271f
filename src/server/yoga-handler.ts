import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type FetchAPI, type Plugin, useReadinessCheck } from 'graphql-yoga';
import type { Caller } from '../bank/credentials.ts';
import type { Engine } from '../engine/engine.ts';
import { RequestError } from '../engine/errors.ts';
import { schema } from '../schema/schema.ts';
import type { Identify } from './auth/authenticate.ts';
import type { ConnectionAwareResponse } from './connection.ts';
import { streamOf, streamTypeOf } from './incremental-response.ts';
import { explainOf, fromNodeRequest, parseUrlParams } from './request.ts';
import { currentActivity } from './request-scope.ts';
import {
  type GraphQLHttpResponse,
  headerPairs,
  isHttpExtension,
  type MediaType,
  negotiateMediaType,
  notAcceptable,
  type SendAnswer,
  type SerializeResult,
} from './response.ts';

/** Yoga's context in addition to the request. */
interface NodeContext {
  readonly req: IncomingMessage;
  readonly res: ConnectionAwareResponse;
  /** Null until it is known. */
  caller: Caller | null;
}

export interface YogaHandlerOptions {
  readonly engine: Pick<Engine, 'parseParams' | 'executeParams' | 'toErrorResult'>;
  readonly identify: Identify;
  readonly serializeResult: SerializeResult;
  readonly sendAnswer: SendAnswer;
  /** False while the process should get no traffic: /ready then answers 503. */
  readonly isReady: () => boolean | Promise<boolean>;
}

/**
 * All that HTTP asks of a GraphQL server besides a POST: GET, health, what is not found.
 * Errors: unexpected ones only; the answer may have begun by then.
 */
export function createYogaHandler(options: YogaHandlerOptions) {
  const { engine, isReady } = options;
  /** What is sent in the place of a Response, in which an answer would be decoded and encoded once more. */
  const rendered: Rendered = new WeakMap();
  const yoga = createYoga<NodeContext>({
    schema,
    graphqlEndpoint: '/graphql',
    healthCheckEndpoint: '/health',
    landingPage: false,
    graphiql: false,
    // No page of another origin may call, no batches, no uploads: nothing here needs them.
    cors: false,
    batching: false,
    multipart: false,
    // The engine does these, for every handler.
    parserAndValidationCache: false,
    logging: false,
    maskedErrors: {
      maskError: (error) => engine.toErrorResult(toRequestError(error)).errors?.[0] ?? new Error('refused'),
      isDev: false,
    },
    plugins: [useReadinessCheck({ endpoint: '/ready', check: isReady }), useEngine(options, rendered)],
  });
  return async (
    req: IncomingMessage,
    res: ConnectionAwareResponse,
    headers: readonly string[],
  ): Promise<void> => {
    // Yoga's own listener would write errors to the console, and leave a client waiting whose answer failed half-way.
    const answer = await yoga.handleNodeRequestAndResponse(req, res, { req, res, caller: null });
    const whole = rendered.get(answer);
    if (whole !== undefined) return void (await options.sendAnswer(req, res, whole, headers));
    // Yoga's own answers are short.
    const body = Buffer.from(await answer.arrayBuffer());
    // The client may have left meanwhile, or its request has given way.
    if (res.destroyed || res.headersSent) return;
    for (const [name, value] of [...answer.headers, ...headerPairs(headers)]) res.setHeader(name, value);
    res.writeHead(answer.status).end(body);
  };
}

type Rendered = WeakMap<Response, GraphQLHttpResponse>;

/** What yoga itself refuses, with the status that it gives it: a method. */
function toRequestError(error: unknown): unknown {
  if (error instanceof RequestError || !(error instanceof GraphQLError)) return error;
  const { http } = error.extensions;
  return isHttpExtension(http) ? new RequestError('BAD_USER_INPUT', error.message, { http }) : error;
}

/**
 * Puts the engine in the place of yoga's own parsing, validation and execution. Plugins before this one answer requests
 * that need no caller (/health, /ready).
 */
function useEngine(
  { engine, identify, serializeResult }: YogaHandlerOptions,
  rendered: Rendered,
): Plugin<object, NodeContext> {
  const responseOf = (answer: GraphQLHttpResponse, { Response }: Pick<FetchAPI, 'Response'>) => {
    const response = new Response();
    rendered.set(response, answer);
    return response;
  };
  const refusal = (error: unknown, mediaType: MediaType, fetchAPI: FetchAPI) =>
    responseOf(serializeResult(engine.toErrorResult(error), mediaType), fetchAPI);
  return {
    async onRequest({ serverContext, endResponse, fetchAPI }) {
      const { req, res } = serverContext;
      try {
        const overSocket = { response: res, head: null };
        serverContext.caller = await identify(() => fromNodeRequest(req, res.peer), overSocket);
        const activity = currentActivity();
        if (activity !== null) activity.credentials = serverContext.caller;
      } catch (error) {
        const mediaType = negotiateMediaType(req.headers.accept) ?? 'application/json';
        endResponse(refusal(error, mediaType, fetchAPI));
      }
    },
    onRequestParse({ serverContext: { req, res }, setRequestParser, endResponse, fetchAPI }) {
      const { accept } = req.headers;
      // Before anything is done: yoga looks for a way to answer when there is an answer.
      if (negotiateMediaType(accept) === null && streamTypeOf(accept) === null)
        return endResponse(refusal(notAcceptable(), 'application/json', fetchAPI));
      setRequestParser(() => {
        res.admit();
        const { operationName, extensions, ...params } = engine.parseParams(parseUrlParams(req.url ?? ''));
        return {
          ...params,
          operationName: operationName ?? undefined,
          extensions: extensions ?? undefined,
        };
      });
    },
    onParams({ setParamsHandler, context: { req, res, caller } }) {
      setParamsHandler(async ({ params }) => {
        const { query = '', operationName = null, variables = {}, extensions = null } = params;
        if (caller === null) throw new Error('a request reached its operation without a caller');
        return engine.executeParams(
          { query, operationName, variables, extensions },
          {
            credentials: caller,
            signal: () => res.signal,
            isReadOnly: true,
            explain: explainOf(req.headers),
            holder: res,
            observation: currentActivity(),
          },
        );
      });
    },
    onResultProcess({ result, serverContext: { req }, setResultProcessor }) {
      // The engine gives one whole result.
      if (Array.isArray(result) || Symbol.asyncIterator in result) return;
      const { accept } = req.headers;
      const mediaType = negotiateMediaType(accept);
      const stream = mediaType === null ? streamTypeOf(accept) : null;
      const answer = serializeResult(result, mediaType ?? 'application/graphql-response+json');
      const sent = stream === null ? answer : streamOf(answer, stream);
      setResultProcessor((_result, fetchAPI) => responseOf(sent, fetchAPI), mediaType ?? stream ?? '*/*');
    },
  };
}
