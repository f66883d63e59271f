import type { ServerResponse } from 'node:http';
import type { IncrementalForm, IncrementalResult } from '../engine/engine.ts';
import { noRoom } from '../engine/result.ts';
import { type MediaRange, mediaRanges } from './accept-header.ts';
import { type Clock, realClock } from './clock.ts';
import { currentActivity } from './request-scope.ts';
import { type GraphQLHttpResponse, type HoldingResponse, shortAnswer } from './response.ts';

/** Media types in which several results can be answered, one after the other. */
type StreamType = 'text/event-stream' | 'multipart/mixed';

export interface IncrementalStream {
  readonly type: StreamType;
  readonly form: IncrementalForm;
  /** The parameter by which the client asked for the form, which its answer repeats. */
  readonly spec: string;
}

/**
 * How a client takes the results of @defer and @stream, by its `Accept`; null if it does not. A client that names no form
 * of them gets that of 2022, which such clients know, for example urql.
 */
export function incrementalStreamOf(accept: string | undefined): IncrementalStream | null {
  if (accept === undefined || !/event-stream|multipart/i.test(accept)) return null;
  const wanted = mediaRanges(accept).filter(({ weight }) => weight > 0);
  for (const { type, parameters } of wanted.toSorted((a, b) => b.weight - a.weight)) {
    if (type !== 'text/event-stream' && type !== 'multipart/mixed') continue;
    const named = namedForm(parameters);
    if (named !== null) return { type, ...named };
  }
  return null;
}

const old = { spec: 'deferSpec=20220824', form: '20220824' } as const;

/** The names of the forms. Two are of one form: 3283f8a is the commit of the specification that v0.2 is. */
const namedForms: readonly Omit<IncrementalStream, 'type'>[] = [
  { spec: 'incrementalSpec=v0.2', form: 'v0.2' },
  { spec: 'incrementalDeliverySpec=3283f8a', form: 'v0.2' },
  old,
];

/** Null for a form that bankql does not have. */
function namedForm(parameters: MediaRange['parameters']): Omit<IncrementalStream, 'type'> | null {
  let isNamed = false;
  for (const named of namedForms) {
    const [name = '', value] = named.spec.toLowerCase().split('=');
    if (parameters.get(name) === value) return named;
    isNamed ||= parameters.has(name);
  }
  return isNamed ? null : old;
}

interface StreamFormat {
  readonly contentType: string;
  readonly begin: string;
  /** Text that clients ignore; null if the format has no such text. */
  readonly ping: string | null;
  /** `bytes` is the result's length, if it is known. */
  readonly beforeResult: (bytes?: number) => string;
  readonly afterResult: string;
  readonly end: string;
}

const streamFormats: Readonly<Record<StreamType, StreamFormat>> = {
  'text/event-stream': {
    contentType: 'text/event-stream',
    begin: ':\n\n',
    ping: ':\n\n',
    beforeResult: () => 'event: next\ndata: ',
    afterResult: '\n\n',
    end: 'event: complete\ndata:\n\n',
  },
  // A part ends with the boundary behind it: a client would wait for it otherwise.
  'multipart/mixed': {
    contentType: 'multipart/mixed; boundary="-"',
    begin: '\r\n---',
    ping: null,
    beforeResult: (bytes) => {
      const length = bytes === undefined ? '' : `Content-Length: ${bytes}\r\n`;
      return `\r\nContent-Type: application/json; charset=utf-8\r\n${length}\r\n`;
    },
    afterResult: '\r\n---',
    end: '--\r\n',
  },
};

/**
 * A stream of one result, made before any of it is sent: what fails while it is made is answered as a failure, and never a
 * stream without an end.
 */
export function streamOf(answer: GraphQLHttpResponse, type: StreamType): GraphQLHttpResponse {
  const { contentType, begin, beforeResult, afterResult, end } = streamFormats[type];
  const body = Buffer.from(answer.body);
  return {
    ...answer,
    // Clients of event streams show the events of a 200, and of other answers only that they failed.
    status: type === 'text/event-stream' && answer.status === 400 ? 200 : answer.status,
    headers: withType(answer.headers, contentType),
    body: Buffer.concat([
      Buffer.from(begin + beforeResult(body.length)),
      body,
      Buffer.from(afterResult + end),
    ]),
  };
}

const withType = (headers: readonly string[], type: string) =>
  headers.map((text, at) => (headers[at - 1] === 'Content-Type' ? type : text));

interface SendIncrementalOptions {
  readonly stream: IncrementalStream;
  /** Headers that every answer bears, names and values in turn. */
  readonly headers: readonly string[];
  readonly every?: Clock['every'];
}

/** How long a stream may be silent: proxies and load balancers end silent connections, most after 15 s or more. */
const pingMs = 12_000;

/**
 * Sends the results of @defer and @stream as they come, at the client's pace: nothing is made of the next one before the
 * network has taken the last. Resolves when all are sent or the client has left.
 */
export async function sendIncremental(
  response: HoldingResponse,
  result: IncrementalResult,
  { stream, headers, every = realClock.every }: SendIncrementalOptions,
): Promise<void> {
  const { contentType, begin, ping, beforeResult, afterResult, end } = streamFormats[stream.type];
  const mediaType = `${contentType}; ${stream.spec}`;
  const activity = currentActivity();
  const payloads = result.payloads();
  const stopPings =
    ping === null
      ? () => {}
      : every(pingMs, () => {
          if (response.headersSent && !response.writableNeedDrain && !response.writableEnded)
            response.write(ping);
        });
  try {
    // X-Accel-Buffering: a proxy that collects the whole answer would undo the stream.
    response.writeHead(200, [...headers, 'Content-Type', mediaType, 'X-Accel-Buffering', 'no']);
    response.write(begin);
    let next = await payloads.next();
    while (!next.done && !response.destroyed) {
      const { json } = next.value;
      if (json.length > shortAnswer && !response.reserveRoom(json.length)) {
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
    stopPings();
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
