import { BankqlError, type ErrorCode, type ErrorDetails } from '../errors.ts';
import { secretsOf } from './credentials.ts';
import { bankCode, bankText } from './error-body.ts';
import { type HttpResponse, isGatewayError, type TransportFailure } from './http/http-message.ts';
import { errorDetailsOf, type PreparedCall } from './request.ts';

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
  if (status === 404)
    return error('NOT_FOUND', `The bank finds nothing for ${operation}${idsText(call)}${said}`);
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

/**
 * The ids that the caller asked with, which are no secrets to them. The subscription key may be the operator's: an id that
 * contains it is not among them.
 */
const knownIds = ({ ids, credentials: { subscriptionKey } }: PreparedCall): (readonly [string, string])[] =>
  Object.entries(ids).filter(([, id]) => subscriptionKey === null || !id.includes(subscriptionKey));

/** What was asked for, by the ids of the path. */
function idsText(call: PreparedCall): string {
  const ids = knownIds(call).filter(([name]) => name !== 'scope');
  return ids.length === 0 ? '' : ` (${ids.map(([name, id]) => `${name}=${id}`).join(', ')})`;
}

/** What a caller is told of a write that may have been executed. */
const unknownOutcomeMessage = (operation: string) =>
  `${operation} was sent and may have been executed, but the bank's answer does not say so; it is not sent again.`;

function parseRetryAfter(response: HttpResponse): number {
  const value = String(response.headers['retry-after'] ?? '');
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(maxRetryAfterSeconds, Math.max(0, Math.ceil(seconds))) : 1;
}
