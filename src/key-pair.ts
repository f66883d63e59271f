import { createPrivateKey, X509Certificate } from 'node:crypto';

/**
 * Checks that a private key belongs to the first certificate of a text; both are in PEM. OpenSSL compares them only if both
 * are of the same type: with an EC key and an RSA certificate, it reports no error, and later offers no certificate.
 * Errors: Error if they do not belong together, or if one of them cannot be read.
 */
export function checkKeyPair(certificate: string | Buffer, key: string | Buffer): void {
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
    throw new Error('the key is not that of the certificate');
}
