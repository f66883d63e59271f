import type { ServerResponse } from 'node:http';
import { noRoom } from '../engine/bounded-result.ts';
import type { IncrementalResult } from '../engine/incremental-result.ts';
import { currentActivity } from './request-scope.ts';
import { type ReserveRoom, shortAnswer } from './serialize-result.ts';
import { formParameters, type IncrementalStream, streamFormats } from './stream-response.ts';

export interface SendIncrementalOptions {
  readonly stream: IncrementalStream;
  /** Headers that every answer bears, names and values in turn. */
  readonly headers: readonly string[];
  readonly reserveRoom: ReserveRoom;
}

/**
 * Sends the results of @defer and @stream as they come, at the client's pace: nothing is made of the next one before the
 * network has taken the last. Resolves when all are sent or the client has left.
 */
export async function sendIncremental(
  response: ServerResponse,
  result: IncrementalResult,
  { stream, headers, reserveRoom }: SendIncrementalOptions,
): Promise<void> {
  const { contentType, begin, beforeResult, afterResult, end } = streamFormats[stream.type];
  const mediaType = `${contentType}; ${formParameters[stream.form]}`;
  const activity = currentActivity();
  const payloads = result.payloads();
  try {
    // X-Accel-Buffering: a proxy that collects the whole answer would undo the stream.
    response.writeHead(200, [...headers, 'Content-Type', mediaType, 'X-Accel-Buffering', 'no']);
    response.write(begin);
    let next = await payloads.next();
    while (!next.done && !response.destroyed) {
      const { json } = next.value;
      if (json.length > shortAnswer && !reserveRoom(response, json.length)) {
        next = await payloads.throw(noRoom());
        if (!next.done) continue;
        // There is no room even to say so: an answer that breaks off cannot be taken for a whole one.
        if (!response.destroyed) activity?.brokenOff('OVERLOADED');
        response.destroy();
        break;
      }
      activity?.streamed(200, next.value);
      response.write(beforeResult());
      response.write(json);
      if (!response.write(afterResult)) await drained(response);
      next = await payloads.next();
    }
    if (!response.destroyed) response.end(end);
  } finally {
    await payloads.return();
  }
}

/** When the network has taken what was written, or the client has left. */
const drained = (response: ServerResponse) =>
  new Promise<void>((resolve) => {
    if (response.destroyed) return resolve();
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
