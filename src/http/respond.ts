import type { IncomingMessage } from 'node:http';
import type { ExecutionResult, GraphQLError } from 'graphql';
import { credentialHeaders } from '../bank/credentials.ts';
import { type HttpExtension, shownError } from '../graphql/errors.ts';
import { explainHeader } from '../graphql/explain-calls.ts';
import type { OperationActivity } from '../graphql/operation-activity.ts';
import { BoundedResult, noRoom, shortAnswer } from '../graphql/result.ts';
import type { MediaType } from './accept.ts';
import type { Body, WholeAnswer } from './exchange.ts';

/** Creates the answer to a request that fails before its operation is known. */
type ToErrorResult = (error: unknown) => ExecutionResult;

export interface GraphQLHttpResponse extends WholeAnswer {
  readonly bytes: number;
  /** The result that the body shows. */
  readonly result: ExecutionResult;
}

const contentTypes = {
  'application/json': ['Content-Type', 'application/json; charset=utf-8'],
  'application/graphql-response+json': ['Content-Type', 'application/graphql-response+json; charset=utf-8'],
} as const satisfies Record<MediaType, readonly string[]>;

/**
 * The maximum length of a body that is sent as a string, in characters. Node sends a string together with the head, which is
 * cheaper than a separate buffer.
 */
const shortText = 16_384;

/** A result's JSON, with these errors instead of its own. */
function bodyOf(result: ExecutionResult, errors?: readonly object[]): Body {
  const data = result instanceof BoundedResult ? result.dataJson : null;
  if (data !== null) return withMembers(data, errors, result.extensions);
  const json = JSON.stringify(errors === undefined ? result : { ...result, errors });
  return json.length > shortText ? Buffer.from(json) : json;
}

/** The JSON of a result whose data has been serialized already. */
function withMembers(data: readonly Buffer[], errors: unknown, extensions: unknown): Buffer<ArrayBuffer> {
  const before = errors === undefined ? '{"data":' : `{"errors":${JSON.stringify(errors)},"data":`;
  const after = extensions === undefined ? '}' : `,"extensions":${JSON.stringify(extensions)}}`;
  return Buffer.concat([Buffer.from(before), ...data, Buffer.from(after)]);
}

function serialize(result: ExecutionResult, mediaType: MediaType): GraphQLHttpResponse {
  const headers = contentTypes[mediaType];
  if (result.errors === undefined) {
    const body = bodyOf(result);
    return { status: 200, headers, body, bytes: Buffer.byteLength(body), result };
  }
  const extensions = result.errors.flatMap(httpOf);
  const statuses = extensions
    .filter(({ isOfDocument }) => !(isOfDocument && mediaType === 'application/json'))
    .map(({ status }) => status);
  const more: Record<string, string> = Object.assign({}, ...extensions.map((http) => http.headers));
  const body = bodyOf(result, result.errors.map(shownError));
  return {
    status: Math.max(200, ...statuses),
    headers: [...headers, ...Object.entries(more).flat()],
    body,
    bytes: Buffer.byteLength(body),
    result,
  };
}

const httpOf = ({ extensions: { http } }: GraphQLError): HttpExtension[] =>
  isHttpExtension(http) ? [http] : [];

const isHttpExtension = (http: unknown): http is HttpExtension =>
  typeof http === 'object' && http !== null && 'status' in http && typeof http.status === 'number';

/**
 * The request headers on which an answer depends: a browser may get a page at the same URL, a request without a token may be
 * refused, another subscription key may see other data, and an explanation of calls may be requested.
 */
const varying = ['Accept', 'Authorization', credentialHeaders.subscriptionKey, explainHeader].join(', ');

export interface RespondOptions {
  /** The time for which HTTP caches may keep public data, in seconds (default: 0). */
  readonly publicMaxAgeSeconds?: number | undefined;
}

/** The request that is answered, and its client. */
export interface Respondent {
  /** Null for a client that takes only a stream. */
  readonly mediaType: MediaType | null;
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  /** Counts the answer until its client has read it. */
  readonly holder: { reserveRoom(bytes: number): boolean };
  readonly activity: OperationActivity | null;
}

/**
 * Creates the function that converts a result into an answer, as specified by GraphQL over HTTP, with the headers for HTTP
 * caches. The answer is an error if the JSON is too long, if it cannot be created, or if no memory is left in which it can wait for
 * its client. The error of a mutation says what the mutation did. The function never throws.
 */
export function createRespond({ publicMaxAgeSeconds = 0 }: RespondOptions, toErrorResult: ToErrorResult) {
  return (result: ExecutionResult, { mediaType, request, holder, activity }: Respondent) => {
    const bounded = result instanceof BoundedResult ? result : null;
    const type = mediaType ?? 'application/json';
    let answer: GraphQLHttpResponse;
    try {
      answer = serialize(result, type);
      if (bounded?.fits(answer.bytes) === false) answer = serialize(bounded.failed(), type);
    } catch (error) {
      answer = serialize(bounded?.failed(error) ?? toErrorResult(error), type);
    }
    const { headers, bytes } = answer;
    if (bytes > shortAnswer && !holder.reserveRoom(bytes)) {
      answer = serialize(bounded?.failed(noRoom()) ?? toErrorResult(noRoom()), 'application/json');
    } else if (isRead(request) && mediaType !== null && answer.result === bounded && bounded.isCacheable) {
      // If a token was sent, only the client's own cache may keep the answer, and no shared cache.
      const scope = request.headers.authorization === undefined ? 'public' : 'private';
      const caching = ['Cache-Control', `${scope}, max-age=${publicMaxAgeSeconds}`, 'Vary', varying];
      answer = { ...answer, headers: [...headers, ...caching] };
    }
    activity?.answered(answer);
    return answer;
  };
}

const isRead = ({ method }: Respondent['request']): boolean => method === 'GET' || method === 'HEAD';
