import type { ServerResponse } from 'node:http';
import type { ExecutionResult, GraphQLError } from 'graphql';
import { BoundedResult } from '../engine/bounded-result.ts';
import { type HttpExtension, shownError } from '../engine/request-error.ts';
import { preferredType } from './accept.ts';

export type MediaType = 'application/graphql-response+json' | 'application/json';

/** Plain JSON first: it is what is answered where any will do. */
const mediaTypes = ['application/json', 'application/graphql-response+json'] as const;

/**
 * How a client wants its answer, by its `Accept`: as it wants it most, and what GraphQL over HTTP wants since 2025 where it does
 * not say. Null where it takes neither.
 */
export function negotiateMediaType(accept: string | undefined): MediaType | null {
  if (!accept) return 'application/graphql-response+json';
  if (accept === '*/*' || accept === 'application/json') return 'application/json';
  return preferredType(accept, mediaTypes);
}

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

/** Each name with its value. */
export const headerPairs = (headers: readonly string[]): [string, string][] =>
  headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : []));

const contentTypes = {
  'application/json': ['Content-Type', 'application/json; charset=utf-8'],
  'application/graphql-response+json': ['Content-Type', 'application/graphql-response+json; charset=utf-8'],
} as const satisfies Record<MediaType, readonly string[]>;

/**
 * An answer of GraphQL as one of HTTP, as the specification of GraphQL over HTTP has it. Where its JSON is too long, or
 * cannot be made, the engine says what is answered instead.
 */
export function toHttpResponse(result: ExecutionResult, mediaType: MediaType): GraphQLHttpResponse {
  if (!(result instanceof BoundedResult)) return serialised(result, mediaType);
  try {
    const answer = serialised(result, mediaType);
    return result.fits(answer.body) ? answer : serialised(result.failed(), mediaType);
  } catch (error) {
    return serialised(result.failed(error), mediaType);
  }
}

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

export const isHttpExtension = (http: unknown): http is HttpExtension =>
  typeof http === 'object' && http !== null && 'status' in http && typeof http.status === 'number';

/** Sends an answer that is whole. `common`, names and values in turn, are the headers that every answer bears. */
export function writeResponse(
  response: ServerResponse,
  { status, headers, body }: Pick<GraphQLHttpResponse, 'status' | 'headers' | 'body'>,
  common: readonly string[],
): void {
  const length = status === 304 ? [] : ['Content-Length', String(Buffer.byteLength(body))];
  response.writeHead(status, [...common, ...headers, ...length]);
  response.end(body);
}
