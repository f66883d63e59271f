import type { JwksTimes } from './jwks.ts';

/** Whose tokens say who calls, and where in them it stands. */
export interface JwtOptions {
  /** The operator's, which stands for every caller's. */
  readonly subscriptionKey: string;
  /** Where the issuer's public keys are (a JSON Web Key Set). */
  readonly jwksUrl: string;
  /** What `iss` and `aud` of a token have to be. */
  readonly issuer: string;
  readonly audience: string;
  /** The algorithms of signatures that are accepted: public keys only, see `jwtAlgorithms`. */
  readonly algorithms: readonly string[];
  /** The claims that become Auth-Provider-Name and Auth-ID. */
  readonly providerClaim: string;
  readonly authIdClaim: string;
  /** Further claims that are handed on, where the token has them as a text or a whole number; none where left out. */
  readonly claims?: readonly string[];
  /** The proxy through which the keys are fetched; none where it is left out. */
  readonly jwksProxyUrl?: string | null;
  /** How long keys are believed, where the usual times do not suit. */
  readonly keyTimes?: Partial<JwksTimes>;
}

/** The algorithms that may be allowed. A shared secret (HS256) or none at all would let callers sign for themselves. */
export const jwtAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
] as const;
