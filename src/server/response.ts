import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { ExecutionResult, GraphQLError } from 'graphql';
import { credentialHeaders } from '../bank/credentials.ts';
import { explainHeader } from '../engine/context.ts';
import type { Engine } from '../engine/engine.ts';
import { type HttpExtension, RequestError, shownError } from '../engine/errors.ts';
import { BoundedResult, noRoom } from '../engine/result.ts';
import { preferredType } from './accept-header.ts';
import type { ConnectionAwareResponse } from './connection.ts';
import { currentActivity, type OperationActivity } from './request-scope.ts';

export type MediaType = 'application/graphql-response+json' | 'application/json';

/** Plain JSON first: clients that accept anything get it. */
const mediaTypes = ['application/json', 'application/graphql-response+json'] as const;

/**
 * The media type that a client wants most, by its `Accept`; without one, the type of GraphQL over HTTP since 2025. Null if
 * it accepts neither.
 */
export function negotiateMediaType(accept: string | undefined): MediaType | null {
  if (!accept) return 'application/graphql-response+json';
  if (accept === '*/*' || accept === 'application/json') return 'application/json';
  return preferredType(accept, mediaTypes);
}

/** For a client that takes neither. */
export const notAcceptable = () =>
  new RequestError('BAD_USER_INPUT', 'An answer is JSON in UTF-8: accept application/json.', {
    http: { status: 406 },
  });

export interface GraphQLHttpResponse {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Body;
  /** What it shows. */
  readonly result: ExecutionResult;
}

/** A long one is encoded once, so that its length is known wherever it is asked for. */
type Body = string | Buffer<ArrayBuffer>;

export const headerPairs = (headers: readonly string[]): [string, string][] =>
  headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : []));

const contentTypes = {
  'application/json': ['Content-Type', 'application/json; charset=utf-8'],
  'application/graphql-response+json': ['Content-Type', 'application/graphql-response+json; charset=utf-8'],
} as const satisfies Record<MediaType, readonly string[]>;

/** Up to this length a text is cheaper: Node sends it in one piece with the head. In characters. */
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

/**
 * Makes a result an answer of HTTP, as the specification of GraphQL over HTTP has it. If its JSON is too long, or cannot be
 * made, the engine says what is answered instead. It never throws.
 */
export const createResultSerializer =
  (engine: Pick<Engine, 'toErrorResult'>) =>
  (result: ExecutionResult, mediaType: MediaType): GraphQLHttpResponse => {
    const bounded = result instanceof BoundedResult ? result : null;
    try {
      const answer = serialised(result, mediaType);
      if (bounded === null || bounded.fits(answer.body)) return answer;
      return serialised(bounded.failed(), mediaType);
    } catch (error) {
      return serialised(bounded?.failed(error) ?? engine.toErrorResult(error), mediaType);
    }
  };

/** Answers up to this length are always given, in bytes: among them are those of nearly all payments. */
export const shortAnswer = 16_384;

/**
 * The answer, or, if there is no room for it to wait for its client, 503 with what its operation did. Ask right before
 * it is sent.
 */
function withinRoom(
  answer: GraphQLHttpResponse,
  response: HoldingResponse,
  engine: Pick<Engine, 'toErrorResult'>,
): GraphQLHttpResponse {
  const { body, result } = answer;
  const bytes = Buffer.byteLength(body);
  if (bytes <= shortAnswer || response.reserveRoom(bytes)) return answer;
  const refused = result instanceof BoundedResult ? result.withoutRoom() : engine.toErrorResult(noRoom());
  return serialised(refused, 'application/json');
}

/** Whether a GET's answer may be kept, and by anybody: all of it is public data, fresh and without an error. */
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

/** The answer with the headers for HTTP caches. `hasToken`: only whoever may call may have it, not everybody who shares a cache. */
function forCaches(
  answer: GraphQLHttpResponse,
  maxAgeSeconds: number,
  hasToken: boolean,
): GraphQLHttpResponse {
  const scope = hasToken ? 'private' : 'public';
  const caching = ['Cache-Control', `${scope}, max-age=${maxAgeSeconds}`, 'Vary', varying];
  return { ...answer, headers: [...answer.headers, ...caching] };
}

export interface SendOptions {
  /** How long HTTP caches may keep public data, in seconds (default: 0). */
  readonly publicMaxAgeSeconds?: number | undefined;
  readonly engine: Pick<Engine, 'toErrorResult'>;
}

export type HoldingResponse = ServerResponse & Pick<ConnectionAwareResponse, 'reserveRoom'>;

/** Sends a complete answer. `common` are the headers of every answer, names and values in turn. */
export function createAnswerSender({ publicMaxAgeSeconds = 0, engine }: SendOptions) {
  return (
    request: IncomingMessage,
    response: HoldingResponse,
    made: GraphQLHttpResponse,
    common: readonly string[],
    activity: OperationActivity | null = currentActivity(),
  ): void => {
    // The client may have left, or its request has given way.
    if (response.destroyed || response.headersSent) return;
    const isKept = request.method === 'GET' && isCacheable(made);
    const answer = isKept
      ? forCaches(made, publicMaxAgeSeconds, request.headers.authorization !== undefined)
      : made;
    // A character takes three bytes at most.
    const sent = answer.body.length * 3 <= shortAnswer ? answer : withinRoom(answer, response, engine);
    activity?.answered(sent);
    const { status, headers, body } = sent;
    const bearing = isKept && sent === answer ? without('Cache-Control', common) : common;
    const bytes = Buffer.byteLength(body);
    response.writeHead(status, [...bearing, ...headers, 'Content-Length', String(bytes)]);
    // ASCII is the same in both, and for UTF-8 Node makes room for three bytes a character.
    response.end(body, bytes === body.length ? 'latin1' : 'utf8');
  };
}

const without = (name: string, headers: readonly string[]) =>
  headers.filter((_text, at) => headers[at - (at % 2)] !== name);

const pieceBytes = 64 * 1024;

/** Sends a long body in pieces, so that a client which does not read holds one of them, not all. */
export async function sendPieces(body: Buffer, response: ServerResponse): Promise<void> {
  const pieces = Array.from({ length: Math.ceil(body.length / pieceBytes) }, (_, at) =>
    body.subarray(at * pieceBytes, (at + 1) * pieceBytes),
  );
  await pipeline(pieces, response).catch((error: NodeJS.ErrnoException) => {
    // A client that leaves is no failure.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}
