import type { IncomingHttpHeaders } from 'node:http';
import type { Auth } from '../contract/operation.ts';
import { HttpError } from './http-error.ts';
import { authProvider, subscriptionKey } from './identity.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Checks the subscription key from the header or, without a header, from the query.
 * Errors: HttpError 401 where it is missing, given twice, or unknown.
 */
export function checkSubscriptionKey(headers: IncomingHttpHeaders, query: URLSearchParams): void {
  const given = headers['ocp-apim-subscription-key'] ?? query.getAll('subscription-key').join();
  if (given === '') throw new HttpError(401, 'The subscription key is missing');
  if (given !== subscriptionKey) throw new HttpError(401, 'The subscription key is not known');
}

/**
 * Identifies the caller by the auth headers, if the operation takes them. Every customer may call, and the staff.
 * Shape:  the caller's customer id or the staff's; null if the operation takes no auth headers, or they are optional and missing.
 * Errors: HttpError 403 if required headers are missing, or the bank knows nobody of that name.
 */
export function callerOf(
  auth: Auth,
  headers: IncomingHttpHeaders,
  isKnown: (id: string) => boolean,
): string | null {
  if (auth === 'none') return null;
  const provider = headers['auth-provider-name'];
  const id = headers['auth-id'];
  if (!provider && !id && auth === 'optional') return null;
  if (!provider || !id) {
    throw new HttpError(403, `The header ${provider ? 'Auth-ID' : 'Auth-Provider-Name'} is missing`);
  }
  if (provider !== authProvider || typeof id !== 'string' || !isKnown(id)) {
    throw new HttpError(403, 'The bank does not know this caller');
  }
  return id;
}

/** Errors: HttpError 400 where the `Track-ID` is missing or no UUID. */
export function checkTrackId(headers: IncomingHttpHeaders): void {
  const given = headers['track-id'];
  if (typeof given !== 'string' || !uuid.test(given)) {
    throw new HttpError(400, given ? 'The header Track-ID is not a UUID' : 'The header Track-ID is missing');
  }
}
