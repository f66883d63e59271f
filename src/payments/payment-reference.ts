import type { Credentials } from '../bank/credentials.ts';
import { payerOf } from './record.ts';
import { openKey, sealKey } from './sealed-idempotency-key.ts';
import type { PaymentRecord } from './store.ts';

/**
 * Identifies a payment to the caller who made it. A record's id is a hash of the idempotency key, which could be
 * guessed from it by brute force, so the id is encrypted for the caller alone. The Track-ID is unique to the record,
 * and so is the encryption key.
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

/** The record id in a reference; null if another caller made it. Errors: MISSING_CREDENTIALS. */
export const openReference = (
  credentials: Credentials,
  { trackId, sealedId }: PaymentReference,
): string | null => openKey(payerOf(credentials), trackId, sealedId);
