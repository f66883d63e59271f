import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Engine } from '../engine/engine.ts';
import { explainHeader } from '../engine/explain.ts';
import type { AuthenticateWithinLimit } from './auth/authenticate.ts';
import type { IncomingRequest } from './auth/incoming-request.ts';
import { type GraphQLHttpResponse, type MediaType, negotiateMediaType } from './http-response.ts';
import { bufferedBody, ClientDisconnected, inflateBody, isGzip, readBody } from './request-body.ts';
import { parseBodyParams } from './request-params.ts';
import { currentActivity } from './request-scope.ts';
import type { SendAnswer } from './send-answer.ts';
import type { ReserveRoom, SerializeResult } from './serialize-result.ts';

export interface GraphQLHandlerOptions {
  readonly engine: Engine;
  readonly authenticate: AuthenticateWithinLimit;
  readonly serializeResult: SerializeResult;
  readonly sendAnswer: SendAnswer;
  readonly reserveRoom: ReserveRoom;
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
  { engine, authenticate, serializeResult, sendAnswer, reserveRoom, maxRequestBytes }: GraphQLHandlerOptions,
): Promise<void> {
  let answer: GraphQLHttpResponse;
  const activity = currentActivity();
  try {
    const credentials = await authenticate(incoming);
    if (activity !== null) activity.credentials = credentials;
    let body: Uint8Array =
      bufferedBody(request, maxRequestBytes) ?? (await readBody(request, maxRequestBytes));
    if (isGzip(request.headers['content-encoding'])) body = await inflateBody(body, maxRequestBytes);
    const answered = engine.execute(parseBodyParams(body), {
      credentials,
      signal: () => abortSignalOf(response),
      idempotencyKeyHeader: () => incoming.header('idempotency-key'),
      explain: explainOf(request),
      reserveRoom: (bytes) => reserveRoom(response, bytes),
      observation: activity,
    });
    const result = answered instanceof Promise ? await answered : answered;
    answer = serializeResult(result, mediaType);
  } catch (error) {
    if (error instanceof ClientDisconnected) return;
    answer = serializeResult(engine.toErrorResult(error), mediaType);
  }
  const sending = sendAnswer(request, response, answer, headers);
  if (sending !== null) await sending;
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
