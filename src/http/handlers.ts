import type { ExecutionResult } from 'graphql';
import { type Plugin, useReadinessCheck } from 'graphql-yoga';
import type { Logger } from 'pino';
import type { Caller } from '../bank/credentials.ts';
import { mayUseIncremental } from '../graphql/documents.ts';
import { RequestError } from '../graphql/errors.ts';
import { explainHeader } from '../graphql/explain.ts';
import type { OperationActivity } from '../graphql/operation-activity.ts';
import type { OperationRequest } from '../graphql/operation-context.ts';
import type { RequestHolder } from '../graphql/request-holder.ts';
import { createBankqlYoga, type YogaOptions } from '../graphql/yoga.ts';
import type { RateLimiter } from '../load/rate-limiter.ts';
import { acceptedBy, notAcceptable } from './accept.ts';
import { type Authenticate, createIdentify } from './auth/authenticate.ts';
import { type GraphiQLOptions, useGraphiQLPage } from './graphiql/page.ts';
import { ClientDisconnected, type Head, isEndpoint, parseBodyParams, parseUrlParams } from './request.ts';
import { type Answer, createAnswers, headerPairs, type SendOptions } from './response.ts';
import { FetchedRequest, useHttp } from './use-http.ts';

/** Why the process should get no traffic, in a few words; null if it may. */
type WhyNotReady = () => string | null | Promise<string | null>;

export interface GraphQLServerOptions extends Omit<YogaOptions, 'unexpected'>, SendOptions {
  readonly maxRequestBytes: number;
  readonly graphiql?: GraphiQLOptions | undefined;
  /** If set, it also wraps `bank` and `payments`: see rate-limits.ts. */
  readonly rateLimiter?: RateLimiter | null;
  readonly authenticate: Authenticate;
  readonly logger: Logger;
  /** /ready answers 503 with the reason (default: it answers 200). */
  readonly whyNotReady?: WhyNotReady;
}

/** Reads a body, and counts its bytes for the request as they arrive. Errors: RequestError; ClientDisconnected. */
export type BodyReader = () => Promise<Uint8Array>;

/** Answers a request that passed HTTP's rules. Errors: ClientDisconnected; unexpected ones. */
export type AnswerRequest = (
  head: Head,
  read: BodyReader,
  holder: RequestHolder,
  activity: OperationActivity | null,
) => Promise<Answer>;

/** The readiness check for load balancers; /health is yoga's. */
function useReadiness(whyNotReady: WhyNotReady): Plugin {
  return useReadinessCheck({
    endpoint: '/ready',
    async check({ fetchAPI }) {
      const reason = await whyNotReady();
      if (reason === null) return true;
      const headers = { 'Content-Type': 'text/plain; charset=utf-8' };
      return new fetchAPI.Response(`${reason}\n`, { status: 503, headers });
    },
  });
}

/** Whether a request may have several results: its text says so, or its text is not known yet. */
function mayHaveSeveralResults(params: unknown): boolean {
  const query: unknown = Object(params).query;
  return typeof query !== 'string' || query === '' || mayUseIncremental(query);
}

/** Answers requests that HTTP's rules let through (request.ts), for node:http and for Fetch. */
export function createGraphQLHandler(options: GraphQLServerOptions): AnswerRequest {
  const { authenticate, rateLimiter = null, logger, graphiql } = options;
  const { yoga, execute, contextOf, toErrorResult } = createBankqlYoga({
    ...options,
    unexpected: (error) => logger.error({ err: error }, 'unexpected error'),
    httpPlugins: [
      useReadiness(options.whyNotReady ?? (() => null)),
      ...(graphiql === undefined ? [] : [useGraphiQLPage(graphiql, options.explains === true)]),
      useHttp(),
    ],
  });
  const identify = createIdentify(authenticate, rateLimiter);
  const answerOf = createAnswers(options, toErrorResult);

  /** Yoga's answer to a request without operation: health checks, GraphiQL's files, and 404. */
  async function answerPage({ method = 'GET', url = '/', rawHeaders }: Head): Promise<Response> {
    // Yoga would find its paths at the end of the query as well.
    const [path = '/'] = url.split(/[?#]/, 1);
    const { pathname } = URL.parse(path, 'http://bankql') ?? { pathname: '/not-found' };
    // Fetch forbids these methods.
    const known = /^(?:TRACE|TRACK|CONNECT)$/i.test(method) ? 'DELETE' : method;
    return yoga.fetch(
      new Request(`http://bankql${pathname}`, { method: known, headers: headerPairs(rawHeaders) }),
      {} as never,
    );
  }

  /**
   * The answer to a request for GraphQL. A POST of JSON takes the short lane, without Fetch's objects, if its client takes JSON
   * and its operation has one result; yoga answers all others. `read` reads the body once its caller is known.
   * Errors: ClientDisconnected; unexpected ones.
   */
  async function answerOperation(
    head: Head,
    read: BodyReader,
    holder: RequestHolder,
    activity: OperationActivity | null,
  ): Promise<Answer> {
    const { method, url = '', headers } = head;
    const isPost = method === 'POST';
    const accepted = acceptedBy(headers.accept);
    const answering = { mediaType: accepted.mediaType, request: head, holder, activity };
    let request: OperationRequest = { credentials: nobody };
    let body: Uint8Array | null = null;
    let paramsOf: () => unknown;
    try {
      const found = identify(head, holder);
      const credentials = found instanceof Promise ? await found : found;
      if (activity !== null) activity.credentials = credentials;
      if (accepted.mediaType === null && accepted.stream === null) throw notAcceptable();
      request = {
        credentials,
        isReadOnly: !isPost,
        incremental: accepted.stream?.form,
        explain: headers[explainHeader]?.toString(),
        holder,
        activity,
      };
      if (isPost) {
        body = await read();
        holder.admit();
        const params = parseBodyParams(body);
        paramsOf = () => params;
        if (accepted.mediaType !== null && (accepted.stream === null || !mayHaveSeveralResults(params))) {
          const result = execute(params, request, new LaneRequest(head));
          return answerOf(result instanceof Promise ? await result : result, answering);
        }
      } else {
        if (method !== 'GET')
          throw new RequestError('BAD_USER_INPUT', 'GraphQL only supports GET and POST requests.', {
            http: { status: 405, headers: { Allow: 'GET, POST' } },
          });
        holder.admit();
        const params = parseUrlParams(url);
        paramsOf = () => params;
      }
    } catch (error) {
      if (error instanceof ClientDisconnected) throw error;
      if (accepted.mediaType !== null || accepted.stream === null)
        return answerOf(toErrorResult(error), answering);
      paramsOf = () => {
        throw error;
      };
    }
    const finish = (result: ExecutionResult) => answerOf(result, answering);
    return throughYoga(head, body, new FetchedRequest(request, accepted, paramsOf, finish));
  }

  /** Yoga would choose a stream in a fixed order: it gets only the type that the client wants most. */
  async function throughYoga(
    { method, rawHeaders }: Head,
    body: Uint8Array | null,
    request: FetchedRequest,
  ): Promise<Response> {
    const { accepted } = request;
    const headers = new Headers(headerPairs(rawHeaders));
    headers.set('Accept', accepted.stream?.type ?? accepted.mediaType ?? '*/*');
    const init = body === null ? { headers } : { method, headers, body };
    return yoga.fetch(new Request(endpoint, init as RequestInit), contextOf(request));
  }

  return ({ method, url, headers, rawHeaders }, read, holder, activity) => {
    // HEAD is answered like GET; the body is left out when the answer is written.
    const head = { method: method === 'HEAD' ? 'GET' : method, url, headers, rawHeaders };
    if (!isEndpoint(head.url ?? '') || (graphiql !== undefined && isForPage(head))) return answerPage(head);
    return answerOperation(head, read, holder, activity);
  };
}

const endpoint = 'http://bankql/graphql';

/** A request that is refused before its caller is known. */
const nobody: Caller = { subscriptionKey: null, authProviderName: null, authId: null };

/** Whether a browser opens the address of GraphQL, which then answers with GraphiQL's page. */
const isForPage = ({ method, url = '', headers }: Head): boolean =>
  method === 'GET' && /^\/graphql(?:\?|$)/.test(url) && headers.accept?.includes('text/html') === true;

/** The part of a Fetch request that plugins read, created on demand. */
class LaneRequest {
  readonly method = 'POST';
  readonly url = endpoint;
  readonly #rawHeaders: readonly string[];
  #headers: Headers | null = null;

  constructor({ rawHeaders }: Head) {
    this.#rawHeaders = rawHeaders;
  }

  get headers(): Headers {
    this.#headers ??= new Headers(headerPairs(this.#rawHeaders));
    return this.#headers;
  }
}
