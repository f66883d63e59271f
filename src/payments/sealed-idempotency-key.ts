import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

/** Who may open a sealed key: the same caller with the same subscription key. */
interface KeyHolder {
  readonly caller: readonly [provider: string, id: string];
  readonly subscriptionKey: string;
}

const algorithm = 'aes-256-gcm';
const tagBytes = 16;
/** Each encryption key belongs to one record and encrypts one text, so a constant nonce is safe. */
const nonce = Buffer.alloc(12);

const encryptionKey = ({ caller, subscriptionKey }: KeyHolder, recordId: string): Buffer =>
  Buffer.from(
    hkdfSync('sha256', subscriptionKey, recordId, JSON.stringify(['idempotency key', ...caller]), 32),
  );

/**
 * Encrypts an idempotency key for its record, so that only its caller can read it.
 * Shape: base64 of AES-256-GCM's ciphertext and tag. A record's id is a hash of the key, so that no two texts are ever
 *        encrypted under the same encryption key.
 */
export function sealKey(holder: KeyHolder, recordId: string, idempotencyKey: string): string {
  const cipher = createCipheriv(algorithm, encryptionKey(holder, recordId), nonce);
  return Buffer.concat([cipher.update(idempotencyKey, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
    'base64',
  );
}

/** The idempotency key; null if another caller sealed it, or it is damaged. */
export function openKey(holder: KeyHolder, recordId: string, sealedKey: string): string | null {
  const sealed = Buffer.from(sealedKey, 'base64');
  if (sealed.length < tagBytes) return null;
  const decipher = createDecipheriv(algorithm, encryptionKey(holder, recordId), nonce);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return decipher.update(sealed.subarray(0, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}
