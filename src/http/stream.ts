import { lengthOf, type Payload } from '../graphql/result.ts';
import type { IncrementalStream } from './accept.ts';
import type { Body, StreamedAnswer, WholeAnswer } from './exchange.ts';
import type { GraphQLHttpResponse } from './respond.ts';

/** The framing of results in a media type. */
interface Framing {
  readonly contentType: string;
  readonly start: string;
  /** The texts before and after a result of this length, in bytes. */
  around(bytes: number): readonly [before: string, after: string];
  readonly end: string;
  /**
   * Bytes to send while no result is ready, so that no proxy closes the connection; null if nothing is sent
   * meanwhile.
   */
  readonly ping: string | null;
}

const framings: Readonly<Record<IncrementalStream['type'], Framing>> = {
  'text/event-stream': {
    contentType: 'text/event-stream',
    // Bytes are sent at once, because some browsers deliver no answer before its first bytes arrive.
    start: ':\n\n',
    around: () => ['event: next\ndata: ', '\n\n'],
    end: 'event: complete\ndata:\n\n',
    ping: ':\n\n',
  },
  'multipart/mixed': {
    contentType: 'multipart/mixed; boundary="-"',
    start: '\r\n---',
    around: (bytes) => [
      `\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${bytes}\r\n\r\n`,
      '\r\n---',
    ],
    end: '--\r\n',
    ping: null,
  },
};

/** A result with its framing. It is sent as a whole, so that all of it is counted until its client has read it. */
function framedJson({ around }: Framing, json: Payload['json']): Body {
  const [before, after] = around(lengthOf(json));
  return typeof json === 'string'
    ? `${before}${json}${after}`
    : Buffer.concat([Buffer.from(before), ...json, Buffer.from(after)]);
}

const pingMs = 12_000;

/** The answer with the several results of an operation, in the form that the client accepts. */
export function streamOf(results: AsyncIterable<Payload>, { type, spec }: IncrementalStream): StreamedAnswer {
  const framing = framings[type];
  const contentType = `${framing.contentType}; ${spec}`;
  return {
    status: 200,
    // X-Accel-Buffering tells proxies not to collect the whole answer before they pass it on.
    headers: ['Content-Type', contentType, 'X-Accel-Buffering', 'no'],
    chunks: framed(results, framing),
  };
}

async function* framed(results: AsyncIterable<Payload>, framing: Framing): AsyncGenerator<Body, void> {
  const { start, end, ping } = framing;
  yield start;
  const iterator = results[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ; ) {
      const result = await (ping === null ? next : within(pingMs, next));
      if (result === null) yield ping ?? '';
      else if (result.done === true) break;
      else {
        yield framedJson(framing, result.value.json);
        next = iterator.next();
      }
    }
    yield end;
  } finally {
    await iterator.return?.();
  }
}

/** The result of a promise; null if it takes longer. */
async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, milliseconds, null);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The answer with a single result for a client that accepts only a stream: a stream with one result. */
export function streamOfOne(answer: GraphQLHttpResponse, { type }: IncrementalStream): WholeAnswer {
  const framing = framings[type];
  const { contentType, start, end } = framing;
  const { status, headers, body } = answer;
  return {
    // Clients of event streams show the events of a 200. For other statuses, they show only that the request failed.
    status: status === 400 && type === 'text/event-stream' ? 200 : status,
    headers: ['Content-Type', contentType, ...headers.slice(2)],
    body: `${start}${framedJson(framing, String(body))}${end}`,
  };
}
