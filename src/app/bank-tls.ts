import { X509Certificate } from 'node:crypto';
import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { messageOf, StartError } from '../errors.ts';
import { checkKeyPair } from '../key-pair.ts';

export type TlsFiles = NonNullable<Config['bankTls']>;

/** The interval between checks of the files, in milliseconds. Polling also notices symbolic links that change. */
const lookEveryMs = 5000;

type BankTls = Awaited<ReturnType<typeof readBankTls>>;

/**
 * The certificates in the files.
 * Shape: `expiries`: when the first certificate of a file expires, in milliseconds since 1970, by the variable that names the
 * file.
 * Errors: StartError, which names the variable and the file.
 */
export async function readBankTls(files: TlsFiles) {
  const cert = await readPem('BANK_TLS_CERT', files.cert);
  const key = await readPem('BANK_TLS_KEY', files.key);
  const ca = await readPem('BANK_TLS_CA', files.ca);
  try {
    const secureContext = createSecureContext({ cert, key, ca });
    if (cert !== undefined && key !== undefined) checkKeyPair(cert, key);
    const expiries = new Map<string, number>();
    if (cert !== undefined) expiries.set('BANK_TLS_CERT', expiryOf(cert));
    if (ca !== undefined) expiries.set('BANK_TLS_CA', expiryOf(ca));
    return { secureContext, expiries };
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : messageOf(error);
    const named = [cert && 'BANK_TLS_CERT', key && 'BANK_TLS_KEY', ca && 'BANK_TLS_CA'].filter(Boolean);
    throw new StartError(
      `${named.join(', ')} cannot be used: give a certificate and its own key, without a passphrase, in PEM (${reason}).`,
    );
  }
}

const mark = Buffer.from('\uFEFF');

/**
 * The bytes of a file, without a byte order mark, behind which OpenSSL would not find the beginning of a
 * certificate.
 */
async function readPem(variable: string, file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`${variable}=${file} cannot be read: ${error.code}.`);
  });
  // decodeText is not used, because remarks between certificates may be in another charset.
  if (bytes.includes(0))
    throw new StartError(
      `${variable}=${file} cannot be used: it is in UTF-16 or DER: save it as PEM, in UTF-8.`,
    );
  return bytes.subarray(bytes.indexOf(mark) === 0 ? mark.length : 0);
}

const begin = /-----BEGIN CERTIFICATE-----/g;
const block = /^-----BEGIN CERTIFICATE-----[^-]*^-----END CERTIFICATE-----/gm;

/**
 * The time at which the first certificate expires, in milliseconds since 1970. Errors: Error if the text has no certificate
 * (OpenSSL would accept it, and trust nobody), or one that OpenSSL would skip because it is indented or cut off.
 */
function expiryOf(pem: Buffer): number {
  const text = pem.toString('latin1');
  const certificates = Array.from(text.matchAll(block), ([certificate]) => new X509Certificate(certificate));
  if (certificates.length === 0 || certificates.length !== text.match(begin)?.length)
    throw new Error('a certificate is missing, or not whole');
  return Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)));
}

export const daysLeft = (expiry: number, now: number): number => (expiry - now) / (24 * 60 * 60 * 1000);

/** bankql warns if a certificate expires within this number of days. */
const warnDays = 30;

/** Warns of certificates that expire soon or have expired. */
export function warnOfExpiry({ expiries }: BankTls, logger: Logger, now: number): void {
  for (const [file, expiry] of expiries) {
    const days = Math.floor(daysLeft(expiry, now));
    const expires = new Date(expiry).toISOString();
    if (days < 0) logger.error({ file, expires }, 'a certificate for the bank has expired');
    else if (days < warnDays) logger.warn({ file, expires, days }, 'a certificate for the bank expires soon');
  }
}

/**
 * Reloads the files when one of them changes.
 * Shape: a function that ends the watching.
 */
export function watchBankTls(
  files: TlsFiles,
  reload: () => Promise<void>,
  logger: Logger,
  everyMs = lookEveryMs,
): () => void {
  const watched = Object.values(files).filter((file) => file !== undefined);
  const onChange = () => {
    reload().then(
      () => logger.info('the certificates for the bank have changed, and are used'),
      // A certificate and its key are usually written one after the other, so they may match after the next change.
      ({ message }: Error) =>
        logger.warn(
          { reason: message },
          'the certificates for the bank have changed, and cannot be used yet',
        ),
    );
  };
  for (const file of watched) watchFile(file, { interval: everyMs, persistent: false }, onChange);
  return () => {
    for (const file of watched) unwatchFile(file, onChange);
  };
}
