import type { Caller } from '../../bank/credentials.ts';
import { retryLaterError } from '../../engine/errors.ts';
import type { ConnectionAwareResponse } from '../connection.ts';
import type { RateLimiter } from '../rate-limit/rate-limiter.ts';
import type { IncomingRequest } from '../request.ts';

/** Identifies the caller. Errors: BankqlError; a RequestError if a status other than 400 is more accurate. */
export type Authenticate = (request: IncomingRequest) => Caller | Promise<Caller>;

/**
 * Identifies the caller, once per request and before its body is read, and refuses callers who have no REST call left.
 * Errors: those of `identify`; RequestError RATE_LIMITED.
 */
export type AuthenticateWithinLimit = Authenticate;

export function withRateLimit(
  authenticate: Authenticate,
  rateLimiter: RateLimiter | null,
): AuthenticateWithinLimit {
  if (rateLimiter === null) return authenticate;
  return async (request) => {
    const credentials = await authenticate(request);
    const seconds = await rateLimiter.secondsUntilNext(credentials);
    if (seconds > 0)
      throw retryLaterError('RATE_LIMITED', 'Your REST calls are used up for now.', 429, seconds);
    return credentials;
  };
}

/** Finds out who calls, and counts what the request holds at that caller from then on. Errors: those of `authenticate`. */
export async function identify(
  incoming: IncomingRequest,
  response: ConnectionAwareResponse,
  authenticate: AuthenticateWithinLimit,
): Promise<Caller> {
  const found = authenticate(incoming);
  if (found instanceof Promise) response.awaitMore(0);
  const caller = found instanceof Promise ? await found : found;
  response.identify(caller.identity ?? null);
  return caller;
}
