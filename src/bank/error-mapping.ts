import { BankqlError, type ErrorCode, type ErrorDetails } from '../errors.ts';
import { secretsOf } from './credentials.ts';
import { type HttpResponse, isGatewayError, type TransportFailure, textOf } from './http/http-message.ts';
import { redact } from './redact.ts';
import { errorDetailsOf, type PreparedCall } from './request.ts';
import { errorWords } from './response-content.ts';
import { whatTakesTooLong } from './response-limits.ts';

/** How much of the bank's text an error shows, in characters. */
const maxTextLength = 500;
/** The longest wait that bankql passes on, in seconds. */
const maxRetryAfterSeconds = 60;

/** The error for a call without a whole answer. */
export function mapTransportFailure(call: PreparedCall, failure: TransportFailure): BankqlError {
  const { id, kind } = call.operation;
  const error = (code: ErrorCode, message: string) =>
    new BankqlError(code, message, errorDetailsOf(call), { cause: failure });

  if (failure.reason === 'refused')
    return error('BANK_BAD_RESPONSE', `The bank's answer to ${id} is not read: ${failure.message}.`);
  if (failure.sent && kind !== 'read') return error('OUTCOME_UNKNOWN', unknownOutcomeMessage(id));
  if (failure.reason === 'timeout') return error('BANK_TIMEOUT', `The bank did not answer ${id} in time.`);
  if (failure.reason === 'overloaded')
    return error('OVERLOADED', `bankql has too much to do to call ${id}: ${failure.message}.`);
  return error('BANK_UNAVAILABLE', `The bank cannot be reached for ${id}: ${failure.message}.`);
}

/**
 * The error for an answer that is no success: its status is none (2xx), or it tells of an error all the same. The bank's text
 * is shown for these and for 4xx statuses only.
 */
export function mapErrorResponse(call: PreparedCall, response: HttpResponse): BankqlError {
  const { id: operation, kind } = call.operation;
  const { status } = response;
  const text = bankText(response, secretsOf(call.credentials));
  const said = text === '' ? '.' : `: ${text}`;
  const error = (code: ErrorCode, message: string, more: ErrorDetails = {}) =>
    new BankqlError(code, message, { ...errorDetailsOf(call), status, ...more });

  if (status < 300)
    return error(
      'BANK_REJECTED',
      `The bank answers ${operation} with status ${status}, but with an error${kind === 'read' ? '' : '; it may have been executed all the same'}${said}`,
    );
  if (status >= 300 && status < 400)
    return error(
      'BANK_BAD_RESPONSE',
      `The bank answered ${operation} with a redirect, which is not followed.`,
    );
  if (status === 401)
    return error('UNAUTHENTICATED', `The bank does not accept the credentials for ${operation}${said}`);
  if (status === 403) return error('FORBIDDEN', `The bank forbids ${operation}${said}`);
  if (status === 404) return error('NOT_FOUND', `The bank finds nothing for ${operation}${said}`);
  if (status === 429 && kind === 'read')
    return error('RATE_LIMITED', `The bank limits the rate of ${operation}${said}`, {
      retryAfter: parseRetryAfter(response),
    });
  if (status >= 400 && status < 500)
    return error('BANK_REJECTED', `The bank rejects ${operation} with status ${status}${said}`);
  if (isGatewayError(response)) {
    return kind === 'read'
      ? error('BANK_UNAVAILABLE', `The bank is not available for ${operation} (status ${status}).`)
      : error('OUTCOME_UNKNOWN', unknownOutcomeMessage(operation));
  }
  return error('BANK_ERROR', `The bank failed at ${operation} with status ${status}.`);
}

/** What a caller is told of a write that may have been executed. */
const unknownOutcomeMessage = (operation: string) =>
  `${operation} was sent and may have been executed, but the bank's answer does not say so; it is not sent again.`;

/** Of answers whose text was looked at: an attempt is reported and becomes an error, and both show it. */
const messages = new WeakMap<HttpResponse, string>();

/**
 * What the bank said in an error's body: its message where it is JSON, else the text; bounded, on one line, and
 * with none of `secrets` in it, since a bank may echo the request. Empty where it would take too long to parse.
 */
export function bankText(response: HttpResponse, secrets: readonly string[]): string {
  let message = messages.get(response);
  if (message === undefined) {
    message = whatTakesTooLong(response.body) === null ? messageOf(textOf(response)) : '';
    messages.set(response, message);
  }
  // Much more than could be shown is not looked at.
  return redact(message, secrets, 20 * maxTextLength)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, maxTextLength)
    .replace(/\p{Cs}$/u, '');
}

function messageOf(text: string): string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Not JSON: markup is of no use to anybody; plain text is.
    return text.trimStart().startsWith('<') ? '' : text;
  }
  if (typeof json === 'string') return json;
  if (typeof json !== 'object' || json === null) return text;
  return errorWords(json);
}

function parseRetryAfter(response: HttpResponse): number {
  const value = String(response.headers['retry-after'] ?? '');
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(maxRetryAfterSeconds, Math.max(0, Math.ceil(seconds))) : 1;
}
