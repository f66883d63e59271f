import type { ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import { BoundedResult, noRoom } from '../engine/bounded-result.ts';
import type { Engine } from '../engine/engine.ts';
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

/**
 * Reserves room for so many bytes to wait for the client of this response until they are written, in the place of what
 * was reserved for it before; false where there is none.
 */
export type ReserveRoom = (response: ServerResponse, bytes: number) => boolean;

/** Answers up to this length are always given, in bytes: among them are those of nearly all payments. */
export const shortAnswer = 16_384;

export const createPendingLimit =
  (engine: Pick<Engine, 'toErrorResult'>, reserveRoom: ReserveRoom): LimitPending =>
  (answer, response) => {
    const { body, result } = answer;
    const bytes = Buffer.byteLength(body);
    if (bytes <= shortAnswer || reserveRoom(response, bytes)) return answer;
    const refused = result instanceof BoundedResult ? result.withoutRoom() : engine.toErrorResult(noRoom());
    return toHttpResponse(refused, 'application/json');
  };
