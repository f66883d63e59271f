import { slices } from '../load/slices.ts';
import { readingAnswer } from './answer.ts';
import type { Call } from './call.ts';
import type { HttpResponse } from './http-message.ts';
import type { ReadResult } from './shared-reads.ts';

/**
 * Answers up to this length, in bytes, are parsed at once, in less than 0.1 ms. A longer answer waits for a slice of time
 * (slices.ts).
 */
const shortAnswer = 8 * 1024;

/** Parses a successful response and ends the call. A long answer waits for slices of time, unless all readers leave. */
export function readInSlices(call: Call, response: HttpResponse): void {
  if (response.body.length > shortAnswer && !slices.hasTime) whenTime(call, () => read(call, response));
  else read(call, response);
}

function whenTime(call: Call, work: () => void): void {
  slices.wait({ caller: call.countedAs }).then(() => {
    if (!call.isOver) work();
  });
}

function read(call: Call, response: HttpResponse): void {
  const plain = call.target.readPlain(response, call.keepDigits);
  if (plain !== undefined) call.settle(resultOf(call, response, plain, true), null);
  else interpret(call, response, readingAnswer(call, response, call.target.services));
}

/** Interprets an answer that is not plain. When the slice of time is used up, it continues in the next one. */
function interpret(call: Call, response: HttpResponse, reading: ReturnType<typeof readingAnswer>): void {
  let step: ReturnType<typeof reading.next>;
  try {
    do step = reading.next();
    while (!step.done && slices.hasTime);
  } catch (error) {
    call.settle(null, error);
    return;
  }
  if (step.done) call.settle(resultOf(call, response, step.value.answer, step.value.isValid), null);
  else whenTime(call, () => interpret(call, response, reading));
}

const resultOf = (
  { trackId }: Call,
  { status, body }: HttpResponse,
  answer: unknown,
  isValid: boolean,
): ReadResult => ({ answer, trackId, status, bytes: body.length, isValid });
