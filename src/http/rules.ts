import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseMediaType } from './accept.ts';
import type { Head } from './head.ts';

export interface HttpPolicyOptions {
  /** The origins whose pages may call, in lower case: schemes and hosts are the same in upper case. */
  readonly corsOrigins: ReadonlySet<string>;
  /**
   * Requests must name this machine. If the operator's key is used for every client that can connect, a page of another
   * site whose name leads to this machine must not use it.
   */
  readonly onlyLocalNames: boolean;
  /** Whether a request from a page of another origin is refused, and not only kept from its page (default: it is not). */
  readonly onlyListedOrigins?: boolean;
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
  /**
   * 403: a page whose origin is not listed sends its preflight, or a request to a place for listed origins. The browser tells the page
   * only that the call failed.
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

/** A correlation id as callers choose it: one word, so that a log and an answer can contain it. */
const plainId = /^[\w.:-]{1,128}$/;

/** The value of X-Request-Id: the caller's, if it is a plain one. */
const requestIdOf = (given: IncomingHttpHeaders[string]): string =>
  typeof given === 'string' && plainId.test(given) ? given : randomUUID();

/**
 * Applies HTTP's rules to a request, whatever serves it. The result repeats nothing of the request but a plain
 * correlation id, and to a listed origin what its preflight asks for.
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
      // Any header: those of tracers, such as traceparent and sentry-trace, come with every request of a page.
      const asked = headers['access-control-request-headers'];
      if (asked !== undefined) answer.push('Access-Control-Allow-Headers', asked);
      answer.push('Access-Control-Max-Age', '600');
    }
  }
  return { headers: answer, requestId, refusal: findRefusal(request, options) };
}

/** Whether a host's name, as a URL or a socket has it, is this machine's own. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host);

/**
 * Why a body of this type is not read: pages of other origins could send some other types without a preflight, and JSON is UTF-8. Null
 * if it is.
 */
function typeProblem(type: string): string | null {
  if (!/^application\/(graphql-response\+)?json\s*(;|$)/i.test(type))
    return 'Send the operation as application/json.';
  const charset = parseMediaType(type.toLowerCase())?.params.get('charset') ?? 'utf-8';
  return /^utf-?8$/.test(charset) ? null : "The body's charset is not UTF-8: send the body in UTF-8.";
}

/** Why a body in these encodings cannot be read; null if it is sent as it is. */
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
    // Some health checks send an empty Host.
    const hostname = hostnameOf(headers.host || 'localhost');
    if (hostname === null) return { status: 400, message: 'The Host header is invalid.' };
    if (onlyLocalNames && !isLoopback(hostname))
      return { status: 421, message: 'This server answers to names of its own machine only.' };
  }
  if (Number(headers['content-length'] ?? 0) > maxRequestBytes)
    return { status: 413, message: `The body is longer than ${maxRequestBytes} bytes.` };
  if (method !== 'POST') return null;
  const { 'content-type': type = '', 'content-encoding': encodings } = headers;
  // Nearly all clients send this one type, and no encoding.
  if (type === 'application/json' && encodings === undefined) return null;
  const problem = typeProblem(type) ?? encodingProblem(encodings);
  return problem === null ? null : { status: 415, message: problem };
}
