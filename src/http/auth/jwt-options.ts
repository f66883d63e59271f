import type { JwksTimes } from './jwks.ts';

/** The issuer whose tokens identify callers, and the claims that name them. */
export interface JwtOptions {
  /** The operator's subscription key, which is used for every caller. */
  readonly subscriptionKey: string;
  /** The address of the issuer's public keys (a JSON Web Key Set). */
  readonly jwksUrl: string;
  /** The required `iss` and `aud` of a token. */
  readonly issuer: string;
  readonly audience: string;
  /** Tokens with this `aud` are refused, because they are for another endpoint. By default, no `aud` is refused. */
  readonly refusedAudience?: string | null;
  /**
   * The URL of the metadata that tells clients where to get tokens (RFC 9728). A refused client gets this
   * URL.
   */
  readonly resourceMetadata?: string | null;
  /** The accepted signature algorithms, of those in `jwtAlgorithms`: all use public keys. */
  readonly algorithms: readonly string[];
  /** The claims that become Auth-Provider-Name and Auth-ID. */
  readonly providerClaim: string;
  readonly authIdClaim: string;
  /** The word that a token's scope must contain for payments; null (the default): every token may pay. */
  readonly paymentScope?: string | null;
  /** Further claims to pass on, if the token has them as a string or an integer; none by default. */
  readonly claims?: readonly string[];
  readonly jwksProxyUrl?: string | null;
  readonly keyTimes?: Partial<JwksTimes>;
}

/**
 * The algorithms that may be allowed. With a shared secret (HS256) or no signature (`none`), callers could sign tokens
 * themselves.
 */
export const jwtAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
] as const;

/** Why a request's token was refused. A fixed set of words: never a value from a claim or a token. */
export const tokenRefusals = [
  'no token',
  'expired',
  'claims',
  'signature',
  'algorithm',
  'key',
  'no keys',
  'malformed',
  'too long',
  'bound to its sender',
] as const;
export type TokenRefusal = (typeof tokenRefusals)[number];
