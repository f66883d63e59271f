import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Engine, EngineResult } from '../engine/engine.ts';
import { explainHeader } from '../engine/explain.ts';
import { IncrementalResult } from '../engine/incremental-result.ts';
import type { EngineRequest } from '../engine/request-context.ts';
import type { AuthenticateWithinLimit } from './auth/authenticate.ts';
import type { IncomingRequest } from './auth/incoming-request.ts';
import { type MediaType, negotiateMediaType } from './http-response.ts';
import { bufferedBody, ClientDisconnected, inflateBody, isGzip, readBody } from './request-body.ts';
import { parseBodyParams } from './request-params.ts';
import { currentActivity } from './request-scope.ts';
import type { SendAnswer } from './send-answer.ts';
import { sendIncremental } from './send-incremental.ts';
import type { ReserveRoom, SerializeResult } from './serialize-result.ts';
import { type IncrementalStream, incrementalStreamOf, streamOf } from './stream-response.ts';

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
    const { accept } = request.headers;
    const [mediaType, stream] = [negotiateMediaType(accept), incrementalStreamOf(accept)];
    if (mediaType === null && stream === null) return null;
    return serve({ request, incoming, response, mediaType, stream, headers }, options);
  };
}

/** Headers that every answer bears, names and values in turn. */
type Headers = readonly string[];

interface PostRequest {
  readonly request: IncomingMessage;
  readonly incoming: IncomingRequest;
  readonly response: ServerResponse;
  /** What it takes one result as; null if it takes only a stream. */
  readonly mediaType: MediaType | null;
  /** What it takes several results as; null if it takes only one. */
  readonly stream: IncrementalStream | null;
  readonly headers: Headers;
}

async function serve(
  { request, incoming, response, mediaType: wanted, stream, headers }: PostRequest,
  { engine, authenticate, serializeResult, sendAnswer, reserveRoom, maxRequestBytes }: GraphQLHandlerOptions,
): Promise<void> {
  let result: EngineResult;
  const mediaType = wanted ?? 'application/graphql-response+json';
  const activity = currentActivity();
  try {
    const credentials = await authenticate(incoming);
    if (activity !== null) activity.credentials = credentials;
    let body: Uint8Array =
      bufferedBody(request, maxRequestBytes) ?? (await readBody(request, maxRequestBytes));
    if (isGzip(request.headers['content-encoding'])) body = await inflateBody(body, maxRequestBytes);
    const params = parseBodyParams(body);
    const asked: EngineRequest = {
      credentials,
      signal: () => abortSignalOf(response),
      idempotencyKeyHeader: () => incoming.header('idempotency-key'),
      explain: explainOf(request),
      reserveRoom: (bytes) => reserveRoom(response, bytes),
      observation: activity,
    };
    const answered =
      stream === null
        ? engine.execute(params, asked)
        : engine.executeIncrementally(params, asked, stream.form);
    result = answered instanceof Promise ? await answered : answered;
  } catch (error) {
    if (error instanceof ClientDisconnected) return;
    result = engine.toErrorResult(error);
  }
  if (result instanceof IncrementalResult) {
    // Only who takes a stream gets one.
    const taken = stream as IncrementalStream;
    return sendIncremental(response, result, { stream: taken, headers, reserveRoom });
  }
  const answer = serializeResult(result, mediaType);
  const sent = wanted === null && stream !== null ? streamOf(answer, stream.type) : answer;
  const sending = sendAnswer(request, response, sent, headers);
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
