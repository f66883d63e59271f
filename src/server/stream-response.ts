import { type GraphQLHttpResponse, typesIn } from './http-response.ts';

/** Media types in which several results can be answered, one after the other. */
type StreamType = 'text/event-stream' | 'multipart/mixed';

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

const eventsOf = (body: string) => `:\n\nevent: next\ndata: ${body}\n\nevent: complete\ndata:\n\n`;

const partsOf = (body: string) =>
  [
    '',
    '---',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
    '-----',
    '',
  ].join('\r\n');

/**
 * A stream of one result, made before any of it is sent: what fails while it is made is answered as a failure, and never a
 * stream without an end.
 */
export const streamOf = (
  { status, headers, body }: GraphQLHttpResponse,
  type: StreamType,
): GraphQLHttpResponse =>
  type === 'text/event-stream'
    ? { status, headers: withType(headers, 'text/event-stream'), body: eventsOf(body) }
    : { status, headers: withType(headers, 'multipart/mixed; boundary="-"'), body: partsOf(body) };

const withType = (headers: readonly string[], type: string) =>
  headers.map((text, at) => (headers[at - 1] === 'Content-Type' ? type : text));
