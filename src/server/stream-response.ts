import type { IncrementalForm } from '../engine/incremental-result.ts';
import { type GraphQLHttpResponse, typesIn } from './http-response.ts';

/** Media types in which several results can be answered, one after the other. */
export type StreamType = 'text/event-stream' | 'multipart/mixed';

const streamTypes: Readonly<Record<string, StreamType>> = {
  'text/event-stream': 'text/event-stream',
  'text/*': 'text/event-stream',
  'multipart/mixed': 'multipart/mixed',
  'multipart/*': 'multipart/mixed',
};

/** The stream that a client takes, by its `Accept`; null where it takes none. */
export function streamTypeOf(accept: string | undefined): StreamType | null {
  for (const type of typesIn(accept ?? '')) {
    const stream = Object.hasOwn(streamTypes, type) ? streamTypes[type] : undefined;
    if (stream !== undefined) return stream;
  }
  return null;
}

/** How a client takes the results of @defer and @stream. */
export interface IncrementalStream {
  readonly type: StreamType;
  readonly form: IncrementalForm;
}

const parameter = /;\s*(deferspec|incrementalspec)=\s*"?([^\s;"]*)/;

/**
 * How a client takes the results of @defer and @stream, by its `Accept`; null where it does not. Who names no form of them
 * gets that of 2022, which those clients know, such as urql.
 */
export function incrementalStreamOf(accept: string | undefined): IncrementalStream | null {
  if (accept === undefined || !/event-stream|multipart/i.test(accept)) return null;
  for (const range of accept.toLowerCase().split(',')) {
    const [type] = typesIn(range);
    if (type !== 'text/event-stream' && type !== 'multipart/mixed') continue;
    const [, name, value = ''] = parameter.exec(range) ?? [];
    if (name === undefined || `${name}=${value}` === 'deferspec=20220824') return { type, form: '20220824' };
    if (`${name}=${value}` === 'incrementalspec=v0.2') return { type, form: 'v0.2' };
  }
  return null;
}

/** The parameter of the media type that names the form. */
export const formParameters: Readonly<Record<IncrementalForm, string>> = {
  '20220824': 'deferSpec=20220824',
  'v0.2': 'incrementalSpec=v0.2',
};

/** How results are written in a stream, one after the other. */
interface StreamFormat {
  readonly contentType: string;
  readonly begin: string;
  /** `bytes` is the result's length, where it is told. */
  readonly beforeResult: (bytes?: number) => string;
  readonly afterResult: string;
  readonly end: string;
}

export const streamFormats: Readonly<Record<StreamType, StreamFormat>> = {
  'text/event-stream': {
    contentType: 'text/event-stream',
    begin: ':\n\n',
    beforeResult: () => 'event: next\ndata: ',
    afterResult: '\n\n',
    end: 'event: complete\ndata:\n\n',
  },
  // A part ends with the boundary behind it: a client would wait for it otherwise.
  'multipart/mixed': {
    contentType: 'multipart/mixed; boundary="-"',
    begin: '\r\n---',
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
