import type { ExecutionResult } from 'graphql';
import type { Engine } from '../engine/engine.ts';
import { refusedForNow } from '../engine/refusal.ts';
import { type HttpAnswer, httpAnswerOf, type MediaType } from './http-answer.ts';

/** Makes a result an answer of HTTP; what cannot be one is a failure of that request. It never throws. */
export type Render = (result: ExecutionResult, mediaType: MediaType) => HttpAnswer;

export const createRender =
  (engine: Pick<Engine, 'refuse'>): Render =>
  (result, mediaType) => {
    try {
      return httpAnswerOf(result, mediaType);
    } catch (error) {
      return httpAnswerOf(engine.refuse(error), mediaType);
    }
  };

/** The answer, or, where there is no room for it to wait for its client, 503. Ask right before it is sent. */
export type Fit = (answer: HttpAnswer) => HttpAnswer;

/** Answers up to this length are always given, in bytes: among them are those of nearly all payments. */
const shortAnswer = 16_384;

const noRoom = () =>
  refusedForNow(
    'OVERLOADED',
    'Too much of other answers waits to be read, and this one is long. What the request changed stands.',
    503,
    1,
  );

/** `hasRoomFor` says whether so many bytes more may wait. */
export const createFit =
  (engine: Pick<Engine, 'refuse'>, hasRoomFor: (bytes: number) => boolean): Fit =>
  (answer) =>
    // No character takes more than three bytes.
    answer.body.length * 3 <= shortAnswer || hasRoomFor(Buffer.byteLength(answer.body))
      ? answer
      : httpAnswerOf(engine.refuse(noRoom()), 'application/json');
