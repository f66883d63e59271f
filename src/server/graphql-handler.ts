import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Engine } from '../engine/engine.ts';
import { explainHeader } from '../engine/explain.ts';
import { RequestError } from '../engine/request-error.ts';
import type { AuthenticateWithinLimit } from './auth/authenticate.ts';
import type { IncomingRequest } from './auth/incoming-request.ts';
import {
  type GraphQLHttpResponse,
  type MediaType,
  negotiateMediaType,
  writeResponse,
} from './http-response.ts';
import { parseBodyParams } from './request-params.ts';
import { currentActivity } from './request-scope.ts';
import type { LimitPending, SerializeResult } from './serialize-result.ts';

export interface GraphQLHandlerOptions {
  readonly engine: Engine;
  readonly authenticate: AuthenticateWithinLimit;
  readonly serializeResult: SerializeResult;
  readonly limitPending: LimitPending;
  /** The longest request body, in bytes. */
  readonly maxRequestBytes: number;
}

/**
 * The way of nearly all requests, a POST of JSON to /graphql, straight on node:http: yoga's Fetch objects and hooks cost
 * more than the rest of a request. It answers null, and does nothing, where yoga has to do it: another path or method,
 * or a client that takes no JSON.
 */
export function createGraphQLHandler(options: GraphQLHandlerOptions) {
  return (
    request: IncomingMessage,
    response: ServerResponse,
    headers: Headers,
    incoming: IncomingRequest,
  ): Promise<void> | null => {
    const { method, url = '' } = request;
    if (method !== 'POST' || !(url === '/graphql' || url.startsWith('/graphql?'))) return null;
    const mediaType = negotiateMediaType(request.headers.accept);
    if (mediaType === null) return null;
    return serve({ request, incoming, response, mediaType, headers }, options);
  };
}

/** Headers that every answer bears, names and values in turn. */
type Headers = readonly string[];

interface PostRequest {
  readonly request: IncomingMessage;
  readonly incoming: IncomingRequest;
  readonly response: ServerResponse;
  readonly mediaType: MediaType;
  readonly headers: Headers;
}

async function serve(
  { request, incoming, response, mediaType, headers }: PostRequest,
  { engine, authenticate, serializeResult, limitPending, maxRequestBytes }: GraphQLHandlerOptions,
): Promise<void> {
  let answer: GraphQLHttpResponse;
  const activity = currentActivity();
  try {
    const credentials = await authenticate(incoming);
    if (activity !== null) activity.credentials = credentials;
    const body = bufferedBody(request, maxRequestBytes) ?? (await readBody(request, maxRequestBytes));
    const answered = engine.execute(parseBodyParams(body), {
      credentials,
      signal: () => abortSignalOf(response),
      explain: explainOf(request),
      observation: activity,
    });
    const result = answered instanceof Promise ? await answered : answered;
    answer = limitPending(serializeResult(result, mediaType), response);
  } catch (error) {
    // Nobody is there to be answered.
    if (error instanceof ClientDisconnected) return;
    answer = serializeResult(engine.toErrorResult(error), mediaType);
  }
  activity?.answered(answer);
  writeResponse(response, answer, headers);
}

/** What the request's header asks to be explained. */
export function explainOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const given = headers[explainHeader];
  return Array.isArray(given) ? given.join() : given;
}

/** A signal that is raised when the client leaves before its answer is written. */
function abortSignalOf(response: ServerResponse): AbortSignal {
  const client = new AbortController();
  const look = () => {
    if (!response.writableFinished) client.abort();
  };
  if (response.destroyed) look();
  else response.on('close', look);
  return client.signal;
}

class ClientDisconnected extends Error {}

const tooLong = (maxBytes: number) =>
  new RequestError('BAD_USER_INPUT', `The body is longer than ${maxBytes} bytes.`, { http: { status: 413 } });

/**
 * The body that came together with its headers, as nearly all do: it needs nobody to wait for it. Null where more is to
 * come. Errors: as readBody.
 */
function bufferedBody(request: IncomingMessage, maxBytes: number): Buffer | null {
  if (request.destroyed) throw new ClientDisconnected();
  if (!request.complete) return null;
  const body: Buffer = request.read() ?? Buffer.alloc(0);
  if (body.length > maxBytes) throw tooLong(maxBytes);
  return body;
}

/** Reads a body to its end. Errors: RequestError (413) where it is too long; ClientDisconnected. */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      request.pause();
      reject(tooLong(maxBytes));
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => reject(new ClientDisconnected()));
    request.on('close', () => {
      if (!request.complete) reject(new ClientDisconnected());
    });
  });
}
