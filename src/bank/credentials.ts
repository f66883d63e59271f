import { hash as oneHash } from 'node:crypto';
import type { Operation } from '../contract/operation.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';

/** The credentials that a caller sends to the bank; null where the caller gave none. */
export interface Credentials {
  readonly subscriptionKey: string | null;
  readonly authProviderName: string | null;
  readonly authId: string | null;
}

/** Identifies one caller, for counting. */
export interface Identity {
  /** Different for each caller, and for each way in which a caller proves who it is. */
  readonly name: string;
  /** The name, if it is proven; otherwise the name of the peer that claims it. */
  readonly group: string;
}

/** A caller: the credentials that the bank receives, and anything else known about the caller. */
export interface Caller extends Credentials {
  /** Whether the caller's identity is proven. The subscription key is then the operator's, and does not identify the caller. */
  readonly isProven?: boolean;
  /** Absent if it is not known how the caller got these credentials. */
  readonly identity?: Identity;
  /** The claims of a verified token that the configuration asks for, if the token has them. The bank does not receive them. */
  readonly claims?: Readonly<Record<string, string>>;
}

/** The header that carries each of them, in the specification's spelling. */
export const credentialHeaders = {
  subscriptionKey: 'Ocp-Apim-Subscription-Key',
  authProviderName: 'Auth-Provider-Name',
  authId: 'Auth-ID',
} as const satisfies Record<keyof Credentials, string>;

const maxLength = 255;
const printable = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * A credential as it may leave for the bank: printable ASCII without outer white space, at most 255 characters.
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
 * The headers that show the caller to the bank for one operation, names and values in turn: the subscription key
 * always, the auth headers if the operation is marked A, or marked a and they were given.
 * Errors: MISSING_CREDENTIALS, which names the headers that are absent.
 */
export function credentialHeadersFor(operation: Operation, credentials: Credentials): string[] {
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

/** The credentials to redact from a bank's texts. Shorter values are left in: ordinary words may contain them. */
export const secretsOf = (credentials: Credentials): string[] =>
  Object.values(credentials).filter(
    (value): value is string => typeof value === 'string' && value.length >= 4,
  );

/** SHA-256 of the values as a JSON array. It identifies callers without containing a credential. */
export const hash = (values: readonly (string | readonly string[] | null | undefined)[]): string =>
  oneHash('sha256', JSON.stringify(values), 'base64');

/** Values derived from a request's credentials, each computed once per request. */
export class CallerIdentity implements Identity {
  readonly credentials: Credentials;
  /** Identifies callers by all three of their credentials, byte for byte, without containing one. */
  readonly id: string;
  /** The name in the caller's `Identity`; without one, the id. */
  readonly name: string;
  readonly group: string;
  /** The headers of each operation that was called. */
  readonly #headers = new Map<Operation, string[]>();
  #countedId: string | null = null;
  #keyId: string | null = null;

  constructor(credentials: Caller) {
    const { subscriptionKey, authProviderName, authId } = credentials;
    this.credentials = credentials;
    this.id = hash([subscriptionKey, authProviderName, authId]);
    const { name, group } = credentials.identity ?? { name: this.id, group: this.id };
    this.name = name;
    this.group = group;
  }

  /** The same as `name`, without containing a credential. */
  get countedId(): string {
    this.#countedId ??= hash([this.name]);
    return this.#countedId;
  }

  /** Identifies subscription keys without containing one. */
  get keyId(): string {
    this.#keyId ??= hash([this.credentials.subscriptionKey]);
    return this.#keyId;
  }

  /** All headers of an operation but the Track-ID, names and values in turn. Errors: MISSING_CREDENTIALS. */
  headersOf(operation: Operation): string[] {
    return this.#headers.get(operation) ?? this.#buildHeaders(operation);
  }

  #buildHeaders(operation: Operation): string[] {
    const headers = credentialHeadersFor(operation, this.credentials);
    headers.push('Accept', 'application/json', 'Accept-Encoding', 'identity');
    if (operation.body !== null) headers.push('Content-Type', 'application/json');
    this.#headers.set(operation, headers);
    return headers;
  }
}

/** The caller of a call that is over. */
export const nobody = new CallerIdentity({ subscriptionKey: null, authProviderName: null, authId: null });

const callers = new WeakMap<Credentials, CallerIdentity>();

const identify = (credentials: Credentials) => new CallerIdentity(credentials);

export const identityOf = (credentials: Credentials): CallerIdentity =>
  callers.get(credentials) ?? getOrMake(callers, credentials, identify);

/** As CallerIdentity.countedId. */
export const countedId = (credentials: Credentials): string => identityOf(credentials).countedId;
