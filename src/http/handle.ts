import { isAsyncIterable } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type ErrorCode, errorCodes } from '../errors.ts';
import { RequestError, shownError } from '../graphql/errors.ts';
import { explainHeader } from '../graphql/explain.ts';
import type { OperationActivity } from '../graphql/operation-activity.ts';
import type { Result } from '../graphql/result.ts';
import { createBankqlYoga, type YogaOptions } from '../graphql/yoga.ts';
import { acceptedBy, notAcceptable } from './accept.ts';
import { type Authenticate, identify } from './auth/authenticate.ts';
import { bodyWasRead, ClientDisconnected, parseBodyParams, parseUrlParams } from './body.ts';
import type { Answer, Exchange, WholeAnswer } from './exchange.ts';
import { createGraphiQL, type GraphiQLOptions } from './graphiql/page.ts';
import { type Head, headerPairs, type Page, type Place, pathOf, placeOf } from './head.ts';
import { type OperationObserver, type RequestScope, runInRequestScope } from './request-scope.ts';
import { createRespond, type RespondOptions } from './respond.ts';
import { checkRequest, type HttpPolicyOptions, type HttpRefusal } from './rules.ts';
import { streamOf, streamOfOne } from './stream.ts';

export interface HandleOptions extends Omit<YogaOptions, 'unexpected'>, RespondOptions {
  /** The path of GraphQL (default: `/graphql`). */
  readonly path?: string | undefined;
  readonly http: Omit<HttpPolicyOptions, 'maxRequestBytes'>;
  readonly maxRequestBytes: number;
  readonly graphiql?: GraphiQLOptions | undefined;
  readonly authenticate: Authenticate;
  readonly logger: Logger;
  /**
   * Why the process should not get requests, in a few words; null if it should. /ready answers 503 with this text (default: it
   * answers 200).
   */
  readonly whyNotReady?: () => string | null | Promise<string | null>;
  /** Called with the status when a request is refused for its method, headers or length (rules.ts). It must not throw. */
  readonly onHttpRefusal?: ((status: HttpRefusal) => void) | undefined;
  /** Observes every request for GraphQL, including refused ones. */
  readonly observer?: OperationObserver | undefined;
}

export type Handle = ReturnType<typeof createHandle>['handle'];

const over = Promise.resolve();

/** A request that is being served. */
class ServedRequest implements RequestScope {
  readonly exchange: Exchange;
  readonly requestId: string;
  /** The headers of every answer to this request. */
  readonly headers: readonly string[];
  /** The activity of a GraphQL request; null for a page. */
  readonly activity: OperationActivity | null;
  secrets?: RequestScope['secrets'];
  isWorkedFor = false;
  readonly #logger: Logger;
  readonly #observer: OperationObserver | undefined;

  constructor(
    exchange: Exchange,
    place: NonNullable<Place>,
    { requestId, headers }: Pick<ReturnType<typeof checkRequest>, 'requestId' | 'headers'>,
    { logger, observer }: Pick<HandleOptions, 'logger' | 'observer'>,
  ) {
    this.exchange = exchange;
    this.requestId = requestId;
    this.headers = headers;
    this.activity = (place === 'operation' && observer?.begin(requestId, exchange.request)) || null;
    this.#logger = logger;
    this.#observer = observer;
  }

  log(error: unknown): void {
    this.#logger.error({ err: error }, 'unexpected error');
  }

  fail(error: unknown): void {
    this.log(error);
    this.exchange.refuse(failure(this.headers));
  }

  /** Refuses the request because it breaks a rule of HTTP (rules.ts). */
  refuse(status: number, message: string): void {
    const refusal = refusalOf(status, this.headers, message, 'BAD_USER_INPUT');
    this.activity?.refused(status, 'BAD_USER_INPUT', Buffer.byteLength(refusal.body));
    if (this.activity !== null) this.#observer?.end(this.activity);
    this.exchange.refuse(refusal);
  }

  onEnd(hasFailed: boolean): void {
    const { activity } = this;
    if (activity === null) return;
    const { state } = this.exchange;
    if (state === 'left' || (state === 'waiting' && !hasFailed)) activity.abandoned();
    else if (hasFailed && state === 'waiting') activity.refused(500, 'INTERNAL', 0);
    else if (hasFailed) activity.brokenOff('INTERNAL');
    this.#observer?.end(activity);
  }
}

/** Creates `handle`, which every request passes, over node:http or Fetch. */
export function createHandle(options: HandleOptions) {
  const { http, maxRequestBytes, logger, onHttpRefusal } = options;
  const path = pathOf(options.path ?? '/graphql');
  const rules = { ...http, maxRequestBytes };
  const graphiql = options.graphiql && createGraphiQL(options.graphiql, options.explains === true);
  const logForeignOrigin = createOriginLog(logger);
  let graphql = createGraphQL(options.persisted);

  function createGraphQL(persisted: HandleOptions['persisted']) {
    const unexpected = (error: unknown) => logger.error({ err: error }, 'unexpected error');
    const yoga = createBankqlYoga({ ...options, persisted, unexpected });
    return { ...yoga, respond: createRespond(options, yoga.toErrorResult) };
  }

  /** Serves a request. Resolves when all work for the request has ended. Never throws, never rejects. */
  function handle(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    try {
      const place = placeOf(request, path, graphiql !== undefined);
      const { headers, requestId, refusal } = checkRequest(request, rules);
      if (place === null) exchange.refuse({ status: 404, headers, body: '' });
      else if (refusal?.status === 403) {
        logForeignOrigin(request.headers.origin ?? '');
        exchange.refuse(refusalOf(403, headers, refusal.message, 'FORBIDDEN'));
      } else if (refusal === null && request.method === 'OPTIONS') {
        exchange.refuse({ status: 204, headers, body: '' });
      } else {
        const served = new ServedRequest(exchange, place, { requestId, headers }, options);
        if (refusal === null)
          return runInRequestScope(served, place === 'operation' ? serveOperation : servePage(place));
        onHttpRefusal?.(refusal.status);
        served.refuse(refusal.status, refusal.message);
      }
    } catch (error) {
      logger.error({ err: error }, 'unexpected error');
      exchange.refuse(failure([]));
    }
    return over;
  }

  /** Errors: unexpected ones. */
  async function serveOperation({ exchange, headers, activity }: ServedRequest): Promise<void> {
    const { request, holder } = exchange;
    const { mediaType, stream } = acceptedBy(request.headers.accept);
    const { execute, respond, toErrorResult } = graphql;
    let result: Result;
    try {
      const credentials = await identify(options.authenticate, request, holder);
      if (activity !== null) activity.credentials = credentials;
      if (mediaType === null && stream === null) throw notAcceptable();
      checkMethod(request);
      const body = request.method === 'POST' ? await exchange.readBody(maxRequestBytes) : null;
      holder.admit();
      const params = body === null ? parseUrlParams(request.url ?? '') : parseBodyParams(body);
      const sender = {
        credentials,
        holder,
        activity,
        isReadOnly: body === null,
        incremental: stream?.form,
        explain: request.headers[explainHeader]?.toString(),
      };
      result = await execute(params, sender, new PluginRequest(request));
    } catch (error) {
      if (error instanceof ClientDisconnected) return;
      if (error === bodyWasRead) logger.error(bodyWasRead.message);
      result = toErrorResult(error);
    }
    let answer: Answer;
    if (isAsyncIterable(result)) {
      if (stream === null) throw new Error('there are several results for a client that accepts one');
      answer = streamOf(result, stream);
    } else {
      const whole = respond(result, { mediaType, request, holder, activity });
      // A body in chunks has no declared length: only reading it shows that it is too long.
      if (whole.status === 413) onHttpRefusal?.(413);
      answer = mediaType === null && stream !== null ? streamOfOne(whole, stream) : whole;
    }
    return exchange.send(answer, headers);
  }

  const servePage =
    (page: Page) =>
    async ({ exchange, headers }: ServedRequest): Promise<void> =>
      exchange.send(await answerPage(exchange.request, page), headers);

  async function answerPage(
    { url = '/', originalUrl = url, headers }: Head,
    page: Page,
  ): Promise<WholeAnswer> {
    if (graphiql !== undefined && page === 'graphiql') return graphiql.page(originalUrl);
    if (graphiql !== undefined && typeof page === 'object')
      return graphiql.file(page, String(headers['accept-encoding'] ?? ''));
    const reason = page === '/ready' ? await options.whyNotReady?.() : null;
    return reason == null ? { status: 200, ...text('') } : { status: 503, ...text(`${reason}\n`) };
  }

  return {
    handle,
    /** Replaces the documents that requests may name by an id. Operations in progress are not affected. */
    replaceDocuments(persisted: HandleOptions['persisted']): void {
      graphql = createGraphQL(persisted);
    },
  };
}

/** Errors: RequestError 405. */
function checkMethod({ method }: Head): void {
  if (method === 'POST' || method === 'GET' || method === 'HEAD') return;
  throw new RequestError('BAD_USER_INPUT', 'GraphQL only supports GET and POST requests.', {
    http: { status: 405, headers: { Allow: 'GET, POST' } },
  });
}

/** The part of a Fetch request that plugins read, created on demand. */
class PluginRequest {
  readonly method: string;
  readonly #head: Head;
  #headers: Headers | null = null;

  constructor(head: Head) {
    this.method = head.method ?? 'GET';
    this.#head = head;
  }

  get url(): string {
    return `http://bankql${this.#head.url}`;
  }

  get headers(): Headers {
    this.#headers ??= new Headers(headerPairs(this.#head.rawHeaders));
    return this.#headers;
  }
}

const maxLoggedOrigins = 20;

/** Creates a log of foreign origins. Each origin is logged once, as long as it is among the last ones. */
function createOriginLog(logger: Logger) {
  const logged = new LRUCache<string, true>({ max: maxLoggedOrigins });
  return (origin: string): void => {
    const shown = origin.slice(0, 255);
    if (logged.get(shown) === undefined)
      logger.warn({ origin: shown }, 'pages of this origin may not call: CORS_ORIGINS does not list it');
    logged.set(shown, true);
  };
}

const text = (body: string) => ({ headers: ['Content-Type', 'text/plain; charset=utf-8'], body });

const failure = (headers: readonly string[]) =>
  refusalOf(500, headers, 'Something went wrong inside bankql.', 'INTERNAL');

function refusalOf(status: number, headers: readonly string[], message: string, code: ErrorCode) {
  const extensions = { code, retryable: errorCodes[code].retryable };
  return {
    status,
    headers: [...headers, 'Content-Type', 'application/json; charset=utf-8'],
    body: JSON.stringify({ errors: [shownError({ message, extensions })] }),
  };
}
