import { errors } from 'jose';
import { BankqlError } from '../../errors.ts';
import { JwksUnavailable } from './jwks.ts';

/** Why a request's token was refused. A fixed set of words: never a value from a claim or a token. */
export type TokenRefusal =
  | 'no token'
  | 'expired'
  | 'claims'
  | 'signature'
  | 'algorithm'
  | 'key'
  | 'no keys'
  | 'malformed';

/** The reason that corresponds to a verification error. */
export function tokenRefusalOf(error: unknown): TokenRefusal {
  if (error instanceof JwksUnavailable) return 'no keys';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'key';
  // A claim that has an unexpected value, or cannot be a credential.
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof BankqlError) return 'claims';
  // Any other error is caused by an unusable key of the set.
  return error instanceof errors.JOSEError ? 'malformed' : 'key';
}
