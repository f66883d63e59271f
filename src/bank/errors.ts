import { BankqlError, type ErrorCode, type ErrorDetails, shorten } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import { secretsOf } from './credentials.ts';
import {
  accepted,
  gatewayErrors,
  type HttpResponse,
  inUtf8,
  isJsonType,
  otherCharsetOf,
  type TransportFailure,
  textOf,
} from './http-message.ts';
import { errorDetailsOf, idsIn, type PreparedCall } from './request.ts';
import { codeName, errorName, errorWords } from './tolerance.ts';

/** The maximum of `retryAfter`, in seconds. */
const maxRetryAfterSeconds = 60;

/** The error for a call without a complete answer. */
export function mapTransportFailure(call: PreparedCall, failure: TransportFailure): BankqlError {
  const { id, kind } = call.operation;
  const error = (code: ErrorCode, message: string, more: ErrorDetails = {}) =>
    new BankqlError(code, message, { ...errorDetailsOf(call), ...more }, { cause: failure });

  if (failure.reason === 'cancelled' && kind === 'read')
    return error('BANK_UNAVAILABLE', `${id} is given up: ${failure.message}.`, { isGivenUp: true });
  if (failure.reason === 'refused')
    return error('BANK_BAD_RESPONSE', `The bank's answer to ${id} is not read: ${failure.message}.`);
  if (failure.sent && kind !== 'read') return error('OUTCOME_UNKNOWN', unknownOutcomeMessage(id));
  if (failure.reason === 'timeout') return error('BANK_TIMEOUT', `The bank did not answer ${id} in time.`);
  if (failure.reason === 'overloaded' || failure.reason === 'no room')
    return error('OVERLOADED', `bankql has too much to do to call ${id}: ${failure.message}.`);
  if (failure.reason === 'paused')
    return error('BANK_UNAVAILABLE', `The bank is not called for ${id}: ${failure.message}.`);
  return error('BANK_UNAVAILABLE', `The bank cannot be reached for ${id}: ${failure.message}.`);
}

/**
 * The error for an answer whose status is not 2xx, or whose body reports an error despite a 2xx. The bank's
 * text is shown only for a 2xx or a 4xx.
 */
export function mapErrorResponse(call: PreparedCall, response: HttpResponse): BankqlError {
  const { id: operation, kind } = call.operation;
  const { status } = response;
  const secrets = secretsOf(call.credentials);
  const ids = knownIds(call).map(([, id]) => id);
  const text = bankText(response, secrets, ids);
  const said = text === '' ? '.' : `: ${text}`;
  const reason = status < 500 ? bankCode(response, secrets) : null;
  const error = (code: ErrorCode, message: string, more: ErrorDetails = {}) =>
    new BankqlError(code, message, {
      ...errorDetailsOf(call),
      status,
      ...more,
      ...(reason !== null && { bankCode: reason }),
    });

  if (status === accepted && kind === 'write')
    return error('OUTCOME_UNKNOWN', unknownOutcomeMessage(operation));
  if (status < 300)
    return error(
      'BANK_REJECTED',
      `The bank answers ${operation} with status ${status}, but with an error${kind === 'read' ? '' : '; it may have been executed all the same'}${said}`,
    );
  if (isRedirectStatus(status)) {
    const what = redirects.has(status)
      ? 'a redirect, which is not followed'
      : `the unexpected status ${status}`;
    return error('BANK_BAD_RESPONSE', `The bank answered ${operation} with ${what}.`);
  }
  const refusal = call.gateways.refusalIn(response);
  if (refusal === 'rate limit')
    return error(
      'RATE_LIMITED',
      `A gateway of the bank limits the rate of ${operation}${said}`,
      waitIn(response),
    );
  if (refusal === 'operator key') {
    const message = `A gateway of the bank does not accept bankql's own subscription key for ${operation}. Only bankql's operator can change it.`;
    // A write gets no BANK_ERROR, because that code would say that the write may have been executed.
    return kind === 'read'
      ? error('BANK_ERROR', message)
      : error('BANK_UNAVAILABLE', message, { retryAfter: maxRetryAfterSeconds });
  }
  if (status === 401 || refusal === 'credentials')
    return error('UNAUTHENTICATED', `The bank does not accept the credentials for ${operation}${said}`);
  if (status === 403) return error('FORBIDDEN', `The bank forbids ${operation}${said}`);
  if (isForeignPage(response))
    return error('BANK_BAD_RESPONSE', `The answer to ${operation} is ${foreignPage}.`);
  if (status === 404)
    return error('NOT_FOUND', `The bank finds nothing for ${operation}${idsText(call)}${said}`);
  if (status === 429 && kind === 'read')
    return error('RATE_LIMITED', `The bank limits the rate of ${operation}${said}`, waitIn(response));
  if (gatewayErrors.has(status)) {
    return kind === 'read'
      ? error(
          'BANK_UNAVAILABLE',
          `The bank is not available for ${operation} (status ${status}).`,
          waitIn(response),
        )
      : error('OUTCOME_UNKNOWN', unknownOutcomeMessage(operation));
  }
  if (status >= 400 && status < 500)
    return error('BANK_REJECTED', `The bank rejects ${operation} with status ${status}${said}`);
  return error('BANK_ERROR', `The bank failed at ${operation} with status ${status}.`);
}

/** Whether a status is 3xx: a redirect, or a status that bankql does not expect. */
const isRedirectStatus = (status: number): boolean => status >= 300 && status < 400;

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Describes an answer that the bank's service itself did not send, for operators: a redirect, a foreign page, or a gateway's
 * refusal of BANK_SUBSCRIPTION_KEY. Null for any other answer. Callers do not see the target of a redirect.
 */
export function describeFault(call: PreparedCall, response: HttpResponse): string | null {
  if (isRedirectStatus(response.status)) return describeRedirect(call, response);
  if (isForeignPage(response)) return foreignPage;
  return call.gateways.refusalIn(response) === 'operator key'
    ? 'a gateway refuses BANK_SUBSCRIPTION_KEY'
    : null;
}

const foreignPage = 'a page with status 404, which something between bankql and the bank has sent';

/**
 * Whether a 404 has a body that is neither JSON nor a short text. Gateways and web servers send such a body for unknown
 * paths.
 */
function isForeignPage({ status, headers, body }: HttpResponse): boolean {
  if (status !== 404) return false;
  if (body.length === 0) {
    // An error body with a Content-Encoding is not read.
    const isUnread = headers['content-encoding'] !== undefined && headers['content-length'] !== '0';
    return isUnread && !isJsonType(String(headers['content-type']));
  }
  const start = textOf({ body: body.subarray(0, maxTextLength) }).trimStart();
  return start.startsWith('<') || (body.length > maxTextLength && !/^[[{"]/.test(start));
}

function describeRedirect(call: PreparedCall, { status, headers }: HttpResponse): string {
  if (!redirects.has(status)) return `the unexpected status ${status}`;
  const { location } = headers;
  const target = typeof location === 'string' ? addressIn(location, call) : '';
  return `a redirect${target && ` to ${target}`}, which is not followed`;
}

/**
 * The origin and the path of a Location, with the ids of the call replaced by their names. The query and path parameters are left
 * out, because they may contain secrets.
 */
function addressIn(location: string, { operation, path, request, credentials }: PreparedCall): string {
  const base = 'http://bank.invalid';
  const url = URL.parse(location, base + request.path);
  if (url === null) return '';
  const names = new Map(idsIn(operation.path, path).map(([name, id]) => [id, `{${name}}`]));
  const shown = url.pathname.split('/').map((segment) => {
    const [text = ''] = segment.split(';');
    return names.get(decoded(text)) ?? text;
  });
  const origin = location.startsWith('/') && url.origin === base ? '' : `${url.protocol}//${url.host}`;
  const secrets = secretsOf(credentials);
  return redact(origin + shown.join('/'), [...secrets, ...secrets.map(encodeURIComponent)], maxTextLength);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * The ids in the call's path that errors may show, because the caller sent them. An id that contains the subscription key is
 * left out, since the key may be the operator's.
 */
const knownIds = ({ operation, path, credentials: { subscriptionKey } }: PreparedCall) =>
  idsIn(operation.path, path).filter(([, id]) => subscriptionKey === null || !id.includes(subscriptionKey));

/** The ids of the path, for a message. */
function idsText(call: PreparedCall): string {
  const ids = knownIds(call).filter(([name]) => name !== 'scope');
  return ids.length === 0 ? '' : ` (${ids.map(([name, id]) => `${name}=${id}`).join(', ')})`;
}

/** The message to the caller of a write that may have been executed. */
const unknownOutcomeMessage = (operation: string) =>
  `${operation} was sent and may have been executed, but the bank's answer does not say so; it is not sent again.`;

/** Completes the error of a write: if the bank's answer proves nothing, the error also says that the write may have been executed. */
export function withMayBeDone(error: BankqlError): BankqlError {
  const { code, retryable: _, ...details } = error.extensions;
  if (code !== 'BANK_BAD_RESPONSE' && code !== 'BANK_ERROR') return error;
  const message = `${error.message} It may have been executed all the same: read the record before you write it again.`;
  return new BankqlError(code, message, details, { cause: error });
}

/** Two date formats of RFC 9110. The second, asctime, has no time zone: `Sun Nov  6 08:49:37 1994`. */
const httpDate = /^[A-Z][a-z]+, .+ GMT$/;
const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** The seconds in Retry-After, which holds digits or a date. Null if the header is absent or invalid. */
export function retryAfterOf({ headers }: HttpResponse): number | null {
  const value = String(headers['retry-after'] ?? '');
  if (/^\d+$/.test(value)) return Number(value);
  const date = asctime.test(value) ? `${value} GMT` : httpDate.test(value) ? value : '';
  const seconds = Math.ceil((Date.parse(date) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

/** The detail `retryAfter` of an error, from the answer's Retry-After. */
function waitIn(response: HttpResponse): ErrorDetails {
  const seconds = retryAfterOf(response);
  return seconds === null ? {} : { retryAfter: Math.min(seconds, maxRetryAfterSeconds) };
}

/** The longest error body that is parsed, in bytes. Parsing takes up to 0.5 microseconds for each byte. */
export const maxErrorLength = 65_536;

/** The maximum length of the bank's text in an error, in characters. */
const maxTextLength = 500;

/** The body of an error: its words, and the bank's code for its reason, if it has one. */
interface ErrorBody {
  readonly words: string;
  readonly code: string | null;
}

const nothing: ErrorBody = { words: '', code: null };

/** Parsed error bodies, by response. Both the report of an attempt and its error need the body, which is parsed once. */
const bodies = new WeakMap<HttpResponse, ErrorBody>();

const bodyOf = (response: HttpResponse): ErrorBody =>
  getOrMake(bodies, response, () =>
    response.body.length > maxErrorLength ? nothing : read(decodedTextOf(response)),
  );

function decodedTextOf(response: HttpResponse): string {
  try {
    const charset = otherCharsetOf(response);
    return textOf(charset === null ? response : { body: inUtf8(response.body, charset) });
  } catch {
    return textOf(response);
  }
}

function read(text: string): ErrorBody {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The body is not JSON. Plain text is used; markup is dropped.
    return { words: text.trimStart().startsWith('<') ? '' : text, code: null };
  }
  if (typeof json === 'string') return { words: json, code: null };
  if (typeof json !== 'object' || json === null) return { words: text, code: null };
  return { words: errorWords(json), code: codeIn(json) };
}

/**
 * The bank's message in an error body: the message members of JSON, or the text itself. It is bounded and on one line. Secrets
 * are redacted, because a bank may echo the request, unless they are part of one of the `known` texts, which the caller sent.
 * Empty if the body would take too long to parse.
 */
export function bankText(
  response: HttpResponse,
  secrets: readonly string[],
  known: readonly string[] = [],
): string {
  // Only the beginning is searched for secrets, because the shown text is much shorter.
  const words = redact(bodyOf(response).words, secrets, 20 * maxTextLength, known);
  return shorten(words.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim(), maxTextLength);
}

/**
 * The bank's own code for the error's reason. Null if the answer's JSON has no code of one word, if the code
 * only repeats the status, or if it contains a secret.
 */
export function bankCode(response: HttpResponse, secrets: readonly string[]): string | null {
  const { code } = bodyOf(response);
  if (code === null || code === String(response.status)) return null;
  return secrets.some((secret) => code.includes(secret)) ? null : code;
}

const plainCode = /^[\w.:-]{1,64}$/;
/** A member `error` counts as a code if it contains a capital letter, `_`, `.` or `:`. */
const looksLikeCode = /[A-Z_.:]/;
/** The depth to which an answer is searched for a code, as in `{"errors":[{"error":{"code":…}}]}`. */
const maxDepth = 3;

function codeIn(json: unknown, depth = 0): string | null {
  if (typeof json !== 'object' || json === null || depth > maxDepth) return null;
  const members = Object.entries(json);
  for (const [name, value] of members) {
    const code = typeof value === 'number' ? String(value) : value;
    if (codeName.test(name) && typeof code === 'string' && plainCode.test(code)) return code;
  }
  for (const [name, value] of members) {
    if (!errorName.test(name)) continue;
    const [error] = Array.isArray(value) ? value : [value];
    const isCode = typeof error === 'string' && plainCode.test(error) && looksLikeCode.test(error);
    const code = isCode ? error : codeIn(error, depth + 1);
    if (code !== null) return code;
  }
  return null;
}

/**
 * Cuts a text to `maxLength` characters, with '[redacted]' in place of each secret. A secret across the cut is removed
 * entirely, so the search goes beyond the cut by the length of the longest secret. A secret is kept if it is part of one of the
 * `known` texts, which the caller sent.
 */
export function redact(
  text: string,
  secrets: readonly string[],
  maxLength: number,
  known: readonly string[] = [],
): string {
  // The longest secrets come first, because a secret may be the beginning of a longer one.
  const sorted = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length);
  const longest = sorted[0]?.length;
  if (longest === undefined) return text.slice(0, maxLength);
  const looked = text.slice(0, maxLength + longest);
  let clean = '';
  let end = 0;
  for (const { 0: secret, index } of looked.matchAll(patternOf(sorted))) {
    if (index >= maxLength) break;
    if (known.some((each) => isWithin(each, secret, text, index))) continue;
    clean += `${looked.slice(end, index)}[redacted]`;
    end = index + secret.length;
  }
  return clean + looked.slice(end, maxLength);
}

/** Whether the secret at `index` is part of an occurrence of the `known` text. */
function isWithin(known: string, secret: string, text: string, index: number): boolean {
  // The search is limited to the slice in which any occurrence that covers the secret lies.
  const start = Math.max(0, index + secret.length - known.length);
  return known.length >= secret.length && text.slice(start, index + known.length).includes(known);
}

/** A pattern that matches any of these texts. */
const patternOf = (texts: readonly string[]): RegExp =>
  new RegExp(texts.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
