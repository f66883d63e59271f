import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseMediaType } from './accept.ts';
import type { Head } from './head.ts';
import { isLoopback } from './loopback.ts';

export interface HttpPolicyOptions {
  /** The origins whose pages may send requests, in lower case, because schemes and hosts are case-insensitive. */
  readonly corsOrigins: ReadonlySet<string>;
  /**
   * Whether `Host` must be a name of this machine. If bankql uses the operator's key for every client, this keeps out a page of
   * another site whose domain name resolves to this machine (DNS rebinding).
   */
  readonly onlyLocalNames: boolean;
  /** Whether a request from a page of an unlisted origin is refused. By default it is served, and the browser hides the answer. */
  readonly onlyListedOrigins?: boolean;
  /** The longest body, in bytes. A chunked body is measured while it is read. */
  readonly maxRequestBytes: number;
}

/**
 * The statuses of refusals: an invalid Host or a request that cannot be parsed (400); a request that does not arrive in time
 * (408); a body that is too long (413) or of another type (415); another machine's name (421); headers that are too long (431).
 */
export const httpRefusals = [400, 408, 413, 415, 421, 431] as const;
export type HttpRefusal = (typeof httpRefusals)[number];

/** The headers that the answer must have, and the refusal if the request is not served. */
interface PolicyResult {
  /** Alternating names and values, for writeHead. The array is not shared: the code that answers may append to it. */
  readonly headers: string[];
  readonly requestId: string;
  /**
   * Status 403: a page of an unlisted origin has sent a preflight, or a request to an endpoint that is only for listed
   * origins. The browser tells the page no more than that the call failed.
   */
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

/** A correlation id that bankql accepts from a caller: one word, so that a log and an answer can contain it. */
const plainId = /^[\w.:-]{1,128}$/;

/** The value of X-Request-Id: the caller's if it is a plain id, otherwise a new one. */
const requestIdOf = (given: IncomingHttpHeaders[string]): string =>
  typeof given === 'string' && plainId.test(given) ? given : randomUUID();

/**
 * Applies the rules of HTTP to a request, whatever serves it. Of the request's own text, the result contains only a plain
 * correlation id and, for a listed origin, the headers that its preflight asks for.
 */
export function checkRequest(request: Omit<Head, 'rawHeaders'>, options: HttpPolicyOptions): PolicyResult {
  const { corsOrigins } = options;
  const { method, headers } = request;
  const requestId = requestIdOf(headers['x-request-id']);
  const answer = [...always, 'X-Request-Id', requestId];
  const { origin } = headers;
  const isPreflight = method === 'OPTIONS';
  if (corsOrigins.size > 0)
    answer.push('Vary', isPreflight ? 'Origin, Access-Control-Request-Headers' : 'Origin');
  if (origin !== undefined && corsOrigins.has(origin.toLowerCase())) {
    answer.push('Access-Control-Allow-Origin', origin);
    answer.push('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After, WWW-Authenticate');
    if (isPreflight) {
      answer.push('Access-Control-Allow-Methods', 'GET, POST');
      // Any header is allowed, because tracers add headers such as traceparent and sentry-trace to every request of a page.
      const asked = headers['access-control-request-headers'];
      if (asked !== undefined) answer.push('Access-Control-Allow-Headers', asked);
      answer.push('Access-Control-Max-Age', '600');
    }
  }
  return { headers: answer, requestId, refusal: findRefusal(request, options) };
}

/**
 * Why a body of this type is not read; null if it is JSON in UTF-8. Only JSON is read, because a page of another origin could
 * send some other types without a preflight.
 */
function typeProblem(type: string): string | null {
  if (!/^application\/(graphql-response\+)?json\s*(;|$)/i.test(type))
    return 'Send the operation as application/json.';
  const charset = parseMediaType(type.toLowerCase())?.params.get('charset') ?? 'utf-8';
  return /^utf-?8$/.test(charset) ? null : "The body's charset is not UTF-8: send the body in UTF-8.";
}

/** Why a body with these content encodings cannot be read; null if it has none. */
const encodingProblem = (encodings = ''): string | null =>
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
  { corsOrigins, onlyLocalNames, onlyListedOrigins = false, maxRequestBytes }: HttpPolicyOptions,
): PolicyResult['refusal'] {
  const { origin } = headers;
  const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
  if ((isPreflight || onlyListedOrigins) && origin !== undefined && !corsOrigins.has(origin.toLowerCase()))
    return { status: 403, message: foreignOrigin };
  if (method !== 'OPTIONS') {
    // An empty Host is accepted, because some health checks send one.
    const hostname = hostnameOf(headers.host || 'localhost');
    if (hostname === null) return { status: 400, message: 'The Host header is invalid.' };
    if (onlyLocalNames && !isLoopback(hostname))
      return { status: 421, message: 'This server answers to names of its own machine only.' };
  }
  if (Number(headers['content-length'] ?? 0) > maxRequestBytes)
    return { status: 413, message: `The body is longer than ${maxRequestBytes} bytes.` };
  if (method !== 'POST') return null;
  const { 'content-type': type = '', 'content-encoding': encodings } = headers;
  // A shortcut for nearly all clients, which send exactly this type and no encoding.
  if (type === 'application/json' && encodings === undefined) return null;
  const problem = typeProblem(type) ?? encodingProblem(encodings);
  return problem === null ? null : { status: 415, message: problem };
}
