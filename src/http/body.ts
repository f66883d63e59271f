import type { IncomingMessage } from 'node:http';
import { RequestError } from '../graphql/errors.ts';
import type { RequestHolder } from '../graphql/request-holder.ts';
import { queryOf } from './head.ts';

/** The client disconnected before its request was complete. Nobody waits for an answer. */
export class ClientDisconnected extends Error {}

const tooLong = (maxBytes: number) =>
  new RequestError('BAD_USER_INPUT', `The body is longer than ${maxBytes} bytes.`, { http: { status: 413 } });

/**
 * Reads the body of a request of node:http. A server in which bankql is mounted may have a parser that has read the body into
 * `body`.
 * Errors: as readChunks.
 */
export async function readBody(
  request: IncomingMessage & { readonly body?: unknown },
  maxBytes: number,
  holder: Pick<RequestHolder, 'awaitMore'>,
): Promise<Uint8Array> {
  // Reading a stream that was read already would never end.
  const { body } = request;
  if (body instanceof Uint8Array) return body;
  if (body !== undefined) return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  // Node passes on a request before it has parsed the body. The body is nearly always in the same packet, and is then complete
  // before this iteration of the event loop ends. Listening for its parts would add a quarter to a short request's time.
  if (!request.complete) await new Promise(setImmediate);
  if (request.destroyed) throw new ClientDisconnected();
  if (!request.complete) {
    holder.awaitMore(0);
    try {
      return await readChunks(request.iterator({ destroyOnReturn: false }), maxBytes, holder);
    } finally {
      // The rest of a body that is refused is dropped as it comes.
      request.resume();
    }
  }
  const whole: Buffer = request.read() ?? Buffer.alloc(0);
  if (whole.length > maxBytes) throw tooLong(maxBytes);
  return whole;
}

/**
 * Reads a body to its end. Its bytes are counted for the caller as they arrive.
 * Errors: RequestError (413 if it is too long, 503 if too much is arriving); ClientDisconnected.
 */
export async function readChunks(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  holder: Pick<RequestHolder, 'awaitMore'>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > maxBytes) throw tooLong(maxBytes);
      holder.awaitMore(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof RequestError ? error : new ClientDisconnected();
  }
  return Buffer.concat(chunks);
}

/** A byte order mark in front of a text is dropped. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The parameters in the body of a POST. Nothing is guessed: of two members with one name JSON.parse would take the last, and most
 * decoders would replace bytes that are no UTF-8 by U+FFFD.
 * Errors: BAD_USER_INPUT.
 */
export function parseBodyParams(bytes: Uint8Array): unknown {
  let problem: string | null;
  let body: unknown;
  try {
    const text = utf8.decode(bytes);
    problem = findProblem(text);
    if (problem === null) body = JSON.parse(text);
  } catch {
    problem = 'is not JSON in UTF-8';
  }
  if (problem !== null) throw new RequestError('BAD_USER_INPUT', `The body ${problem}.`);
  return body;
}

/** The parameters in the URL of a GET. Errors: BAD_USER_INPUT. */
export function parseUrlParams(url: string): unknown {
  const query = queryOf(url);
  const text = (name: string) => {
    const [value, ...others] = query.getAll(name);
    if (others.length === 0) return value;
    throw new RequestError(
      'BAD_USER_INPUT',
      `The URL gives "${name}" ${others.length + 1} times; give it once.`,
    );
  };
  const json = (name: string): unknown => {
    const given = text(name);
    try {
      return given === undefined || given === '' ? undefined : JSON.parse(given.replace(/^\uFEFF/, ''));
    } catch {
      throw new RequestError('BAD_USER_INPUT', `The URL's "${name}" is not JSON.`);
    }
  };
  return {
    query: text('query'),
    operationName: text('operationName') || undefined,
    documentId: text('documentId'),
    doc_id: text('doc_id'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
}

/** No input of the schema is half as deep. */
const maxDepth = 32;
/** The most texts, objects and lists in a body. No operation needs more. */
const maxParts = 4000;

/**
 * Finds problems that JSON.parse accepts: JSON that is too deep or has too many parts, or two members
 * with one name. Examines only brackets, commas and texts: JSON.parse finds all other errors.
 */
function findProblem(text: string): string | null {
  /** The names so far in each open object; null for an open list. */
  const open: (Set<string> | null)[] = [];
  let parts = 0;
  /** Whether the next text is the name of a member. */
  let beforeName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        open.push(new Set());
        beforeName = true;
        break;
      case '[':
        open.push(null);
        beforeName = false;
        break;
      case '}':
      case ']':
        open.pop();
        continue;
      case ',':
        beforeName = open.at(-1) instanceof Set;
        continue;
      case '"': {
        const end = endOfText(text, at);
        if (beforeName) {
          const written = text.slice(at, end + 1);
          const name: string = written.includes('\\') ? JSON.parse(written) : written.slice(1, -1);
          if (open.at(-1)?.has(name)) return 'names a member twice in one object';
          open.at(-1)?.add(name);
          beforeName = false;
        }
        at = end;
        break;
      }
      default:
        continue;
    }
    if (++parts > maxParts) return `has more than ${maxParts} parts`;
    if (open.length > maxDepth) return `is more than ${maxDepth} levels deep`;
  }
  return null;
}

/** The position of the quote that ends the text which begins at `start`; the end of all, if there is no such quote. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
