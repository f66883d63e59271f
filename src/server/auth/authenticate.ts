import type { Caller } from '../../bank/credentials.ts';
import type { ConnectionAwareResponse } from '../connection.ts';
import type { RateLimiter } from '../rate-limit/rate-limiter.ts';
import { noCallLeft } from '../rate-limit/rate-limits.ts';
import type { IncomingHead, KnownHead } from '../request.ts';
import { currentActivity, forgetSecrets, secretSources } from '../request-scope.ts';

/** Identifies the caller. `peer`: the other end of the connection; empty if it is unknown. Errors: BankqlError; a RequestError if a status other than 400 is more accurate. */
export interface Authenticate {
  (request: IncomingHead, peer: string): Caller | Promise<Caller>;
  /**
   * Whether another request with the same headers would be this caller's too: a token may have expired, and keys may have
   * changed. By default each request is authenticated.
   */
  isCurrent?(caller: Caller): boolean;
}

/**
 * Identifies the caller, once per request and before its body is read; what the request holds is counted at that caller from
 * then on. Refuses callers who have no REST call left. `head`: the request's, if its connection may remember it.
 * Errors: those of Authenticate; RequestError RATE_LIMITED.
 */
export function createIdentify(authenticate: Authenticate, rateLimiter: RateLimiter | null) {
  function remember(caller: Caller, response: ConnectionAwareResponse, head: KnownHead | null): void {
    if (head === null || authenticate.isCurrent === undefined) return;
    head.caller = caller;
    head.secrets = secretSources();
    response.remember(head);
  }

  return (
    request: IncomingHead,
    response: ConnectionAwareResponse,
    head: KnownHead | null,
  ): Caller | Promise<Caller> => {
    const known = head?.caller ?? null;
    const isKnown = known !== null && authenticate.isCurrent?.(known) === true;
    // `authenticate` notes the same secrets again. Added to those of the known head, they would grow with each request.
    if (known !== null && !isKnown) forgetSecrets();
    const found = isKnown ? known : authenticate(request, response.peer);
    if (found instanceof Promise || rateLimiter !== null) return identifyLater(found, response, head);
    if (!isKnown) remember(found, response, head);
    response.identify(found.identity ?? null);
    return found;
  };

  async function identifyLater(
    finding: Caller | Promise<Caller>,
    response: ConnectionAwareResponse,
    head: KnownHead | null,
  ): Promise<Caller> {
    response.awaitMore(0);
    const caller = await finding;
    remember(caller, response, head);
    const seconds = (await rateLimiter?.secondsUntilNext(caller)) ?? 0;
    if (seconds > 0) {
      // The log names the caller who is refused, too.
      const activity = currentActivity();
      if (activity !== null) activity.credentials = caller;
      throw noCallLeft(seconds);
    }
    response.identify(caller.identity ?? null);
    return caller;
  }
}
