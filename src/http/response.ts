import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult, GraphQLError } from 'graphql';
import { credentialHeaders } from '../bank/credentials.ts';
import { type HttpExtension, shownError } from '../graphql/errors.ts';
import { explainHeader } from '../graphql/explain.ts';
import type { OperationActivity } from '../graphql/operation-activity.ts';
import { BoundedResult, noRoom, shortAnswer } from '../graphql/result.ts';
import type { MediaType } from './accept.ts';
import type { Client } from './door.ts';

/** Creates the answer to a request that fails before its operation is known. */
type ToErrorResult = (error: unknown) => ExecutionResult;

/** An answer that is complete before it is sent. */
export interface WholeAnswer {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Body;
}

/** A Response may have a body that is still being created; it is sent at the client's pace. */
export type Answer = WholeAnswer | Response;

export interface GraphQLHttpResponse extends WholeAnswer {
  /** The result that the body shows. */
  readonly result: ExecutionResult;
}

/** A long body is encoded once, so that its length is known. */
type Body = string | Buffer<ArrayBuffer>;

export const headerPairs = (headers: readonly string[]): [string, string][] =>
  headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : []));

const contentTypes = {
  'application/json': ['Content-Type', 'application/json; charset=utf-8'],
  'application/graphql-response+json': ['Content-Type', 'application/graphql-response+json; charset=utf-8'],
} as const satisfies Record<MediaType, readonly string[]>;

/** Up to this length, in characters, a text is cheaper than a buffer: Node sends it in one piece with the head. */
const shortText = 16_384;

/** A result's JSON; `errors` as they are shown. */
function bodyOf(result: ExecutionResult, errors?: readonly object[]): Body {
  const data = result instanceof BoundedResult ? result.dataJson : null;
  if (data !== null) return withMembers(data, errors, result.extensions);
  const json = JSON.stringify(errors === undefined ? result : { ...result, errors });
  return json.length > shortText ? Buffer.from(json) : json;
}

/** A result whose data is JSON already. */
function withMembers(data: readonly Buffer[], errors: unknown, extensions: unknown): Buffer<ArrayBuffer> {
  const before = errors === undefined ? '{"data":' : `{"errors":${JSON.stringify(errors)},"data":`;
  const after = extensions === undefined ? '}' : `,"extensions":${JSON.stringify(extensions)}}`;
  return Buffer.concat([Buffer.from(before), ...data, Buffer.from(after)]);
}

function serialised(result: ExecutionResult, mediaType: MediaType): GraphQLHttpResponse {
  const headers = contentTypes[mediaType];
  if (result.errors === undefined) return { status: 200, headers, body: bodyOf(result), result };
  const said = result.errors.flatMap(httpOf);
  const statuses = said
    .filter(({ isOfDocument }) => !(isOfDocument && mediaType === 'application/json'))
    .map(({ status }) => status);
  const more: Record<string, string> = Object.assign({}, ...said.map((http) => http.headers));
  return {
    status: Math.max(200, ...statuses),
    headers: [...headers, ...Object.entries(more).flat()],
    body: bodyOf(result, result.errors.map(shownError)),
    result,
  };
}

const httpOf = ({ extensions: { http } }: GraphQLError): HttpExtension[] =>
  isHttpExtension(http) ? [http] : [];

const isHttpExtension = (http: unknown): http is HttpExtension =>
  typeof http === 'object' && http !== null && 'status' in http && typeof http.status === 'number';

/** Whether shared caches may keep a GET's answer: it is public, fresh, and has no error. */
const isCacheable = ({ status, result, headers }: GraphQLHttpResponse): boolean =>
  status === 200 &&
  result instanceof BoundedResult &&
  result.isCacheable &&
  headers[1]?.includes('json') === true;

/**
 * Request headers that the answer depends on: a browser's page may have the same URL, another subscription key may see
 * other data, a request without a token may be refused, and the calls may be asked for.
 */
const varying = ['Accept', 'Authorization', credentialHeaders.subscriptionKey, explainHeader].join(', ');

export interface SendOptions {
  /** How long HTTP caches may keep public data, in seconds (default: 0). */
  readonly publicMaxAgeSeconds?: number | undefined;
}

/** The request that is answered, and its client. */
interface Answering {
  /** Null for a client that takes only a stream. */
  readonly mediaType: MediaType | null;
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  /** Holds the answer until its client has read it. */
  readonly holder: { reserveRoom(bytes: number): boolean };
  readonly activity: OperationActivity | null;
}

/** Creates the function that converts a result into an answer, with the headers for HTTP caches. It never throws. */
export function createAnswers({ publicMaxAgeSeconds = 0 }: SendOptions, toErrorResult: ToErrorResult) {
  /**
   * The answer as specified by GraphQL over HTTP. If its JSON is too long or cannot be created, the engine provides
   * another result.
   */
  function answerOf(result: ExecutionResult, mediaType: MediaType): GraphQLHttpResponse {
    const bounded = result instanceof BoundedResult ? result : null;
    try {
      const answer = serialised(result, mediaType);
      if (bounded === null || bounded.fits(answer.body)) return answer;
      return serialised(bounded.failed(), mediaType);
    } catch (error) {
      return serialised(bounded?.failed(error) ?? toErrorResult(error), mediaType);
    }
  }

  /** The answer of a GET. With a token, only its own client may keep it, not everybody who shares a cache. */
  function withCaching(answer: GraphQLHttpResponse, hasToken: boolean): GraphQLHttpResponse {
    if (!isCacheable(answer)) return answer;
    const policy = `${hasToken ? 'private' : 'public'}, max-age=${publicMaxAgeSeconds}`;
    return { ...answer, headers: [...answer.headers, 'Cache-Control', policy, 'Vary', varying] };
  }

  /** The answer. If there is no room for it to wait for its client, a 503 instead, whose error says what a mutation did. */
  function withinRoom(answer: GraphQLHttpResponse, holder: Answering['holder']): GraphQLHttpResponse {
    const { body, result } = answer;
    // A character takes three bytes at most.
    const isShort = body.length * 3 <= shortAnswer || Buffer.byteLength(body) <= shortAnswer;
    if (isShort || holder.reserveRoom(Buffer.byteLength(body))) return answer;
    const refused = result instanceof BoundedResult ? result.failed(noRoom()) : toErrorResult(noRoom());
    return serialised(refused, 'application/json');
  }

  return (result: ExecutionResult, { mediaType, request, holder, activity }: Answering) => {
    const made = answerOf(result, mediaType ?? 'application/json');
    const isKept = mediaType !== null && request.method === 'GET';
    const answer = isKept ? withCaching(made, request.headers.authorization !== undefined) : made;
    const sent = withinRoom(answer, holder);
    activity?.answered(sent);
    return sent;
  };
}

/** The client of a request of node:http. */
export class NodeClient implements Client {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get state(): Client['state'] {
    const { destroyed, writableFinished, writableEnded, headersSent } = this.#response;
    if (destroyed && !writableFinished) return 'left';
    if (writableEnded) return 'answered';
    return headersSent ? 'begun' : 'waiting';
  }

  send(answer: Answer, common: readonly string[]): void | Promise<void> {
    const response = this.#response;
    if (answer instanceof Response) return writeResponse(response, answer, common);
    // The client may have left meanwhile.
    if (response.destroyed || response.headersSent) return;
    const { status, headers, body } = answer;
    const bearing = headers.includes('Cache-Control') ? without('Cache-Control', common) : common;
    const bytes = Buffer.byteLength(body);
    response.writeHead(status, [...bearing, ...headers, 'Content-Length', String(bytes)]);
    // ASCII is the same in both, and for UTF-8 Node makes room for three bytes a character.
    response.end(body, bytes === body.length ? 'latin1' : 'utf8');
  }

  refuse({ status, headers, body }: WholeAnswer): void {
    const { state } = this;
    const response = this.#response;
    if (state === 'begun') response.destroy();
    if (state !== 'waiting') return;
    if (status !== 204) response.shouldKeepAlive = false;
    response.writeHead(status, [...headers]);
    response.end(body === '' ? undefined : body);
  }
}

/** Writes a Fetch response at the client's pace. Its own headers replace the common ones. Resolves when it is sent or the client has left. */
async function writeResponse(
  response: ServerResponse,
  answer: Response,
  common: readonly string[],
): Promise<void> {
  if (response.destroyed || response.headersSent) return void (await answer.body?.cancel());
  for (const [name, value] of headerPairs(common))
    if (name === 'Vary' || !answer.headers.has(name)) response.appendHeader(name, value);
  for (const [name, value] of answer.headers) response.appendHeader(name, value);
  response.writeHead(answer.status);
  const reader = answer.body?.getReader();
  const left = () => void reader?.cancel().catch(() => {});
  response.once('close', left);
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
      if (!response.write(next.value)) await drained(response);
    if (!response.destroyed) response.end();
  } catch (error) {
    // Without its end, the client sees that the stream is incomplete.
    if (response.socket === null) response.destroy();
    else response.socket.destroySoon();
    if (!(error instanceof DOMException)) throw error;
  } finally {
    response.off('close', left);
  }
}

/** Resolves when the network has taken the written bytes, or the client has disconnected. */
const drained = (response: ServerResponse) =>
  new Promise<void>((resolve) => {
    if (response.destroyed) return resolve();
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });

const without = (name: string, headers: readonly string[]) =>
  headers.filter((_text, at) => headers[at - (at % 2)] !== name);
