import type { ServerResponse } from 'node:http';
import { type ExecutionResult, GraphQLError } from 'graphql';
import { BoundedResult } from '../engine/bounded-result.ts';
import type { Engine } from '../engine/engine.ts';
import { retryLaterError } from '../engine/request-error.ts';
import { type GraphQLHttpResponse, type MediaType, toHttpResponse } from './http-response.ts';

/** Makes a result an answer of HTTP; what cannot be one is a failure of that request. It never throws. */
export type SerializeResult = (result: ExecutionResult, mediaType: MediaType) => GraphQLHttpResponse;

export const createResultSerializer =
  (engine: Pick<Engine, 'toErrorResult'>): SerializeResult =>
  (result, mediaType) => {
    try {
      return toHttpResponse(result, mediaType);
    } catch (error) {
      return toHttpResponse(engine.toErrorResult(error), mediaType);
    }
  };

/**
 * The answer, or, where there is no room for it to wait for its client, 503 with what its operation did. Ask right before
 * it is sent.
 */
export type LimitPending = (answer: GraphQLHttpResponse, response: ServerResponse) => GraphQLHttpResponse;

/** Whether so many bytes more may wait for the client of this response. */
export type HasRoomFor = (response: ServerResponse, bytes: number) => boolean;

/** Answers up to this length are always given, in bytes: among them are those of nearly all payments. */
const shortAnswer = 16_384;

const noRoom = () =>
  retryLaterError(
    'OVERLOADED',
    'Too much of other answers waits to be read, and this one is long. What the request changed stands.',
    503,
    1,
  );

/** What did something must not come again as it is: its error says what it did, and not when to try again. */
function unlessItDid(result: ExecutionResult): ExecutionResult {
  const [error] = result.errors ?? [];
  if (error === undefined) return result;
  const { retryAfter: _, ...extensions } = error.extensions;
  const isDone = extensions.writes !== undefined || extensions.idempotencyKey !== undefined;
  if (!isDone) return result;
  const final = { ...extensions, retryable: false, http: { status: 503 } };
  return { ...result, errors: [new GraphQLError(error.message, { extensions: final })] };
}

export const createPendingLimit =
  (engine: Pick<Engine, 'toErrorResult'>, hasRoomFor: HasRoomFor): LimitPending =>
  (answer, response) => {
    const { body, result } = answer;
    const bytes = Buffer.byteLength(body);
    if (bytes <= shortAnswer || hasRoomFor(response, bytes)) return answer;
    const refused =
      result instanceof BoundedResult ? unlessItDid(result.failed(noRoom())) : engine.toErrorResult(noRoom());
    return toHttpResponse(refused, 'application/json');
  };
