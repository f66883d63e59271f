import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { StartError } from '../config/start-error.ts';

export type TlsFiles = NonNullable<Config['bankTls']>;

/** How often the files are looked at, in milliseconds. Looking finds what other ways miss: links that are exchanged. */
const lookEveryMs = 5000;

const variables = { cert: 'BANK_TLS_CERT', key: 'BANK_TLS_KEY', ca: 'BANK_TLS_CA' } as const;

/** The certificates in the files. Errors: StartError, which names the variable and the file. */
export async function readBankTls(files: TlsFiles): Promise<SecureContext> {
  const read = async (name: keyof typeof variables) => {
    const file = files[name];
    if (file === null) return undefined;
    return readFile(file).catch((error: NodeJS.ErrnoException) => {
      throw new StartError(`${variables[name]}=${file} cannot be read: ${error.code}.`);
    });
  };
  const [cert, key, ca] = [await read('cert'), await read('key'), await read('ca')];
  // OpenSSL takes a file without any for one that vouches for nobody.
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----'))
    throw new StartError(`BANK_TLS_CA=${files.ca} cannot be used: it holds no certificate in PEM.`);
  try {
    return createSecureContext({
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(ca !== undefined && { ca }),
    });
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'they are no PEM';
    const named = Object.entries(variables)
      .filter(([name]) => files[name as keyof typeof variables] !== null)
      .map(([, variable]) => variable);
    throw new StartError(
      `${named.join(', ')} cannot be used: give a certificate and its own key, without a passphrase, in PEM (${reason}).`,
    );
  }
}

/** Reloads the files when one of them changes. Shape: ends that. */
export function watchBankTls(
  files: TlsFiles,
  reload: () => Promise<void>,
  logger: Logger,
  everyMs = lookEveryMs,
): () => void {
  const watched = Object.values(files).filter((file) => file !== null);
  const onChange = () => {
    reload().then(
      () => logger.info('the certificates for the bank have changed, and are used'),
      // A certificate and its key are mostly not written at once: the next change may mend it.
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
