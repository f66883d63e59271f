import { type Credentials, RequestCredentials } from '../../bank/credentials.ts';
import type { RequestHolder } from '../../graphql/request-holder.ts';
import type { IncomingHead } from '../head.ts';

/**
 * Identifies the caller. `peer`: the network address of the client; empty if it is unknown.
 * Errors: BankqlError; a RequestError if a status other than 400 is more accurate.
 */
export type Authenticate = (request: IncomingHead, peer: string) => Credentials | Promise<Credentials>;

/**
 * Identifies the caller, once per request and before its body is read. From then on, the request's resources are counted for
 * this caller.
 * Errors: those of Authenticate.
 */
export function identify(
  authenticate: Authenticate,
  request: IncomingHead,
  holder: RequestHolder,
): RequestCredentials | Promise<RequestCredentials> {
  const credentials = authenticate(request, holder.peer);
  if (!(credentials instanceof Promise)) return identified(credentials, holder);
  holder.awaitMore(0);
  return credentials.then((verified) => identified(verified, holder));
}

const identified = (credentials: Credentials, holder: RequestHolder): RequestCredentials =>
  new RequestCredentials(credentials, holder.identify(credentials.identity));
