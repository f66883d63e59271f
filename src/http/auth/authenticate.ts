import type { Caller } from '../../bank/credentials.ts';
import type { RequestHolder } from '../../graphql/request-holder.ts';
import type { RateLimiter } from '../../load/rate-limiter.ts';
import { noCallLeft } from '../../load/rate-limits.ts';
import type { IncomingHead } from '../head.ts';
import { currentActivity } from '../request-scope.ts';

/** Identifies the caller. `peer`: the other end of the connection; empty if it is unknown. Errors: BankqlError; a RequestError if a status other than 400 is more accurate. */
export type Authenticate = (request: IncomingHead, peer: string) => Caller | Promise<Caller>;

/**
 * Identifies the caller, once per request and before its body is read. From then on, the request's resources are counted for
 * this caller. Refuses callers who have no REST call left.
 * Errors: those of Authenticate; RequestError RATE_LIMITED.
 */
export function createIdentify(authenticate: Authenticate, rateLimiter: RateLimiter | null) {
  return (request: IncomingHead, holder: RequestHolder): Caller | Promise<Caller> => {
    const found = authenticate(request, holder.peer);
    if (found instanceof Promise || rateLimiter !== null) return identifyLater(found, holder);
    holder.identify(found.identity ?? null);
    return found;
  };

  async function identifyLater(finding: Caller | Promise<Caller>, holder: RequestHolder): Promise<Caller> {
    holder.awaitMore(0);
    const caller = await finding;
    const seconds = (await rateLimiter?.secondsUntilNext(caller)) ?? 0;
    if (seconds > 0) {
      // The log names the caller who is refused, too.
      const activity = currentActivity();
      if (activity !== null) activity.credentials = caller;
      throw noCallLeft(seconds);
    }
    holder.identify(caller.identity ?? null);
    return caller;
  }
}
