import type { ExecutionResult } from 'graphql';
import type { Engine } from '../engine/engine.ts';
import { retryLaterError } from '../engine/request-error.ts';
import { type GraphQLHttpResponse, type MediaType, toHttpResponse } from './http-response.ts';

/** Makes a result an answer of HTTP; what cannot be one is a failure of that request. It never throws. */
export type Render = (result: ExecutionResult, mediaType: MediaType) => GraphQLHttpResponse;

export const createRender =
  (engine: Pick<Engine, 'toErrorResult'>): Render =>
  (result, mediaType) => {
    try {
      return toHttpResponse(result, mediaType);
    } catch (error) {
      return toHttpResponse(engine.toErrorResult(error), mediaType);
    }
  };

/** The answer, or, where there is no room for it to wait for its client, 503. Ask right before it is sent. */
export type LimitPending = (answer: GraphQLHttpResponse) => GraphQLHttpResponse;

/** Answers up to this length are always given, in bytes: among them are those of nearly all payments. */
const shortAnswer = 16_384;

const noRoom = () =>
  retryLaterError(
    'OVERLOADED',
    'Too much of other answers waits to be read, and this one is long. What the request changed stands.',
    503,
    1,
  );

/** `hasRoomFor` says whether so many bytes more may wait. */
export const createPendingLimit =
  (engine: Pick<Engine, 'toErrorResult'>, hasRoomFor: (bytes: number) => boolean): LimitPending =>
  (answer) =>
    // No character takes more than three bytes.
    answer.body.length * 3 <= shortAnswer || hasRoomFor(Buffer.byteLength(answer.body))
      ? answer
      : toHttpResponse(engine.toErrorResult(noRoom()), 'application/json');
