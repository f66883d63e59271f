import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isGzip } from './request-body.ts';

export interface HttpPolicyOptions {
  /** The origins whose pages may call; exact. */
  readonly corsOrigins: ReadonlySet<string>;
  /** Further request headers that those pages may send; none where left out. */
  readonly corsHeaders?: readonly string[] | undefined;
  /**
   * Only names of this machine are answered to. Where the operator's key is used for whoever can connect, a page whose
   * name is made to lead to this machine must not.
   */
  readonly onlyLocalNames: boolean;
  /** The longest body, in bytes. Of one that does not say how long it is (chunked), it is for whoever reads it. */
  readonly maxRequestBytes: number;
}

/** What a server is told of a request before its body is read. */
export interface RequestHead {
  readonly method: string;
  /** The request line's target. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

/** A Host or an address that is none; a body that is too long, or of another kind; another machine's name. */
export type HttpRefusal = 400 | 413 | 415 | 421;

/** What the answer has to carry, and, where the request is not served, what is answered instead. */
export interface PolicyResult {
  /** Names and values in turn, as writeHead takes them. Nobody else has them: whoever answers may add to them. */
  readonly headers: string[];
  /** The value of X-Request-Id. */
  readonly requestId: string;
  readonly refusal: { readonly status: HttpRefusal; readonly message: string } | null;
}

/** Nothing is kept, guessed, framed or sent on, and nothing runs. GraphiQL's page has a policy of its own. */
const always = [
  ...['Cache-Control', 'no-store'],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['X-Frame-Options', 'DENY'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** What a page sends of its own accord, and what a client of bankql does. */
const requestHeaders =
  'Content-Type, Content-Encoding, Authorization, Ocp-Apim-Subscription-Key, Auth-Provider-Name, Auth-ID, X-Request-Id, Idempotency-Key';

/** A correlation id as callers choose it: one word, so that it can stand in a log and in an answer. */
const plainId = /^[\w.:-]{1,128}$/;

/**
 * What HTTP has to say of a request, whatever serves it. Nothing of the request is repeated but a plain correlation id.
 */
export function checkRequest(request: RequestHead, options: HttpPolicyOptions): PolicyResult {
  const { corsOrigins, corsHeaders = [] } = options;
  const { method, headers } = request;
  const given = headers['x-request-id'];
  const requestId = typeof given === 'string' && plainId.test(given) ? given : randomUUID();
  const answer = [...always, 'X-Request-Id', requestId];
  const { origin } = headers;
  if (corsOrigins.size > 0) answer.push('Vary', 'Origin');
  if (origin !== undefined && corsOrigins.has(origin)) {
    answer.push('Access-Control-Allow-Origin', origin);
    answer.push('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After, WWW-Authenticate');
    if (method === 'OPTIONS') {
      answer.push('Access-Control-Allow-Methods', 'GET, POST');
      answer.push('Access-Control-Allow-Headers', [requestHeaders, ...corsHeaders].join(', '));
      answer.push('Access-Control-Max-Age', '600');
    }
  }
  return { headers: answer, requestId, refusal: findRefusal(request, options) };
}

/** Whether a host's name, as a URL or a socket has it, is this machine's own. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/.test(host);

/** What an operation is sent as. A page of another origin can send anything else without asking first. */
export const isJsonType = (type: string | null | undefined): boolean =>
  /^application\/(graphql-response\+)?json\s*(;|$)/i.test(type ?? '');

/** A name and a port, in which there is nothing that a parser of URLs would read otherwise. */
const plainHost =
  /^(127\.0\.0\.1|[a-z][a-z0-9-]{0,62}(?:\.[a-z][a-z0-9-]{0,62}){0,8})(?::(?:\d{1,4}|[1-5]\d{4}))?$/;
const plainTarget = /^\/[\w/.~-]*(?:\?[\w=&%.~+-]*)?$/;

/** Null where host and target together are no URL, or the target by itself would name a host that is none. */
const hostnameOf = (host: string, target: string): string | null =>
  URL.canParse(target, 'http://localhost') ? (URL.parse(`http://${host}${target}`)?.hostname ?? null) : null;

function findRefusal(
  { method, target, headers }: RequestHead,
  { onlyLocalNames, maxRequestBytes }: HttpPolicyOptions,
): PolicyResult['refusal'] {
  const { host = 'localhost' } = headers;
  // Nearly all are plain, and need no parser to be seen to be a URL.
  const hostname =
    (plainTarget.test(target) ? plainHost.exec(host)?.[1] : undefined) ?? hostnameOf(host, target);
  if (hostname === null) return { status: 400, message: 'The Host header, or the address, is none.' };
  if (onlyLocalNames && !isLoopback(hostname))
    return { status: 421, message: 'This server answers to names of its own machine only.' };
  if (Number(headers['content-length'] ?? 0) > maxRequestBytes)
    return { status: 413, message: `The body is longer than ${maxRequestBytes} bytes.` };
  if (method !== 'POST') return null;
  if (!isJsonType(headers['content-type']))
    return { status: 415, message: 'Send the operation as application/json.' };
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity' && !isGzip(encoding))
    return { status: 415, message: 'Send the body as it is, or gzipped once.' };
  return null;
}
