import type { Credentials } from '../bank/credentials.ts';
import { payerOf } from './record.ts';
import { openKey, sealKey } from './sealed-idempotency-key.ts';
import type { PaymentRecord } from './store.ts';

/**
 * A payment's name for whoever made it. A record's id is a hash of the idempotency key, which could be found out by trying:
 * it is encrypted, for the caller alone. The Track-ID belongs to one record only, as the encryption key therefore does.
 */
export interface PaymentReference {
  readonly trackId: string;
  readonly sealedId: string;
}

/** Errors: MISSING_CREDENTIALS. */
export const referenceTo = (credentials: Credentials, { id, trackId }: PaymentRecord): PaymentReference => ({
  trackId,
  sealedId: sealKey(payerOf(credentials), trackId, id),
});

/** The id of the record that a reference names; null where somebody else made it. Errors: MISSING_CREDENTIALS. */
export const openReference = (
  credentials: Credentials,
  { trackId, sealedId }: PaymentReference,
): string | null => openKey(payerOf(credentials), trackId, sealedId);
