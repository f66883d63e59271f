import { createPrivateKey, X509Certificate } from 'node:crypto';

/**
 * Checks that a private key belongs to the first certificate of a text; both are in PEM. OpenSSL itself compares them only if their
 * types are the same: with an EC key and an RSA certificate, it would offer no certificate.
 * Errors: an Error, also if one of them cannot be read.
 */
export function checkKeyPair(certificate: string | Buffer, key: string | Buffer): void {
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
    throw new Error('the key is not that of the certificate');
}
