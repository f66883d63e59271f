import {
  type CredentialName,
  type Credentials,
  credentialHeaders,
  secretsOf,
  validateCredential,
} from '../../bank/credentials.ts';
import { badUserInput } from '../../errors.ts';
import type { Identity } from '../../load/callers.ts';
import { headerValues, type IncomingHead, queryOf } from '../head.ts';
import { redactFromLog } from '../request-scope.ts';
import type { Authenticate } from './authenticate.ts';

/** The query parameter in which the specification allows the subscription key, instead of the header. */
const subscriptionKeyParameter = 'subscription-key';

const headers = {
  subscriptionKey: credentialHeaders.subscriptionKey.toLowerCase(),
  authProviderName: credentialHeaders.authProviderName.toLowerCase(),
  authId: credentialHeaders.authId.toLowerCase(),
} as const satisfies Record<CredentialName, string>;

/** Matches a query that may contain the name of this parameter, plain or percent-encoded. */
const mayBeKey = /subscription|%/;

const keysInQuery = ({ url = '' }: IncomingHead): readonly string[] =>
  mayBeKey.test(url) ? queryOf(url).getAll(subscriptionKeyParameter) : [];

/**
 * Takes the caller's credentials from the request. Nothing else of the request is forwarded to the bank. The operator's key, if
 * configured, replaces every caller's. `areProven`: whether a proxy has verified the headers.
 * Errors: BAD_USER_INPUT if a credential is sent twice, is too long, or contains anything but printable ASCII.
 */
export const authenticateByHeaders =
  (subscriptionKey: string | null, areProven = false): Authenticate =>
  (request, peer) => {
    const given = readCredentials(request);
    const { rawHeaders } = request;
    redactFromLog(() => [...secretsOf(given), ...headerValues(rawHeaders, 'authorization')]);
    const own = subscriptionKey === null ? given : { ...given, subscriptionKey, isProven: areProven };
    const identity = identityOf(given, peer, areProven);
    return { ...own, identity };
  };

/**
 * The caller's identity, for counting. Unverified headers may contain somebody else's name, so a name counts only within the
 * network address that sent it, and takes no capacity from other addresses. A request without credentials counts for its address.
 */
function identityOf(
  { subscriptionKey, authProviderName, authId }: Credentials,
  peer: string,
  areProven: boolean,
): Identity {
  // The provider's name and the id are separated by a line break, which no credential contains.
  const caller = `${authProviderName ?? ''}\n${authId ?? ''}`;
  if (areProven && authProviderName !== null && authId !== null) {
    const name = `header ${caller}`;
    return { name, group: name };
  }
  if (subscriptionKey === null && authProviderName === null && authId === null)
    return { name: peer, group: peer };
  return { name: `claim ${peer}\n${subscriptionKey ?? ''}\n${caller}`, group: peer };
}

function readCredentials(request: IncomingHead): Credentials {
  const read = (name: CredentialName, others: readonly string[] = []) => {
    const given = headerValues(request.rawHeaders, headers[name]);
    const values = others.length === 0 ? given : [...given, ...others];
    // A header without a value counts as absent: an operation that requires it reports the error.
    if (values.length === 1 && values[0] === '') return null;
    if (values.length > 1)
      throw badUserInput(
        `The credential ${credentialHeaders[name]} is given ${values.length} times; give it once.`,
      );
    const [value] = values;
    return value === undefined ? null : validateCredential(credentialHeaders[name], value);
  };
  return {
    subscriptionKey: read('subscriptionKey', keysInQuery(request)),
    authProviderName: read('authProviderName'),
    authId: read('authId'),
  };
}

/**
 * Checks that a request brings no credentials of its own: only the token identifies the caller, and only the operator
 * has the key.
 * Errors: BAD_USER_INPUT, which names the credential that the request contains.
 */
export function rejectCredentials(request: IncomingHead): void {
  const given = Object.values(credentialHeaders).find(
    (header) => headerValues(request.rawHeaders, header.toLowerCase()).length > 0,
  );
  const what = given === undefined ? `query parameter ${subscriptionKeyParameter}` : `header ${given}`;
  if (given !== undefined || keysInQuery(request).length > 0)
    throw badUserInput(`Leave out the ${what}: here a bearer token identifies the caller.`);
}
