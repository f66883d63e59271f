import { hash as oneHash } from 'node:crypto';
import type { Operation } from '../contract/operation.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { type Caller, type Callers, type Identity, nobody } from '../load/callers.ts';

/** A caller's credentials for the bank (null if absent), and other facts about the caller. */
export interface Credentials {
  readonly subscriptionKey: string | null;
  readonly authProviderName: string | null;
  readonly authId: string | null;
  /** Whether the caller's identity is verified. The subscription key is then the operator's, and does not identify the caller. */
  readonly isProven?: boolean;
  /** Whether the caller may make payments (default: true). */
  readonly mayPay?: boolean;
  /** The identity under which the caller is counted. If absent, a hash of the credentials is used. */
  readonly identity?: Identity;
  /** The claims of a verified token that the configuration needs, if the token has them. They are not sent to the bank. */
  readonly claims?: Readonly<Record<string, string>> | undefined;
}

/** The header of each credential, in the specification's spelling. */
export const credentialHeaders = {
  subscriptionKey: 'Ocp-Apim-Subscription-Key',
  authProviderName: 'Auth-Provider-Name',
  authId: 'Auth-ID',
} as const;

export type CredentialName = keyof typeof credentialHeaders;

const maxLength = 255;
const printable = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Checks a credential, and returns it. It must be printable ASCII without outer white space, at most 255
 * characters.
 * Errors: BAD_USER_INPUT, which names the header and never shows the value.
 */
export function validateCredential(header: string, value: string): string {
  if (value.length > maxLength)
    throw badUserInput(`The header ${header} is longer than ${maxLength} characters.`);
  if (!printable.test(value)) {
    throw badUserInput(
      `The header ${header} is empty, or holds something else than printable ASCII characters; send it once, with a plain value.`,
    );
  }
  return value;
}

/**
 * The headers with the caller's credentials for one operation, as alternating names and values. The subscription key is always
 * included. The auth headers are included if the operation takes them and the caller gave them.
 * Errors: MISSING_CREDENTIALS, which names the required headers that are absent.
 */
function credentialHeadersFor(operation: Operation, credentials: Credentials): string[] {
  const { subscriptionKey, authProviderName, authId } = credentialHeaders;
  const { auth } = operation;
  const headers: string[] = [];
  const missing: string[] = [];
  if (credentials.subscriptionKey !== null) headers.push(subscriptionKey, credentials.subscriptionKey);
  else missing.push(subscriptionKey);
  if (auth !== 'none' && credentials.authProviderName !== null)
    headers.push(authProviderName, credentials.authProviderName);
  else if (auth === 'required') missing.push(authProviderName);
  if (auth !== 'none' && credentials.authId !== null) headers.push(authId, credentials.authId);
  else if (auth === 'required') missing.push(authId);
  if (missing.length > 0) {
    throw new BankqlError(
      'MISSING_CREDENTIALS',
      `${operation.id} needs the request header${missing.length > 1 ? 's' : ''} ${missing.join(', ')}.`,
      { operation: operation.id },
    );
  }
  return headers;
}

/** The credentials to redact from a bank's texts. Values below four characters are left out: ordinary words may contain them. */
export const secretsOf = ({ subscriptionKey, authProviderName, authId }: Credentials): string[] =>
  [subscriptionKey, authProviderName, authId].filter(
    (value): value is string => typeof value === 'string' && value.length >= 4,
  );

/** SHA-256 of the values as a JSON array. It identifies callers without containing a credential. */
export const hash = (values: readonly (string | readonly string[] | null | undefined)[]): string =>
  oneHash('sha256', JSON.stringify(values), 'base64');

/**
 * The credentials of one request. The headers of each bank operation, and the id under which reads are shared, are computed
 * once. The object ends with the request; the `Caller`, which counts what a caller uses, lives longer (load/callers.ts).
 */
export class RequestCredentials implements Credentials {
  readonly subscriptionKey: string | null;
  readonly authProviderName: string | null;
  readonly authId: string | null;
  readonly isProven: boolean;
  readonly mayPay: boolean;
  readonly claims: Credentials['claims'];
  /** The caller to whom the calls are charged. */
  readonly caller: Caller;
  readonly #headers = new Map<Operation, string[]>();
  #id: string | null = null;
  #keyId: string | null = null;

  constructor(credentials: Credentials, caller: Caller) {
    this.subscriptionKey = credentials.subscriptionKey;
    this.authProviderName = credentials.authProviderName;
    this.authId = credentials.authId;
    this.isProven = credentials.isProven ?? false;
    this.mayPay = credentials.mayPay ?? true;
    this.claims = credentials.claims;
    this.caller = caller;
  }

  /**
   * Identifies the caller by all three credentials, byte for byte. The id contains the credentials, so nothing may keep it
   * after the request.
   */
  get id(): string {
    this.#id ??= JSON.stringify(credentialsIn(this));
    return this.#id;
  }

  /** Identifies the subscription key without containing it. */
  get keyId(): string {
    this.#keyId ??= hash([this.subscriptionKey]);
    return this.#keyId;
  }

  /** All headers of an operation except the Track-ID, as alternating names and values. Errors: MISSING_CREDENTIALS. */
  headersOf(operation: Operation): string[] {
    return this.#headers.get(operation) ?? this.#buildHeaders(operation);
  }

  #buildHeaders(operation: Operation): string[] {
    const headers = credentialHeadersFor(operation, this);
    headers.push('Accept', 'application/json', 'Accept-Encoding', 'identity');
    if (operation.body !== null) headers.push('Content-Type', 'application/json');
    this.#headers.set(operation, headers);
    return headers;
  }
}

const credentialsIn = ({ subscriptionKey, authProviderName, authId }: Credentials) => [
  subscriptionKey,
  authProviderName,
  authId,
];

function unknownIdentity(credentials: Credentials): Identity {
  const name = hash(credentialsIn(credentials));
  return { name, group: name };
}

/** Empty credentials: for a call that has ended, and for a request before its caller is identified. */
export const noCredentials = new RequestCredentials(
  { subscriptionKey: null, authProviderName: null, authId: null },
  nobody,
);

/**
 * Converts credentials to the form that calls need; code that makes several calls should do this once. Without a known
 * identity, the caller is counted under a hash of the credentials.
 */
export function requestCredentials(credentials: Credentials, callers: Callers): RequestCredentials {
  if (credentials instanceof RequestCredentials) return credentials;
  const { identity = unknownIdentity(credentials) } = credentials;
  return new RequestCredentials(credentials, callers.find(identity));
}
