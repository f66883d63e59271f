import type { Caller } from '../../bank/credentials.ts';
import { retryLaterError } from '../../engine/errors.ts';
import type { ConnectionAwareResponse } from '../connection.ts';
import type { RateLimiter } from '../rate-limit/rate-limiter.ts';
import type { IncomingRequest, KnownHead } from '../request.ts';
import { secretSources } from '../request-scope.ts';

/** Identifies the caller. Errors: BankqlError; a RequestError if a status other than 400 is more accurate. */
export interface Authenticate {
  (request: IncomingRequest): Caller | Promise<Caller>;
  /**
   * Whether another request with the same headers would be this caller's too: a token may have expired, and keys may have
   * changed. If it is left out, each request is authenticated.
   */
  isCurrent?(caller: Caller): boolean;
}

/** A request over a socket: its response, and its head if it is one that its connection may remember. */
interface OverSocket {
  readonly response: ConnectionAwareResponse;
  readonly head: KnownHead | null;
}

/**
 * Identifies the caller, once per request and before its body is read; what the request holds is counted at that caller from
 * then on. Refuses callers who have no REST call left.
 * Errors: those of Authenticate; RequestError RATE_LIMITED.
 */
export type Identify = (request: () => IncomingRequest, over: OverSocket | null) => Caller | Promise<Caller>;

export function createIdentify(authenticate: Authenticate, rateLimiter: RateLimiter | null): Identify {
  async function identify(
    finding: Caller | Promise<Caller>,
    limiter: RateLimiter | null,
    over: OverSocket | null,
  ): Promise<Caller> {
    over?.response.awaitMore(0);
    const caller = await finding;
    if (over !== null) remember(over, caller);
    const seconds = (await limiter?.secondsUntilNext(caller)) ?? 0;
    if (seconds > 0)
      throw retryLaterError('RATE_LIMITED', 'Your REST calls are used up for now.', 429, seconds);
    over?.response.identify(caller.identity ?? null);
    return caller;
  }

  function remember({ response, head }: OverSocket, caller: Caller): void {
    if (head === null || authenticate.isCurrent === undefined) return;
    head.caller = caller;
    head.secrets = secretSources();
    response.remember(head);
  }

  return (request, over) => {
    const known = over?.head?.caller ?? null;
    const isKnown = known !== null && authenticate.isCurrent?.(known) === true;
    const found = isKnown ? known : authenticate(request());
    if (found instanceof Promise || rateLimiter !== null) return identify(found, rateLimiter, over);
    if (over !== null) {
      if (!isKnown) remember(over, found);
      over.response.identify(found.identity ?? null);
    }
    return found;
  };
}
