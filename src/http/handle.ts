import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RequestCredentials } from '../bank/credentials.ts';
import { type ErrorCode, errorCodes } from '../errors.ts';
import { RequestError, shownError } from '../graphql/errors.ts';
import { explainHeader } from '../graphql/explain-calls.ts';
import type { OperationActivity } from '../graphql/operation-activity.ts';
import type { OperationRequest } from '../graphql/operation-context.ts';
import type { Result } from '../graphql/result.ts';
import { createBankqlYoga, type FetchRequestPart, type YogaOptions } from '../graphql/yoga.ts';
import { isObject } from '../is-object.ts';
import { acceptedBy, notAcceptable } from './accept.ts';
import { type Authenticate, identify } from './auth/authenticate.ts';
import { bodyWasRead, ClientDisconnected, parseBodyParams, parseUrlParams } from './body.ts';
import type { Answer, Exchange, WholeAnswer } from './exchange.ts';
import { createGraphiQL, type GraphiQLOptions } from './graphiql/page.ts';
import { type Head, headerPairs, type Page, type Place, pathOf, requestedPlace } from './head.ts';
import { type OperationObserver, type RequestScope, runInRequestScope } from './request-scope.ts';
import { createRespond, type RespondOptions } from './respond.ts';
import { checkRequest, type HttpPolicyOptions, type HttpRefusal } from './rules.ts';
import { streamOf, streamOfOne } from './stream.ts';

/** The sender of a message to the tools for agents. */
export interface ToolsSender {
  readonly credentials: RequestCredentials;
  readonly holder: NonNullable<OperationRequest['holder']>;
  readonly activity: OperationActivity | null;
  readonly request: Pick<Head, 'method' | 'headers'>;
  /** The part of a Fetch request that plugins read. */
  readonly fetchRequest: FetchRequestPart;
}

/** The endpoint of the tools for agents (src/agents). */
export interface ToolsEndpoint {
  readonly authenticate: Authenticate;
  /**
   * The metadata (RFC 9728) that tells agents where to get tokens, as JSON, and its path; null if agents need no
   * tokens.
   */
  readonly metadata: { readonly path: string; readonly json: string } | null;
  /** Answers one message, and reports the answer to `activity`. Errors: RequestError, for what HTTP refuses. */
  answer(message: Readonly<Record<string, unknown>>, sender: ToolsSender): Promise<WholeAnswer>;
}

export interface HandleOptions extends Omit<YogaOptions, 'unexpected'>, RespondOptions {
  /** The path of GraphQL (default: `/graphql`). */
  readonly path?: string | undefined;
  readonly http: Omit<HttpPolicyOptions, 'maxRequestBytes'>;
  readonly maxRequestBytes: number;
  readonly graphiql?: GraphiQLOptions | undefined;
  readonly authenticate: Authenticate;
  /** Serves the tools for agents; null (the default) without tools. */
  readonly tools?: ToolsEndpoint | null | undefined;
  readonly logger: Logger;
  /** Whether the process is about to stop: /ready then answers 503, so that it gets no further requests (default: never). */
  readonly isLeaving?: () => boolean;
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
  readonly #work: WorkInProgress;

  constructor(
    exchange: Exchange,
    place: NonNullable<Place>,
    { requestId, headers }: Pick<ReturnType<typeof checkRequest>, 'requestId' | 'headers'>,
    { logger, observer }: Pick<HandleOptions, 'logger' | 'observer'>,
    work: WorkInProgress,
  ) {
    this.exchange = exchange;
    this.requestId = requestId;
    this.headers = headers;
    this.activity =
      ((place === 'operation' || place === 'tools') && observer?.begin(requestId, exchange.request)) || null;
    this.#logger = logger;
    this.#observer = observer;
    this.#work = work;
  }

  log(error: unknown): void {
    this.#logger.error({ err: error }, 'unexpected error');
  }

  fail(error: unknown): void {
    this.log(error);
    this.exchange.refuse(failure(this.headers));
  }

  /** Refuses a request that breaks a rule of HTTP (rules.ts). */
  refuse(status: number, message: string): void {
    const refusal = refusalOf(status, this.headers, message, 'BAD_USER_INPUT');
    this.activity?.refused(status, 'BAD_USER_INPUT', Buffer.byteLength(refusal.body));
    if (this.activity !== null) this.#observer?.end(this.activity);
    this.exchange.refuse(refusal);
  }

  onEnd(hasFailed: boolean): void {
    this.#work.end();
    const { activity } = this;
    if (activity === null) return;
    const { state } = this.exchange;
    if (state === 'left' || (state === 'waiting' && !hasFailed)) activity.abandoned();
    else if (hasFailed && state === 'waiting') activity.refused(500, 'INTERNAL', 0);
    else if (hasFailed) activity.brokenOff('INTERNAL');
    this.#observer?.end(activity);
  }
}

/** Counts the requests whose work has not ended. A mutation continues after its client has left. */
class WorkInProgress {
  #count = 0;
  #onIdle: (() => void) | null = null;

  begin(): void {
    this.#count++;
  }

  end(): void {
    if (--this.#count === 0) this.#onIdle?.();
  }

  /** Resolves when no request has work in progress. */
  async idle(): Promise<void> {
    while (this.#count > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
  }
}

/** Creates `handle`, the entrance of every request, over node:http or Fetch. */
export function createHandle(options: HandleOptions) {
  const { http, maxRequestBytes, logger, onHttpRefusal, tools = null } = options;
  const path = pathOf(options.path ?? '/graphql');
  const rules = { ...http, maxRequestBytes };
  const toolsRules = { ...rules, onlyListedOrigins: true };
  const graphiql = options.graphiql && createGraphiQL(options.graphiql, options.explains === true);
  const served = {
    graphiql: graphiql !== undefined,
    tools: tools !== null,
    metadata: tools?.metadata?.path ?? null,
  };
  const logForeignOrigin = createOriginLog(logger);
  const work = new WorkInProgress();
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
      const place = requestedPlace(request, path, served);
      const { headers, requestId, refusal } = checkRequest(request, place === 'tools' ? toolsRules : rules);
      if (place === null) exchange.refuse({ status: 404, headers, body: '' });
      else if (refusal?.status === 403) {
        logForeignOrigin(request.headers.origin ?? '');
        exchange.refuse(refusalOf(403, headers, refusal.message, 'FORBIDDEN'));
      } else if (refusal === null && request.method === 'OPTIONS') {
        exchange.refuse({ status: 204, headers, body: '' });
      } else {
        const scope = new ServedRequest(exchange, place, { requestId, headers }, options, work);
        if (refusal === null) {
          work.begin();
          return runInRequestScope(scope, serveAt(place));
        }
        onHttpRefusal?.(refusal.status);
        scope.refuse(refusal.status, refusal.message);
      }
    } catch (error) {
      logger.error({ err: error }, 'unexpected error');
      exchange.refuse(failure([]));
    }
    return over;
  }

  function serveAt(place: NonNullable<Place>) {
    if (place === 'operation') return serveOperation;
    return place === 'tools' ? serveTools : servePage(place);
  }

  /** The result of a request that fails before its operation begins; null if its client has left. */
  function refused(error: unknown): ExecutionResult | null {
    if (error instanceof ClientDisconnected) return null;
    if (error === bodyWasRead) logger.error(bodyWasRead.message);
    return graphql.toErrorResult(error);
  }

  /** Errors: unexpected ones. */
  async function serveOperation(served: ServedRequest): Promise<void> {
    const { exchange, headers, activity } = served;
    const { request, holder } = exchange;
    const { mediaType, stream } = acceptedBy(request.headers.accept);
    const { execute, respond } = graphql;
    let result: Result | null;
    try {
      const credentials = await identify(options.authenticate, request, holder);
      if (activity !== null) activity.credentials = credentials;
      if (mediaType === null && stream === null) throw notAcceptable();
      checkMethod(request, 'GET', 'POST');
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
      result = refused(error);
    }
    if (result === null) return;
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

  /** Errors: unexpected ones. */
  async function serveTools(served: ServedRequest): Promise<void> {
    if (tools === null) throw new Error('there are no tools for agents');
    const { exchange, headers, activity } = served;
    const { request, holder } = exchange;
    let answer: WholeAnswer;
    try {
      const credentials = await identify(tools.authenticate, request, holder);
      if (activity !== null) activity.credentials = credentials;
      checkMethod(request, 'POST');
      const body = await exchange.readBody(maxRequestBytes);
      holder.admit();
      const message = parseBodyParams(body);
      if (!isObject(message))
        throw new RequestError(
          'BAD_USER_INPUT',
          'Send one JSON-RPC message at a time, which is a JSON object.',
        );
      const fetchRequest = new PluginRequest(request);
      answer = await tools.answer(message, { credentials, holder, activity, request, fetchRequest });
    } catch (error) {
      const result = refused(error);
      if (result === null) return;
      answer = graphql.respond(result, { mediaType: 'application/json', request, holder, activity });
      if (answer.status === 413) onHttpRefusal?.(413);
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
    if (page === 'resource metadata' && tools?.metadata)
      return { status: 200, headers: ['Content-Type', 'application/json'], body: tools.metadata.json };
    if (page === '/ready' && options.isLeaving?.() === true) return { status: 503, ...text('leaving\n') };
    return { status: 200, ...text('') };
  }

  return {
    handle,
    /** Resolves when no request has work in progress, not even one whose client has left. */
    idle: () => work.idle(),
    /** Replaces the documents that requests may name by an id. Operations in progress are not affected. */
    replaceDocuments(persisted: HandleOptions['persisted']): void {
      graphql = createGraphQL(persisted);
    },
  };
}

/** Errors: RequestError 405. */
function checkMethod({ method = '' }: Head, ...allowed: readonly ('GET' | 'POST')[]): void {
  if ((allowed as readonly string[]).includes(method === 'HEAD' ? 'GET' : method)) return;
  throw new RequestError('BAD_USER_INPUT', `Only ${allowed.join(' and ')} requests are served here.`, {
    http: { status: 405, headers: { Allow: allowed.join(', ') } },
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

/** Creates a log of foreign origins. An origin that is among the last `maxLoggedOrigins` is not logged again. */
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
