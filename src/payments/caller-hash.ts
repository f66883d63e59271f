import { createHmac } from 'node:crypto';

/**
 * What records and logs hold for a caller.
 * Shape: HMAC-SHA-256 in hex, under the store's secret, of `callerHash`: the SHA-256 in hex that records held before stores
 *        had a secret.
 */
export const hashUnderSecret = (secret: string, callerHash: string): string =>
  createHmac('sha256', secret).update(callerHash).digest('hex');
