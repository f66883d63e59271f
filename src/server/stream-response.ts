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

type Body = GraphQLHttpResponse['body'];

const joined = (before: string, body: Body, after: string): Body =>
  Buffer.concat([Buffer.from(before), Buffer.from(body), Buffer.from(after)]);

const eventsOf = (body: Body) => joined(':\n\nevent: next\ndata: ', body, '\n\nevent: complete\ndata:\n\n');

const partsOf = (body: Body) => {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const head = ['', '---', 'Content-Type: application/json; charset=utf-8', length, '', ''];
  return joined(head.join('\r\n'), body, '\r\n-----\r\n');
};

/**
 * A stream of one result, made before any of it is sent: what fails while it is made is answered as a failure, and never a
 * stream without an end.
 */
export const streamOf = (answer: GraphQLHttpResponse, type: StreamType): GraphQLHttpResponse =>
  type === 'text/event-stream'
    ? { ...answer, headers: withType(answer.headers, 'text/event-stream'), body: eventsOf(answer.body) }
    : {
        ...answer,
        headers: withType(answer.headers, 'multipart/mixed; boundary="-"'),
        body: partsOf(answer.body),
      };

const withType = (headers: readonly string[], type: string) =>
  headers.map((text, at) => (headers[at - 1] === 'Content-Type' ? type : text));
