import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { promisify } from 'node:util';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) process.stdout.write('skipped: TLS to the bank, since openssl is not installed\n');

/** Files with a certificate and its key. */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** An authority, and certificates that it has signed. */
export interface Certificates extends AsyncDisposable {
  readonly folder: string;
  /** The authority's certificate. */
  readonly ca: string;
  /** A certificate for localhost and 127.0.0.1. */
  readonly server: Pair;
  /** A client certificate for this name, with a key of this type (default: EC). */
  client(name: string, type?: keyof typeof newKeys): Promise<Pair>;
}

/** The arguments with which openssl makes a key, by its type. */
const newKeys = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
  rsa: ['-newkey', 'rsa:2048', '-nodes'],
};

const run = promisify(execFile);

export async function createCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'bankql-certificates-'));
  const file = (name: string) => join(folder, name);
  const [ca, caKey] = [file('ca.pem'), file('ca.key')];
  await run('openssl', [
    ...['req', '-x509', ...newKeys.ec, '-days', '1', '-subj', '/CN=authority'],
    ...['-keyout', caKey, '-out', ca],
  ]);
  async function issue(name: string, extension: string, type: keyof typeof newKeys = 'ec'): Promise<Pair> {
    const pair = { cert: file(`${name}.pem`), key: file(`${name}.key`) };
    const request = file(`${name}.csr`);
    const subject = ['-subj', `/CN=${name}`];
    await run('openssl', ['req', ...newKeys[type], ...subject, '-keyout', pair.key, '-out', request]);
    await writeFile(file(`${name}.ext`), extension);
    await run('openssl', [
      ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-days', '1'],
      ...['-extfile', file(`${name}.ext`), '-out', pair.cert],
    ]);
    return pair;
  }
  return {
    folder,
    ca,
    server: await issue('server', 'subjectAltName=DNS:localhost,IP:127.0.0.1\n'),
    client: (name, type) => issue(name, 'extendedKeyUsage=clientAuth\n', type),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

export async function contextOf(ca: string, client?: Pair): Promise<SecureContext> {
  return createSecureContext({
    ca: await readFile(ca),
    ...(client === undefined ? {} : { cert: await readFile(client.cert), key: await readFile(client.key) }),
  });
}
