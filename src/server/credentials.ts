import type { IncomingMessage } from 'node:http';
import { type Credentials, checkCredential, credentialHeaders } from '../bank/credentials.ts';
import { badUserInput } from '../bank/error.ts';

/** The query parameter in which the specification allows the subscription key too. */
const keyParameter = 'subscription-key';

/**
 * The caller's credentials, taken from the request: the only thing of it that goes on to the bank.
 * `incoming` is Node's request, where there is one: it alone tells a header that was sent twice from one with a comma.
 * Errors: BAD_USER_INPUT where one is sent twice, is too long, or holds something else than printable ASCII.
 */
export function readCredentials(request: Request, incoming?: IncomingMessage): Credentials {
  const keys = new URL(request.url).searchParams.getAll(keyParameter);
  const read = (name: keyof Credentials, others: readonly string[] = []) => {
    const header = credentialHeaders[name];
    const inHeaders = incoming?.headersDistinct[header.toLowerCase()] ?? request.headers.get(header) ?? [];
    const values = [inHeaders, others].flat();
    if (values.length > 1)
      throw badUserInput(`The credential ${header} is given ${values.length} times; give it once.`);
    const [value] = values;
    return value === undefined ? null : checkCredential(header, value);
  };
  return {
    subscriptionKey: read('subscriptionKey', keys),
    authProviderName: read('authProviderName'),
    authId: read('authId'),
  };
}
