import type { Credentials } from '../bank/credentials.ts';
import { refusedForNow } from '../engine/refusal.ts';
import type { Incoming } from './incoming.ts';
import type { RateLimiter } from './rate-limit.ts';

/** Finds out who calls. Errors: BankqlError; a Refusal where another status than 400 says it better. */
export type Identify = (incoming: Incoming) => Credentials | Promise<Credentials>;

/**
 * Finds out who calls, once for each request and before its body is read, and refuses callers who have no REST call
 * left. Errors: those of `identify`; Refusal RATE_LIMITED.
 */
export type Admit = Identify;

export function admitting(identify: Identify, rateLimiter: RateLimiter | null): Admit {
  if (rateLimiter === null) return identify;
  return async (incoming) => {
    const credentials = await identify(incoming);
    const seconds = await rateLimiter.secondsUntilNext(credentials);
    if (seconds > 0)
      throw refusedForNow('RATE_LIMITED', 'Your REST calls are used up for now.', 429, seconds);
    return credentials;
  };
}
