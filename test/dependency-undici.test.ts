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
import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HttpRequest, type HttpResult, TransportFailure } from '../src/bank/http-message.ts';
import { type PreparedCall, prepareCall } from '../src/bank/request.ts';
import { createTransport, limitedBy, type Transport } from '../src/bank/transport.ts';
import { operations } from '../src/contract/operations.ts';
import { createTestClient } from './support/bank-client.ts';
import { type RecordingBank, type Reply, startRecordingBank } from './support/recording-bank.ts';
import { sampleCalls } from './support/sample-calls.ts';

const credentials = { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' };

/** The outcome of a request that is sent as a read or as a write. */
function sendOver(transport: Transport, kind: 'read' | 'write', request: HttpRequest): Promise<HttpResult> {
  const operation = kind === 'read' ? operations.getMessagesOwner : operations.putCustomerID;
  const ids = { bankId: 'B', customerId: 'c' };
  const call: PreparedCall = {
    ...prepareCall('', operations.getMessagesOwner, { ids, credentials }),
    operation,
    request,
    trackId: null,
  };
  return transport.send(call, limitedBy(performance.now() + 2000));
}

/** What transport.ts relies on in undici: an upgrade that changes it fails here. */

describe('undici sends once what it is given, and gives back what came', () => {
  let bank: RecordingBank;
  beforeAll(async () => {
    bank = await startRecordingBank();
  });
  afterAll(() => bank.close());

  /** `status`, or what it failed with, and the body as it came; over a Pool as it is, and over bankql's own. */
  const senders: Record<string, (method: 'GET' | 'PUT' | 'POST') => Promise<string>> = {
    'Pool.dispatch': (method) => {
      const pool = new Pool(bank.url);
      const chunks: Buffer[] = [];
      let status = 0;
      return new Promise<string>((resolve) => {
        pool.dispatch(
          { method, path: '/here', body: method === 'GET' ? null : '{}' },
          {
            onRequestStart: () => {},
            onResponseStart: (_controller, statusCode) => {
              status = statusCode;
            },
            onResponseData: (_controller, chunk) => void chunks.push(chunk),
            onResponseEnd: () => resolve(`${status} ${Buffer.concat(chunks).toString('latin1')}`),
            onResponseError: () => resolve('failed'),
          },
        );
      }).finally(() => pool.destroy());
    },
    ...Object.fromEntries(
      (['read', 'write'] as const).map((kind) => [
        `createTransport, a ${kind}`,
        async (method: 'GET' | 'PUT' | 'POST') => {
          const transport = createTransport({
            origin: bank.url,
            connections: 2,
            connectTimeoutMs: 1000,
            maxBodyBytes: 1000,
          });
          const request = { method, path: '/here', headers: [], body: method === 'GET' ? null : '{}' };
          const outcome = await sendOver(transport, kind, request);
          await transport.close();
          return outcome instanceof TransportFailure
            ? 'failed'
            : `${outcome.status} ${outcome.body.toString('latin1')}`;
        },
      ]),
    ),
  };

  const cases: readonly (readonly [string, Reply | 'reset', string])[] = [
    ...[301, 302, 303, 307, 308].map(
      (status) =>
        [`${status}`, { status, headers: { Location: '/there' }, body: 'moved' }, `${status} moved`] as const,
    ),
    ...[429, 500, 502, 503, 504].map(
      (status) =>
        [`${status}`, { status, headers: { 'Retry-After': '0' }, body: 'no' }, `${status} no`] as const,
    ),
    ['a reset', 'reset', 'failed'],
  ];
  describe.each(Object.entries(senders))('%s', (_name, send) => {
    test.each(cases)('%s: one request, not followed, not tried again', async (_what, reply, expected) => {
      bank.otherwise(() => reply);
      for (const method of ['GET', 'PUT', 'POST'] as const) {
        bank.calls.length = 0;
        expect(await send(method)).toBe(expected);
        expect(bank.lines()).toEqual([`${method} /here`]);
        expect(bank.calls[0]?.headers).not.toHaveProperty('accept-encoding');
      }
    });
  });

  test('an encoding is not decoded', async () => {
    const body = gzipSync('{}').toString('latin1');
    await using gzipped = await startRecordingBank();
    gzipped.otherwise({ status: 200, headers: { 'Content-Encoding': 'gzip' }, body });
    const pool = new Pool(gzipped.url);
    const answer = await pool.request({ method: 'GET', path: '/' });
    expect(Buffer.from(await answer.body.arrayBuffer()).toString('utf8')).toBe(body);
    await pool.destroy();
    const transport = createTransport({
      origin: gzipped.url,
      connections: 1,
      connectTimeoutMs: 1000,
      maxBodyBytes: 1000,
    });
    const request = { method: 'GET' as const, path: '/', headers: [], body: null };
    expect(await sendOver(transport, 'read', request)).toMatchObject({
      reason: 'refused',
      message: 'the answer is encoded although none was asked for',
    });
    await transport.close();
  });
});

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
