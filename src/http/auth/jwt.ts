import { hash } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import {
  type Credentials,
  credentialHeaders,
  secretsOf,
  validateCredential,
} from '../../bank/credentials.ts';
import { requestSentNothing } from '../../errors.ts';
import { RequestError, retryLaterError } from '../../graphql/errors.ts';
import { headerValues, type IncomingHead } from '../head.ts';
import { currentActivity, redactFromLog } from '../request-scope.ts';
import type { Authenticate } from './authenticate.ts';
import { rejectCredentials } from './header-credentials.ts';
import { createJwks, JwksUnavailable, type Keys } from './jwks.ts';
import type { JwtOptions, TokenRefusal } from './jwt-options.ts';

/** The tolerated clock skew, in seconds. */
const clockSkew = 60;

/** The number of verified tokens that are kept. */
const maxVerified = 4096;

/** The maximum number of keys to try for a token that does not name its key. */
const maxCandidates = 8;

/** The keys of the issuer. Failures to fetch them are logged. */
const openKeys = ({ jwksUrl, jwksProxyUrl = null, keyTimes }: JwtOptions, logger: Pick<Logger, 'warn'>) =>
  createJwks({
    url: jwksUrl,
    proxyUrl: jwksProxyUrl,
    times: keyTimes,
    onFailure: (error) =>
      logger.warn({ reason: fetchFailure(error) }, 'the keys that verify tokens cannot be fetched'),
    onSkipped: (entries) =>
      logger.warn({ entries }, 'entries of the key set that are no usable keys are skipped'),
  });

/**
 * Identifies the caller by the verified claims of the request's bearer token; the subscription key is the operator's. `keys`: those
 * of another endpoint with tokens of this issuer, which are then shared.
 * Errors: BAD_USER_INPUT if the request contains credentials of its own; UNAUTHENTICATED (401) for no token, or one
 *         that is not accepted; OVERLOADED (503) while tokens cannot be verified. `onRefusal` is called with the last
 *         two, and must not throw.
 */
export function authenticateByToken(
  options: JwtOptions,
  logger: Pick<Logger, 'warn'>,
  onRefusal?: (why: TokenRefusal) => void,
  keys = openKeys(options, logger),
): Authenticate & { readonly keys: Keys } {
  const { subscriptionKey, issuer, audience, providerClaim, authIdClaim, claims = [] } = options;
  const { paymentScope = null, refusedAudience = null, resourceMetadata = null } = options;
  const metadata = resourceMetadata === null ? [] : [`resource_metadata="${resourceMetadata}"`];
  const expected = {
    issuer,
    audience,
    algorithms: [...options.algorithms],
    clockTolerance: clockSkew,
    requiredClaims: ['exp'],
  };

  /**
   * The callers of verified tokens, by the tokens' hashes; each with its expiry in seconds since 1970, and the number of the
   * key set.
   */
  const verified = new LRUCache<string, { caller: Credentials; until: number; keySet: number }>({
    max: maxVerified,
  });

  /** Verifies a token. Errors: JwksUnavailable; any other error for a token that is not accepted. */
  async function verify(token: string): Promise<Credentials> {
    const id = hash('sha256', token, 'base64');
    const keySet = keys.current();
    const known = verified.get(id);
    if (known !== undefined && known.keySet === keySet && Date.now() / 1000 < known.until)
      return known.caller;
    if (token.length > maxTokenLength) throw new TokenTooLong();
    refuseExpired(token);
    const payload = await payloadOf(token);
    if (refusedAudience !== null && [payload.aud].flat().includes(refusedAudience))
      throw new errors.JWTClaimValidationFailed('for another place', payload, 'aud');
    if (Object.hasOwn(payload, 'cnf')) throw new BoundToSender(payload.cnf);
    const read = (claim: string, header: string) => {
      try {
        return validateCredential(header, claimText(payload, claim) ?? '');
      } catch (cause) {
        throw Object.assign(new errors.JWTClaimValidationFailed('no credential', payload, claim), { cause });
      }
    };
    const authProviderName = read(providerClaim, credentialHeaders.authProviderName);
    const authId = read(authIdClaim, credentialHeaders.authId);
    const name = `subject ${authProviderName}\n${authId}`;
    const caller: Credentials = {
      subscriptionKey,
      authProviderName,
      authId,
      isProven: true,
      mayPay: paymentScope === null || scopesOf(payload).includes(paymentScope),
      identity: { name, group: name },
      ...(claims.length === 0 ? {} : { claims: claimsOf(payload, claims) }),
    };
    if (keySet !== null) verified.set(id, { caller, until: (payload.exp ?? 0) + clockSkew, keySet });
    return caller;
  }

  /**
   * The claims of a token, if its signature and claims are valid. The key is the one that the token's `kid` names. Without a
   * `kid`, or if several keys of the set have this name, keys of the token's algorithm are tried until one verifies the
   * signature; at most `maxCandidates`.
   */
  async function payloadOf(token: string): Promise<JWTPayload> {
    try {
      return (await jwtVerify(token, keys, expected)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      let tried = 0;
      for await (const key of error) {
        if (++tried > maxCandidates) break;
        try {
          return (await jwtVerify(token, key, expected)).payload;
        } catch (reason) {
          // jose validates claims only after the signature, so this key was the right one.
          if (reason instanceof errors.JWTClaimValidationFailed || reason instanceof errors.JWTExpired)
            throw reason;
        }
      }
      throw error;
    }
  }

  /** Reports the refusal of a token. `error`: null if there is no token. */
  function refused(error: unknown): void {
    const why = error === null ? 'no token' : tokenRefusalOf(error);
    onRefusal?.(why);
    const claim = error instanceof errors.JWTClaimValidationFailed ? ` (${error.claim})` : '';
    const activity = currentActivity();
    if (activity !== null) activity.reason = `bearer token: ${why}${claim}`;
  }

  const authenticate: Authenticate = async (request) => {
    rejectCredentials(request);
    const token = bearerToken(request);
    if (token === null) {
      refused(null);
      throw unauthenticated('A bearer token is needed.', metadata);
    }
    redactFromLog(() => [token]);
    try {
      const credentials = await verify(token);
      redactFromLog(() => secretsOf(credentials));
      return credentials;
    } catch (error) {
      refused(error);
      if (error instanceof JwksUnavailable)
        throw retryLaterError(
          'OVERLOADED',
          `bankql cannot verify tokens at the moment. ${requestSentNothing}`,
          503,
          error.retryAfter,
        );
      const reason = refusalMessage(error);
      // Other characters are replaced: RFC 6750 does not allow them, but the name of a claim may contain them.
      const description = reason.replaceAll(/[^ !#-[\]-~]/g, '?');
      throw unauthenticated(reason, [
        'error="invalid_token"',
        `error_description="${description}"`,
        ...metadata,
      ]);
    }
  };
  return Object.assign(authenticate, { keys });
}

/**
 * Refuses an expired token before its key is looked up. Otherwise, an old token with a removed key would look like a token with a
 * new key.
 * Errors: JWTExpired; those of a token that cannot be decoded.
 */
function refuseExpired(token: string): void {
  const payload = decodeJwt(token);
  const { exp } = payload;
  if (typeof exp === 'number' && exp + clockSkew <= Date.now() / 1000)
    throw new errors.JWTExpired('the token has expired', payload, 'exp', 'check_failed');
}

/**
 * The maximum length of a token, in characters. A request with such a token and other headers stays within Node's limit of 16 kB.
 */
const maxTokenLength = 8192;

class TokenTooLong extends Error {}

/**
 * The token belongs to the holder of a key (`cnf`, RFC 7800). If bankql accepted it as a plain bearer token, anybody who has the
 * token could use it. The message is for the client.
 */
class BoundToSender extends Error {
  constructor(cnf: unknown) {
    const method = Object.keys(remedies).find((name) => Object.hasOwn(Object(cnf), name)) ?? '';
    super(
      `The bearer token is bound to its sender (cnf), and this server cannot check that.${remedies[method] ?? ''}`,
    );
  }
}

/** The advice to the client, by the confirmation method in `cnf`. */
const remedies: Readonly<Record<string, string>> = {
  jkt: ' jkt: DPoP is not read.',
  'x5t#S256': ' x5t#S256: let the proxy verify the token, and use IDENTITY=headers.',
};

/** Whether a part is canonical base64url: no padding, no other alphabet, no surplus bits. */
const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part;

/**
 * Whether this is a strict JWS compact serialization (RFC 7515): three parts. Verifiers are more tolerant. The
 * signature may be empty: verification then reports an unsigned token.
 */
function isToken(text: string): boolean {
  const parts = text.split('.', 4);
  return parts.length === 3 && parts[0] !== '' && parts[1] !== '' && parts.every(isCanonical);
}

/** The request's bearer token; null if it has none. A malformed token becomes '', whose verification fails. */
export function bearerToken({ rawHeaders }: Pick<IncomingHead, 'rawHeaders'>): string | null {
  const values = headerValues(rawHeaders, 'authorization');
  if (values.length === 0) return null;
  const [value = ''] = values;
  const token = /^Bearer +(\S+)$/i.exec(value)?.[1] ?? '';
  return values.length === 1 && isToken(token) ? token : '';
}

function tokenRefusalOf(error: unknown): TokenRefusal {
  if (error instanceof JwksUnavailable) return error.hasFailed ? 'no keys' : 'key';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'key';
  if (error instanceof TokenTooLong) return 'too long';
  if (error instanceof BoundToSender) return 'bound to its sender';
  // A claim has an unexpected value, or cannot be a credential.
  if (error instanceof errors.JWTClaimValidationFailed) return 'claims';
  // Any other error means that a key of the set is unusable.
  return error instanceof errors.JOSEError ? 'malformed' : 'key';
}

/** The message to a client. It names only faults that the token's holder can correct, and no value of the token. */
function refusalMessage(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The bearer token has expired; get a new one.';
  if (error instanceof TokenTooLong)
    return `The bearer token is longer than ${maxTokenLength} characters; get one with fewer claims.`;
  if (error instanceof BoundToSender) return error.message;
  if (error instanceof errors.JWTClaimValidationFailed)
    return `The bearer token is not accepted: its claim ${error.claim} is missing or not the one that this server expects.`;
  return 'The bearer token is not accepted.';
}

/** A claim as text. An integer becomes its digits, if a double holds all of them. Undefined for any other value. */
function claimText(payload: JWTPayload, name: string): string | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
  return typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : undefined;
}

/** The words of `scope` and `scp`. Issuers write either of them, as a text with blanks or as a list. */
const scopesOf = ({ scope, scp }: JWTPayload): readonly unknown[] =>
  [scope, scp].flatMap((words) => (typeof words === 'string' ? words.split(' ') : words));

/** The claims with these names, as far as the token has them. */
const claimsOf = (payload: JWTPayload, names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = claimText(payload, name);
      return text === undefined ? [] : [[name, text]];
    }),
  );

const unauthenticated = (message: string, challenge: readonly string[]) =>
  new RequestError('UNAUTHENTICATED', message, {
    http: { status: 401, headers: { 'WWW-Authenticate': `Bearer ${challenge.join(', ')}`.trim() } },
  });

/** Why keys cannot be fetched, for the log. */
function fetchFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
