import type { Kind } from '../contract/operation.ts';
import { BankqlError, type ErrorCode, type ErrorDetails } from './error.ts';
import type { WireReply } from './transport.ts';

/** How much of the bank's text an error shows, in characters. */
const longestText = 500;
/** The longest wait that bankql passes on, in seconds. */
const longestWait = 60;

/**
 * The error for an answer that is no success (status 2xx).
 * `bankText` is what the bank said, see bankText below; it is shown for 4xx statuses only.
 */
export function refusal(kind: Kind, reply: WireReply, bankText: string, details: ErrorDetails): BankqlError {
  const { status } = reply;
  const { operation } = details;
  const said = bankText === '' ? '.' : `: ${bankText}`;
  const error = (code: ErrorCode, message: string, more: ErrorDetails = {}) =>
    new BankqlError(code, message, { ...details, ...more });

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
      retryAfter: retryAfter(reply),
    });
  if (status >= 400 && status < 500)
    return error('BANK_REJECTED', `The bank rejects ${operation} with status ${status}${said}`);
  if (status === 502 || status === 503 || status === 504) {
    return kind === 'read'
      ? error('BANK_UNAVAILABLE', `The bank is not available for ${operation} (status ${status}).`)
      : error('OUTCOME_UNKNOWN', unknownOutcome(operation));
  }
  return error('BANK_ERROR', `The bank failed at ${operation} with status ${status}.`);
}

/** What a caller is told of a write that may have been executed. */
export const unknownOutcome = (operation: string | undefined) =>
  `${operation} was sent and may have been executed, but the bank's answer does not say so; it is not sent again.`;

/**
 * What the bank said in an error's body: its message where it is JSON, else the text; bounded, on one line, and
 * with none of `secrets` in it, since a bank may echo the request.
 */
export function bankText(reply: WireReply, secrets: readonly string[]): string {
  let text = reply.body.toString('utf8');
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === 'string') text = json;
    else if (typeof json === 'object' && json !== null) {
      const messages = Object.entries(json).filter(
        ([key, value]) =>
          /^(message|error|detail|error_description|title)$/i.test(key) && typeof value === 'string',
      );
      text = messages.map(([, value]) => value).join(' ');
    }
  } catch {
    // Not JSON: markup is of no use to anybody; plain text is.
    if (text.trimStart().startsWith('<')) return '';
  }
  for (const secret of secrets) text = text.replaceAll(secret, '[redacted]');
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, longestText);
}

function retryAfter(reply: WireReply): number {
  const value = String(reply.headers['retry-after'] ?? '');
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(longestWait, Math.max(0, Math.ceil(seconds))) : 1;
}
