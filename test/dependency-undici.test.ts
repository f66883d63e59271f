import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestClient } from './support/bank-client.ts';
import { startRecordingBank } from './support/recording-bank.ts';
import { sampleCalls } from './support/sample-calls.ts';

/** The behaviour of undici on which pools.ts and call.ts rely. An upgrade that changes it fails here. */

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) process.stdout.write('skipped: undici over TLS, since openssl is not installed\n');

describe.skipIf(!hasOpenssl)('to a server that offers HTTP/2', () => {
  const folder = join(tmpdir(), `bankql-tls-${randomUUID()}`);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  let server: ReturnType<typeof createSecureServer>;
  let origin: string;
  beforeAll(async () => {
    mkdirSync(folder);
    const command = `req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${cert}`;
    await promisify(execFile)('openssl', command.split(' '));
    server = createSecureServer(
      { key: readFileSync(key), cert: readFileSync(cert), allowHTTP1: true },
      ({ url, httpVersion, socket }, response) =>
        void response.end(url === '/' ? httpVersion : `${httpVersion} ${sessionOf(socket)}`),
    );
    await once(server.listen(0, 'localhost'), 'listening');
    origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  const sessionOf = (socket: object) =>
    socket instanceof TLSSocket && socket.isSessionReused() ? 'taken up' : 'new';

  const versionOver = async (options: Pool.Options) => {
    const pool = new Pool(origin, { connect: { ca: readFileSync(cert) }, ...options });
    const { body } = await pool.request({ method: 'GET', path: '/' });
    const version = await body.text();
    await pool.destroy();
    return version;
  };

  test('undici takes it by default, and with `allowH2: false` does not', async () => {
    expect(await versionOver({})).toBe('2.0');
    expect(await versionOver({ allowH2: false })).toBe('1.1');
  });

  const eachWay = "for (const kind of ['read', 'write']) await call(kind);";

  /** The bank's client accepts only Node's certificates, and a further one can be given only to another process. */
  const overClient = async (environment: NodeJS.ProcessEnv, calls = eachWay) => {
    const source = (path: string) => JSON.stringify(join(import.meta.dirname, '../src', path));
    const script = `
      import { createBankClient } from ${source('bank/client.ts')};
      import { operations } from ${source('contract/operations.ts')};
      const limits = { timeoutMs: 9000, paymentTimeoutMs: 9000, maxBodyBytes: 100, breakerThreshold: 0, publicCacheTtlMs: 0 };
      const client = createBankClient({ ...limits, baseUrl: '${origin}', connections: 2, connectTimeoutMs: 5000 });
      const credentials = { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' };
      const call = async (kind) => {
        const operation = kind === 'read' ? operations.getCustomer : operations.putCustomerID;
        const prepared = client.prepare(operation, { ids: { bankId: 'B', customerId: 'c' }, body: {}, credentials });
        const { body, reason, sent, cause } = await client.send(prepared).catch((failure) => failure);
        console.log(body === undefined ? [reason, sent, cause.code].join(' ') : body.toString());
      };
      ${calls}
      await client.close();`;
    const args = ['--input-type=module', '--eval', script];
    return (await promisify(execFile)(process.execPath, args, { env: environment })).stdout;
  };

  test('the client speaks HTTP/1.1, for reads and for writes', async () => {
    expect(await overClient({ NODE_EXTRA_CA_CERTS: cert })).toMatch(/^1.1 \w+.*\n1.1 \w+.*\n$/);
  });

  test('each connection of the client resumes the TLS session of the first', async () => {
    const calls = `
      await call('write');
      await Promise.all([1, 2].map(() => call('write')));
      await call('read');`;
    const told = await overClient({ NODE_EXTRA_CA_CERTS: cert }, calls);
    expect(told).toBe('1.1 new\n1.1 taken up\n1.1 taken up\n1.1 taken up\n');
  });

  test('the client sends nothing to a server whose certificate is not trusted', async () => {
    expect(await overClient({})).toBe('unavailable false DEPTH_ZERO_SELF_SIGNED_CERT\n'.repeat(2));
  });
});

test('every call asks for `identity`', async () => {
  await using bank = await startRecordingBank();
  await using client = createTestClient(bank.url);
  for (const { run } of Object.values(sampleCalls)) await run(client).catch(() => {});
  expect(bank.calls.map(({ headers }) => headers['accept-encoding'])).toEqual(Array(20).fill('identity'));
});
