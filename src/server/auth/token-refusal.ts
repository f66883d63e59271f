import { errors } from 'jose';
import { BankqlError } from '../../errors.ts';
import { JwksUnavailable } from './jwks.ts';

/** Why a request was not let in by its token. Words of ours alone: never a claim's value, nor a token's. */
export type TokenRefusal =
  | 'no token'
  | 'expired'
  | 'claims'
  | 'signature'
  | 'algorithm'
  | 'key'
  | 'no keys'
  | 'malformed';

/** Which of them an error of the verification is. */
export function tokenRefusalOf(error: unknown): TokenRefusal {
  if (error instanceof JwksUnavailable) return 'no keys';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'key';
  // A claim that is another than is expected, or can be no credential.
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof BankqlError) return 'claims';
  // Whatever else happens is a key of the set that is of no use.
  return error instanceof errors.JOSEError ? 'malformed' : 'key';
}
