import type { IncomingMessage } from 'node:http';
import { RequestError } from '../graphql/errors.ts';
import type { RequestHolder } from '../graphql/request-holder.ts';
import { queryOf } from './head.ts';

/** The client disconnected before its request was complete. Nobody waits for an answer. */
export class ClientDisconnected extends Error {}

/** The error if the host server, in which bankql is mounted, has read the body and not kept it. */
export const bodyWasRead = new RequestError(
  'INTERNAL',
  'The body was read before bankql: pass it as `request.body`, or mount bankql before the parser.',
  { http: { status: 500 } },
);

const tooLong = (maxBytes: number) =>
  new RequestError('BAD_USER_INPUT', `The body is longer than ${maxBytes} bytes.`, { http: { status: 413 } });

/**
 * Reads the body of a request of node:http. A server in which bankql is mounted may have a parser that has read the body into
 * `body`.
 * Errors: RequestError (413 if it is too long, 503 if too much is arriving); ClientDisconnected; bodyWasRead.
 */
export async function readBody(
  request: IncomingMessage & { readonly body?: unknown },
  maxBytes: number,
  holder: Pick<RequestHolder, 'awaitMore'>,
): Promise<Uint8Array> {
  if (request.body !== undefined) return within(maxBytes, textOf(request.body));
  // The body was read already; reading it again would never end.
  if (request.readableDidRead) throw bodyWasRead;
  // Node passes on a request before it has parsed the body. The body is nearly always in the same packet, and is then complete
  // before this iteration of the event loop ends. Listening for its parts would make a short request take a quarter longer.
  if (!request.complete) await new Promise(setImmediate);
  if (request.destroyed) throw new ClientDisconnected();
  if (!request.complete) {
    holder.awaitMore(0);
    return readEvents(request, new ArrivingBody(maxBytes, holder));
  }
  return within(maxBytes, request.read() ?? Buffer.alloc(0));
}

/**
 * The bytes of a body that a parser has put into `body`: a text is encoded, an object becomes JSON, and bytes stay as they are.
 */
function textOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** The bytes, unless there are too many. Errors: RequestError 413. */
function within(maxBytes: number, bytes: Uint8Array): Uint8Array {
  if (bytes.length > maxBytes) throw tooLong(maxBytes);
  return bytes;
}

/**
 * A body that arrives. Its bytes are counted for the caller. Each chunk is copied at once: a client may send chunks of one byte, and
 * each would take 500 bytes until the end of the body.
 */
class ArrivingBody {
  readonly #maxBytes: number;
  readonly #holder: Pick<RequestHolder, 'awaitMore'>;
  #buffer = new Uint8Array(0);
  #size = 0;

  constructor(maxBytes: number, holder: Pick<RequestHolder, 'awaitMore'>) {
    this.#maxBytes = maxBytes;
    this.#holder = holder;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  /** Errors: RequestError (413 if the body is too long, 503 if too much is arriving). */
  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length;
    if (size > this.#maxBytes) throw tooLong(this.#maxBytes);
    this.#holder.awaitMore(chunk.length);
    if (size > this.#buffer.length) {
      const grown = new Uint8Array(Math.min(2 * size, this.#maxBytes));
      grown.set(this.bytes);
      this.#buffer = grown;
    }
    this.#buffer.set(chunk, this.#size);
    this.#size = size;
  }
}

/** Reads a body from the events of its request: an iterator takes 30 times as long for short chunks. Errors: as readChunks. */
const readEvents = (request: IncomingMessage, body: ArrivingBody): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const leave = () => reject(new ClientDisconnected());
    const take = (chunk: Buffer) => {
      try {
        body.add(chunk);
      } catch (error) {
        // The rest of a refused body is read and dropped.
        request.off('data', take).resume();
        reject(error);
      }
    };
    request.on('data', take);
    request.on('end', () => resolve(body.bytes));
    request.on('error', leave);
    request.on('close', leave);
  });

/**
 * Reads a body to its end. Errors: RequestError (413 if it is too long, 503 if too much is arriving); ClientDisconnected.
 */
export async function readChunks(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  holder: Pick<RequestHolder, 'awaitMore'>,
): Promise<Uint8Array> {
  const body = new ArrivingBody(maxBytes, holder);
  try {
    for await (const chunk of chunks) body.add(chunk);
  } catch (error) {
    throw error instanceof RequestError ? error : new ClientDisconnected();
  }
  return body.bytes;
}

/** Decodes UTF-8, and throws at invalid bytes. A byte order mark at the beginning is dropped. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The parameters in the body of a POST. If two members have the same name, the last one counts, as with JSON.parse.
 * Errors: BAD_USER_INPUT.
 */
export function parseBodyParams(bytes: Uint8Array): unknown {
  let params: unknown;
  try {
    params = JSON.parse(utf8.decode(bytes));
  } catch {
    throw new RequestError('BAD_USER_INPUT', 'The body is not JSON in UTF-8.');
  }
  return bounded(params, 'The body');
}

/**
 * The parameters in the URL of a GET. If two have the same name, the last one counts.
 * Errors: BAD_USER_INPUT.
 */
export function parseUrlParams(url: string): unknown {
  const query = queryOf(url);
  const text = (name: string) => query.getAll(name).at(-1);
  const json = (name: string): unknown => {
    const given = text(name);
    try {
      return given === undefined || given === '' ? undefined : JSON.parse(given.replace(/^\uFEFF/, ''));
    } catch {
      throw new RequestError('BAD_USER_INPUT', `The URL's "${name}" is not JSON.`);
    }
  };
  const params = {
    query: text('query'),
    operationName: text('operationName') || undefined,
    documentId: text('documentId'),
    doc_id: text('doc_id'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
  return bounded(params, 'The URL');
}

/** The maximum depth of a request's JSON. No input of the schema is half as deep. */
const maxDepth = 32;
/** The maximum number of texts, objects and lists in a request. No operation needs more. */
const maxParts = 4000;

/**
 * The parameters, unless they are too deep or have too many parts. Visits them level by level, because recursion could overflow the
 * stack. Errors: BAD_USER_INPUT.
 */
function bounded(params: unknown, source: 'The body' | 'The URL'): unknown {
  let parts = 0;
  let level: readonly unknown[] = [params];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth)
      throw new RequestError('BAD_USER_INPUT', `${source} is more than ${maxDepth} levels deep.`);
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      const isList = Array.isArray(value);
      const members: readonly unknown[] = isList ? value : Object.values(value);
      // The name of a member counts as a text too.
      if (!isList) parts += members.length;
      for (const member of members) {
        if (typeof member === 'object' && member !== null) below.push(member);
        else if (typeof member !== 'string') continue;
        parts++;
      }
    }
    if (parts > maxParts)
      throw new RequestError('BAD_USER_INPUT', `${source} has more than ${maxParts} parts.`);
    level = below;
  }
  return params;
}
