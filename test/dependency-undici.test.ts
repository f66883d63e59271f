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

/** What transport.ts relies on in undici: an upgrade that changes it fails here. */

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
        void response.end(url === '/session' ? sessionOf(socket) : httpVersion),
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

  /** The transport accepts no certificates but Node's: only a process of its own can be given one more. */
  const overTransport = async (environment: NodeJS.ProcessEnv, calls = eachWay) => {
    const script = `
      import { createTransport, limitedBy } from ${JSON.stringify(join(import.meta.dirname, '../src/bank/transport.ts'))};
      const transport = createTransport({ origin: '${origin}', connections: 2, connectTimeoutMs: 5000, maxBodyBytes: 100 });
      const call = async (kind, path = '/') => {
        const request = { method: 'POST', path, headers: [], body: '{}' };
        const sample = { operation: { id: 'getCustomer', kind }, caller: { id: '', name: '', group: '' }, request, trackId: null };
        const limits = limitedBy(performance.now() + 9000);
        const { body, reason, sent, cause } = await transport.send(sample, limits);
        console.log(body === undefined ? [reason, sent, cause.code].join(' ') : body.toString());
      };
      ${calls}
      await transport.close();`;
    const args = ['--input-type=module', '--eval', script];
    return (await promisify(execFile)(process.execPath, args, { env: environment })).stdout;
  };

  test('the transport speaks HTTP/1.1, for reads and for writes', async () => {
    expect(await overTransport({ NODE_EXTRA_CA_CERTS: cert })).toBe('1.1\n1.1\n');
  });

  test('each connection of the transport resumes the TLS session of the first', async () => {
    const calls = `
      await call('write', '/session');
      await Promise.all([1, 2].map(() => call('write', '/session')));
      await call('read', '/session');`;
    const told = await overTransport({ NODE_EXTRA_CA_CERTS: cert }, calls);
    expect(told).toBe('new\ntaken up\ntaken up\ntaken up\n');
  });

  test('the transport sends nothing to a server whose certificate is not trusted', async () => {
    expect(await overTransport({})).toBe('unavailable false DEPTH_ZERO_SELF_SIGNED_CERT\n'.repeat(2));
  });
});

test('every call asks for `identity`', async () => {
  await using bank = await startRecordingBank();
  await using client = createTestClient(bank.url);
  for (const { run } of Object.values(sampleCalls)) await run(client).catch(() => {});
  expect(bank.calls.map(({ headers }) => headers['accept-encoding'])).toEqual(Array(20).fill('identity'));
});
