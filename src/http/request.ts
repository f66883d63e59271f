import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { RequestError } from '../graphql/errors.ts';
import type { RequestHolder } from '../graphql/request-holder.ts';
import { ownCopy } from '../own-copy.ts';
import { parseMediaType } from './accept.ts';

/**
 * The head of a request, as node:http gives it. Only raw headers distinguish a header that is sent twice from a value with a
 * comma.
 */
export type Head = Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'rawHeaders'>;

/** The parts that identify the caller. */
export type IncomingHead = Pick<Head, 'url' | 'rawHeaders'>;

/** The values of a header, one for each occurrence; `name` in lower case. */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | null = null;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? '';
    if (given.length !== name.length || given.toLowerCase() !== name) continue;
    const value = rawHeaders[at + 1] ?? '';
    // Usually there is only one value: an array that starts empty would reserve room for more.
    if (values === null) values = [value];
    else values.push(value);
  }
  return values ?? [];
}

/**
 * The query of a request target, parsed in the same way everywhere: names and values percent-decoded, without a
 * fragment. The target need not be a valid URL: `//:?a=b` has a query too.
 */
export function queryOf(target: string) {
  const [beforeFragment = ''] = target.split('#', 1);
  const start = beforeFragment.indexOf('?');
  const query = new URLSearchParams(start === -1 ? '' : beforeFragment.slice(start + 1));
  // Documents and the names of callers are kept for longer than the request.
  return { getAll: (name: string): readonly string[] => query.getAll(name).map(ownCopy) };
}

/**
 * Whether a request target is the endpoint's, `/graphql`; a proxy may have put a path in front of it. All other targets are
 * pages, health checks, or not found.
 */
export const isEndpoint = (target: string): boolean => /^[^?#]*\/graphql\/?(?:[?#]|$)/.test(target);

export interface HttpPolicyOptions {
  /** The origins whose pages may call, in lower case: schemes and hosts are the same in upper case. */
  readonly corsOrigins: ReadonlySet<string>;
  /** Further request headers that those pages may send (default: none). */
  readonly corsHeaders?: readonly string[] | undefined;
  /**
   * Requests must name this machine. If the operator's key is used for every client that can connect, a page of another
   * site whose name leads to this machine must not use it.
   */
  readonly onlyLocalNames: boolean;
  /** The longest body, in bytes. A chunked one is measured while it is read. */
  readonly maxRequestBytes: number;
}

/**
 * The status of a refusal: for an invalid Host, or a request that cannot be parsed; one that does not arrive in time; a body that
 * is too long, or of another kind; another machine's name; headers that are too long.
 */
export const httpRefusals = [400, 408, 413, 415, 421, 431] as const;
export type HttpRefusal = (typeof httpRefusals)[number];

/** The headers that the answer has to carry, and the refusal, if the request is not served. */
interface PolicyResult {
  /** Alternating names and values, for writeHead. The array is not shared: the code that answers may append to it. */
  readonly headers: string[];
  readonly requestId: string;
  /** 403: the preflight of a page whose origin is not listed. The browser tells the page only that the call failed. */
  readonly refusal: { readonly status: HttpRefusal | 403; readonly message: string } | null;
}

/** Forbids caching, sniffing, framing, referrers and scripts. GraphiQL's page has its own policy. */
const always = [
  ...['Cache-Control', 'no-store'],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['X-Frame-Options', 'DENY'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** The request headers that a browser and clients of bankql send. */
const requestHeaders =
  'Content-Type, Authorization, Ocp-Apim-Subscription-Key, Auth-Provider-Name, Auth-ID, X-Request-Id, x-bankql-explain, Apollographql-Client-Name, Apollographql-Client-Version';

/** A correlation id as callers choose it: one word, so that a log and an answer can contain it. */
const plainId = /^[\w.:-]{1,128}$/;

/** The value of X-Request-Id: the caller's, if it is a plain one. */
const requestIdOf = (given: IncomingHttpHeaders[string]): string =>
  typeof given === 'string' && plainId.test(given) ? given : randomUUID();

/**
 * Applies HTTP's rules to a request, whatever serves it. The result repeats nothing of the request but a plain
 * correlation id.
 */
export function checkRequest(request: Omit<Head, 'rawHeaders'>, options: HttpPolicyOptions): PolicyResult {
  const { corsOrigins } = options;
  const { method, headers } = request;
  const requestId = requestIdOf(headers['x-request-id']);
  const answer = [...always, 'X-Request-Id', requestId];
  const { origin } = headers;
  if (corsOrigins.size > 0) answer.push('Vary', 'Origin');
  if (origin !== undefined && corsOrigins.has(origin.toLowerCase())) {
    answer.push('Access-Control-Allow-Origin', origin);
    answer.push('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After, WWW-Authenticate');
    if (method === 'OPTIONS') {
      answer.push('Access-Control-Allow-Methods', 'GET, POST');
      answer.push('Access-Control-Allow-Headers', requestHeaders);
      answer.push('Access-Control-Max-Age', '600');
    }
  }
  return { headers: answer, requestId, refusal: findRefusal(request, options) };
}

/** Whether a host's name, as a URL or a socket has it, is this machine's own. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host);

/** Whether this is a type for operations. A page of another origin could send some other types without a preflight. */
const isJsonType = (type: string | null | undefined): boolean =>
  /^application\/(graphql-response\+)?json\s*(;|$)/i.test(type ?? '');

/** Why a body of this type cannot be read, if the type names another character set than UTF-8, the one of JSON. */
function charsetProblem(type = ''): string | null {
  // Most have no parameters, and need no parser.
  const charset = type.includes(';') ? parseMediaType(type.toLowerCase())?.params.get('charset') : null;
  if (/^utf-?8$/.test(charset ?? 'utf-8')) return null;
  return "The body's charset is not UTF-8: send the body in UTF-8.";
}

/** Why a body in these encodings cannot be read; null if it is sent as it is. */
const encodingProblem = (encodings: string): string | null =>
  encodings.split(',').every((each) => /^\s*(?:identity)?\s*$/i.test(each))
    ? null
    : 'The body has a Content-Encoding, and this server does not decompress requests: send the body uncompressed.';

/** The name in a Host header, without the port; null if the header is invalid (RFC 3986). */
const hostnameOf = (host: string): string | null =>
  /^(\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d{0,5})?$/i.exec(host)?.[1] ?? null;

const foreignOrigin =
  'Pages of this origin may not call this server: its operator lists the origins that may in CORS_ORIGINS.';

function findRefusal(
  { method, headers }: Omit<Head, 'rawHeaders'>,
  { corsOrigins, onlyLocalNames, maxRequestBytes }: HttpPolicyOptions,
): PolicyResult['refusal'] {
  const { origin } = headers;
  if (method === 'OPTIONS') {
    const isPreflight = headers['access-control-request-method'] !== undefined;
    if (isPreflight && origin !== undefined && !corsOrigins.has(origin.toLowerCase()))
      return { status: 403, message: foreignOrigin };
  } else {
    // Some health checks send an empty Host.
    const hostname = hostnameOf(headers.host || 'localhost');
    if (hostname === null) return { status: 400, message: 'The Host header is invalid.' };
    if (onlyLocalNames && !isLoopback(hostname))
      return { status: 421, message: 'This server answers to names of its own machine only.' };
  }
  if (Number(headers['content-length'] ?? 0) > maxRequestBytes)
    return { status: 413, message: `The body is longer than ${maxRequestBytes} bytes.` };
  if (method !== 'POST') return null;
  if (!isJsonType(headers['content-type']))
    return { status: 415, message: 'Send the operation as application/json.' };
  const problem =
    charsetProblem(headers['content-type']) ?? encodingProblem(headers['content-encoding'] ?? '');
  return problem === null ? null : { status: 415, message: problem };
}

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
