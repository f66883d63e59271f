import { type Credentials, checkCredential, credentialHeaders, secretsOf } from '../bank/credentials.ts';
import { badUserInput } from '../bank/error.ts';
import type { Identify } from './caller.ts';
import { hideFromLog } from './current-request.ts';
import { type Incoming, queryOf } from './incoming.ts';

/** The query parameter in which the specification allows the subscription key too. */
export const keyParameter = 'subscription-key';

const headers = {
  subscriptionKey: credentialHeaders.subscriptionKey.toLowerCase(),
  authProviderName: credentialHeaders.authProviderName.toLowerCase(),
  authId: credentialHeaders.authId.toLowerCase(),
} as const satisfies Record<keyof Credentials, string>;

/** What a name in a query is that could be the key's: as it is, or with some of it encoded. */
const mayBeKey = /subscription|%/;

const keysInQuery = ({ target }: Incoming): readonly string[] =>
  mayBeKey.test(target) ? queryOf(target).getAll(keyParameter) : [];

/**
 * Takes the caller's credentials from the request: the only thing of it that goes on to the bank. The operator's key,
 * where there is one, stands for every caller's.
 * Errors: BAD_USER_INPUT where one is sent twice, is too long, or holds something else than printable ASCII.
 */
export const identifyByHeaders =
  (subscriptionKey: string | null): Identify =>
  (incoming) => {
    const given = readCredentials(incoming);
    hideFromLog(() => [...secretsOf(given), ...incoming.header('authorization')]);
    return subscriptionKey === null ? given : { ...given, subscriptionKey };
  };

/**
 * Tells the callers of `identifyByHeaders` apart before they are let in: two requests have the same key exactly where
 * they have the same credentials. Requests whose credentials are refused have one key together.
 */
export const callerKeyByHeaders =
  (subscriptionKey: string | null) =>
  (incoming: Incoming): string => {
    try {
      const given = readCredentials(incoming);
      // No credential holds a line's end, and none is empty.
      const own = subscriptionKey ?? given.subscriptionKey ?? '';
      return `${own}\n${given.authProviderName ?? ''}\n${given.authId ?? ''}`;
    } catch {
      return 'refused';
    }
  };

function readCredentials(incoming: Incoming): Credentials {
  const read = (name: keyof Credentials, others: readonly string[] = []) => {
    const given = incoming.header(headers[name]);
    const values = others.length === 0 ? given : [...given, ...others];
    if (values.length > 1)
      throw badUserInput(
        `The credential ${credentialHeaders[name]} is given ${values.length} times; give it once.`,
      );
    const [value] = values;
    return value === undefined ? null : checkCredential(credentialHeaders[name], value);
  };
  return {
    subscriptionKey: read('subscriptionKey', keysInQuery(incoming)),
    authProviderName: read('authProviderName'),
    authId: read('authId'),
  };
}

/**
 * Holds a request against the rule that a token alone says who calls, and the operator alone holds the key.
 * Errors: BAD_USER_INPUT, which names the credential that the request brings all the same.
 */
export function refuseCredentials(incoming: Incoming): void {
  const given = Object.values(credentialHeaders).find(
    (header) => incoming.header(header.toLowerCase()).length > 0,
  );
  const what = given === undefined ? `query parameter ${keyParameter}` : `header ${given}`;
  if (given !== undefined || keysInQuery(incoming).length > 0)
    throw badUserInput(`Leave out the ${what}: here a bearer token says who calls.`);
}
