import type { IncomingMessage } from 'node:http';
import { type Credentials, checkCredential, credentialHeaders, secretsOf } from '../bank/credentials.ts';
import { badUserInput } from '../bank/error.ts';
import { hideFromLog } from './current-request.ts';
import type { Identify } from './use-caller.ts';

/** The query parameter in which the specification allows the subscription key too. */
export const keyParameter = 'subscription-key';

/**
 * The values of a header, one for each time that it was sent. `incoming` is Node's request, where there is one: it
 * alone tells a header that was sent twice from one with a comma.
 */
export const headerValues = (name: string, request: Request, incoming?: IncomingMessage): readonly string[] =>
  [incoming?.headersDistinct[name.toLowerCase()] ?? request.headers.get(name) ?? []].flat();

const keysInQuery = (request: Request) => new URL(request.url).searchParams.getAll(keyParameter);

/**
 * Takes the caller's credentials from the request: the only thing of it that goes on to the bank. The operator's key,
 * where there is one, stands for every caller's.
 * Errors: BAD_USER_INPUT where one is sent twice, is too long, or holds something else than printable ASCII.
 */
export const identifyByHeaders =
  (subscriptionKey: string | null): Identify =>
  (request, incoming) => {
    const given = readCredentials(request, incoming);
    hideFromLog([...secretsOf(given), ...headerValues('Authorization', request, incoming)]);
    return subscriptionKey === null ? given : { ...given, subscriptionKey };
  };

function readCredentials(request: Request, incoming?: IncomingMessage): Credentials {
  const read = (name: keyof Credentials, others: readonly string[] = []) => {
    const header = credentialHeaders[name];
    const values = [...headerValues(header, request, incoming), ...others];
    if (values.length > 1)
      throw badUserInput(`The credential ${header} is given ${values.length} times; give it once.`);
    const [value] = values;
    return value === undefined ? null : checkCredential(header, value);
  };
  return {
    subscriptionKey: read('subscriptionKey', keysInQuery(request)),
    authProviderName: read('authProviderName'),
    authId: read('authId'),
  };
}

/**
 * Holds a request against the rule that a token alone says who calls, and the operator alone holds the key.
 * Errors: BAD_USER_INPUT, which names the credential that the request brings all the same.
 */
export function refuseCredentials(request: Request, incoming?: IncomingMessage): void {
  const given = Object.values(credentialHeaders).find(
    (header) => headerValues(header, request, incoming).length > 0,
  );
  const what = given === undefined ? `query parameter ${keyParameter}` : `header ${given}`;
  if (given !== undefined || keysInQuery(request).length > 0)
    throw badUserInput(`Leave out the ${what}: here a bearer token says who calls.`);
}
