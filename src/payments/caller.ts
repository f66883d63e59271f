import { createHmac, hash } from 'node:crypto';
import type { Credentials } from '../bank/credentials.ts';
import { BankqlError } from '../errors.ts';

/** The caller to whom a payment belongs. Records and logs contain only pseudonyms of the caller. */
export interface Payer {
  /** Auth-Provider-Name and Auth-ID. */
  readonly caller: readonly [provider: string, id: string];
  /** Unless the caller's identity is verified, a payment is shown only with the subscription key that made it. */
  readonly subscriptionKey: string;
  readonly isProven?: boolean;
}

/** Errors: MISSING_CREDENTIALS. */
export function payerOf({ authProviderName, authId, subscriptionKey, isProven = false }: Credentials): Payer {
  if (authProviderName === null || authId === null || subscriptionKey === null) {
    throw new BankqlError(
      'MISSING_CREDENTIALS',
      'A payment belongs to a caller: it needs the request headers Ocp-Apim-Subscription-Key, Auth-Provider-Name and Auth-ID.',
    );
  }
  return { caller: [authProviderName, authId], subscriptionKey, isProven };
}

/** The id of the record of a payer's payment with this key. */
export const recordId = ({ caller }: Payer, idempotencyKey: string): string =>
  sha256([...caller, idempotencyKey]);

/**
 * The caller's pseudonym in records and logs. Auth-IDs can be guessed, so the hash is keyed: without the store's secret
 * nobody can find out by trial whose payment it is.
 * Shape: HMAC-SHA-256 in hex.
 */
export const hashCaller = (secret: string, provider: string, id: string): string =>
  hashUnderSecret(secret, [provider, id]);

/**
 * The hash of the caller together with the subscription key. A caller whose identity is not proven finds only payments with
 * this hash. Shape: as hashCaller.
 */
export const hashPayer = (secret: string, { caller, subscriptionKey }: Payer): string =>
  hashUnderSecret(secret, [...caller, subscriptionKey]);

const hashUnderSecret = (secret: string, values: readonly string[]): string =>
  createHmac('sha256', secret).update(sha256(values)).digest('hex');

/** SHA-256 of the values as JSON, which separates them unambiguously. */
export const sha256 = (values: readonly (string | null)[]) => hash('sha256', JSON.stringify(values));
