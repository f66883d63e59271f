import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { BankOptions } from '../../src/bank/client.ts';
import { createJwks } from '../../src/http/auth/jwks.ts';
import { createTestClient, failedCall } from '../support/bank-client.ts';
import { type Certificates, contextOf, createCertificates, hasOpenssl } from '../support/certificates.ts';
import { reply, startFaultyBank, writeThen } from '../support/faulty-bank.ts';
import { createKey, startIssuer } from '../support/issuer.ts';
import { closeNow, listenOnLoopback } from '../support/loopback.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';
import { lateBy } from '../support/waits.ts';

/** A minimal HTTP proxy that records the addresses of its tunnels. */
interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** The request lines, such as "CONNECT bank.example:443". */
  readonly asked: string[];
  readonly authorizations: (string | undefined)[];
  /** The status of its answers; 200 by default. */
  status: number;
}

async function startConnectProxy(): Promise<ConnectProxy> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const note = ({ method, url, headers }: IncomingMessage) => {
    asked.push(`${method} ${url}`);
    authorizations.push(headers['proxy-authorization']);
  };
  const server = createServer(async (request, response) => {
    note(request);
    const answer = await fetch(request.url ?? '');
    response.writeHead(answer.status).end(await answer.text());
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    note(request);
    client.on('error', () => client.destroy());
    if (proxy.status !== 200) return void client.end(`HTTP/1.1 ${proxy.status} No\r\n\r\n`);
    const { hostname, port } = new URL(`http://${request.url}`);
    const bank = connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''), () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      bank.pipe(client).pipe(bank);
    });
    sockets.add(client).add(bank);
    bank.on('error', () => client.destroy());
    client.on('close', () => bank.destroy());
  });
  const port = await listenOnLoopback(server);
  const proxy: ConnectProxy = {
    url: `http://127.0.0.1:${port}`,
    asked,
    authorizations,
    status: 200,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await closeNow(server);
    },
  };
  return proxy;
}

/** Connections to the bank: certificates, proxies, and how long a connection is used. */

const read = sampleCalls.getCustomer;
const write = sampleCalls.putCustomerID;
const payment = sampleCalls.postMakeTransaction;

describe.skipIf(!hasOpenssl)('a bank that asks for a client certificate', () => {
  let certificates: Certificates;
  let bank: RecordingBank;
  let url = '';
  /** The client certificate of each call. */
  const shown = () => bank.calls.map(({ client }) => client);
  beforeAll(async () => {
    certificates = await createCertificates();
    const { ca, server: own } = certificates;
    const [authority, cert, key] = await Promise.all([ca, own.cert, own.key].map((file) => readFile(file)));
    bank = await startRecordingBank({ ca: authority, cert, key, requestCert: true });
    for (const { line, reply: body } of [read, write]) bank.on(line, { body });
    url = bank.url;
  });
  beforeEach(() => {
    bank.calls.length = 0;
  });
  afterAll(async () => {
    await bank.close();
    await certificates[Symbol.asyncDispose]();
  });

  const clientWith = (network: BankOptions['network'], baseUrl = url) =>
    createTestClient(baseUrl, { network, connections: 1 });

  test('is shown it, by reads and by writes', async () => {
    const secureContext = await contextOf(certificates.ca, await certificates.client('bankql'));
    await using client = clientWith({ secureContext });
    await read.run(client);
    await write.run(client);
    expect(shown()).toEqual(['bankql', 'bankql']);
  });

  test('is shown a new one from the next call on, also where a connection is kept', async () => {
    const [first, second] = [await certificates.client('first'), await certificates.client('second')];
    await using client = clientWith({ secureContext: await contextOf(certificates.ca, first) });
    const before = bank.connections();
    await read.run(client);
    await read.run(client);
    expect(bank.connections() - before).toBe(1);
    client.useTls(await contextOf(certificates.ca, second));
    await read.run(client);
    await write.run(client);
    expect(shown()).toEqual(['first', 'first', 'second', 'second']);
  });

  test('is reached through a proxy too, which sees nothing of it', async () => {
    await using proxy = await startConnectProxy();
    const secureContext = await contextOf(certificates.ca, await certificates.client('bankql'));
    await using client = clientWith({ secureContext, proxyUrl: proxy.url });
    await read.run(client);
    await write.run(client);
    expect(shown()).toEqual(['bankql', 'bankql']);
    expect(proxy.asked).toEqual(Array(2).fill(`CONNECT ${new URL(url).host}`));
  });

  test('is not believed where nobody vouches for it, or where it is another, and nothing is sent then', async () => {
    const reports: string[] = [];
    await using stranger = createTestClient(url, {
      onCall: ({ failure }) => void reports.push(failure ?? ''),
    });
    const { error } = await failedCall(read, stranger);
    expect(error.message).toContain("the bank's certificate is not trusted");
    expect(reports).toEqual([expect.stringMatching(/not trusted: no authority that bankql knows .* \(.+\)/)]);
    await expect(payment.run(stranger)).rejects.toMatchObject({ sent: false });
    await using other = clientWith(
      { secureContext: await contextOf(certificates.ca) },
      url.replace('localhost', '[::ffff:127.0.0.1]'),
    );
    expect((await failedCall(read, other)).error.message).toContain('certificate is for another name');
    expect(shown()).toEqual([]);
  });

  test('what speaks no TLS is called that', async () => {
    await using plain = await startFaultyBank();
    const refuse = writeThen('end', 'HTTP/1.1 400 Bad Request\r\n\r\n');
    plain.behave((socket) => void socket.once('data', () => refuse(socket)), 'connection');
    await using client = clientWith({}, plain.url.replace('http:', 'https:'));
    expect((await failedCall(read, client)).error.message).toContain('does not speak TLS');
  });

  test.each(['-tls1_3', '-tls1_2'])(
    'a handshake that it refuses is said to be that: openssl %s',
    async (protocol) => {
      const { ca, server: own } = certificates;
      const options = [
        '-Verify',
        '1',
        '-verify_return_error',
        '-CAfile',
        ca,
        '-cert',
        own.cert,
        '-key',
        own.key,
      ];
      const child = spawn('openssl', ['s_server', '-accept', '127.0.0.1:0', '-www', protocol, ...options]);
      try {
        let printed = '';
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          printed += text;
        });
        const listening = /ACCEPT .*:(\d+)\n/;
        await expect.poll(() => printed).toMatch(listening);
        const port = listening.exec(printed)?.[1];
        const secureContext = await contextOf(ca);
        await using client = clientWith({ secureContext }, `https://127.0.0.1:${port}`);
        const { error } = await failedCall(read, client);
        expect(error.message).toContain('the bank refused the TLS handshake');
        expect(error.code).toBe('BANK_UNAVAILABLE');
      } finally {
        child.kill('SIGKILL');
      }
    },
  );
});

describe('a proxy', () => {
  let proxy: ConnectProxy;
  beforeEach(async () => {
    proxy = await startConnectProxy();
    return () => proxy[Symbol.asyncDispose]();
  });

  test.each([
    ['user:p%40ss', 'user:p@ss'],
    ['user', 'user:'],
    [':token', ':token'],
  ])(
    'leads to a bank of plain http as well, and is shown the credentials of its address: %s',
    async (given, plain) => {
      await using bank = await startRecordingBank();
      bank.on(read.line, { body: read.reply });
      const proxyUrl = proxy.url.replace('//', `//${given}@`);
      await using client = createTestClient(bank.url, { network: { proxyUrl }, connections: 1 });
      await read.run(client);
      await read.run(client);
      expect(proxy.asked).toEqual([`CONNECT ${new URL(bank.url).host}`]);
      expect(proxy.authorizations).toEqual([`Basic ${Buffer.from(plain).toString('base64')}`]);
      expect(bank.lines()).toEqual([read.line, read.line]);
      expect(bank.calls[0]?.headers['proxy-authorization']).toBeUndefined();
    },
  );

  test('that is silent is given up', async () => {
    await using silent = await startFaultyBank();
    silent.behave((socket) => void socket.resume(), 'connection');
    const network = { proxyUrl: silent.url };
    await using client = createTestClient('https://bank.test', { network, connectTimeoutMs: 1000 });
    await expect(payment.run(client)).rejects.toMatchObject({ reason: 'unavailable', sent: false });
    await expect.poll(silent.open).toBe(0);
  });

  test.each([
    [407, 'Proxy response (407)'],
    [403, 'Proxy response (403)'],
  ])('that answers %i leads to no bank, and its word is in the log', async (status, words) => {
    proxy.status = status;
    const reports: string[] = [];
    const onCall = ({ failure }: { failure: string | null }) => void reports.push(failure ?? '');
    await using client = createTestClient('http://bank.test', { onCall, network: { proxyUrl: proxy.url } });
    for (const call of [read, write]) {
      const { error } = await failedCall(call, client);
      expect(error).toMatchObject({
        code: 'BANK_UNAVAILABLE',
        message: expect.stringContaining('through the proxy'),
      });
    }
    await expect(payment.run(client)).rejects.toMatchObject({ sent: false });
    expect(reports).toEqual(Array(3).fill(expect.stringContaining(words)));
    expect(proxy.asked).toEqual(Array(3).fill('CONNECT bank.test:80'));
  });

  test('that is away leads to no bank', async () => {
    await proxy[Symbol.asyncDispose]();
    const network = { proxyUrl: proxy.url };
    await using client = createTestClient('https://bank.test', { network });
    await expect(payment.run(client)).rejects.toMatchObject({ sent: false });
    proxy = await startConnectProxy();
  });
});

describe('a kept connection', () => {
  const portsOf = async (connectionMaxAgeMs: number) => {
    await using bank = await startFaultyBank();
    const ports = new Set<number | undefined>();
    bank.behave((socket) => {
      ports.add(socket.remotePort);
      reply(200, read.reply)(socket);
    });
    await using client = createTestClient(bank.url, { connectionMaxAgeMs });
    for (let call = 0; call < 4; call++) {
      await read.run(client);
      await lateBy(5);
    }
    return ports.size;
  };

  test('is opened anew before it is used again when it is old enough, and not before', async () => {
    expect(await portsOf(1)).toBe(4);
    expect(await portsOf(60_000)).toBe(1);
  });

  test('is made to whichever address of the name answers', async () => {
    await using bank = await startRecordingBank();
    bank.on(read.line, { body: read.reply });
    // The first address may fail: localhost may resolve to ::1 first, and the bank listens only at 127.0.0.1.
    await using client = createTestClient(bank.url.replace('127.0.0.1', 'localhost'));
    await read.run(client, canaries);
    expect(bank.lines()).toEqual([read.line]);
  });
});

test('the keys of tokens are fetched through the proxy', async () => {
  await using proxy = await startConnectProxy();
  const key = await createKey('ES256', 'k');
  await using issuer = await startIssuer(key);
  const failures: unknown[] = [];
  const keys = createJwks({
    url: issuer.jwksUrl,
    proxyUrl: proxy.url,
    onFailure: (error) => void failures.push(error),
  });
  expect(await keys.reload()).toBe(true);
  expect(failures).toEqual([]);
  expect(proxy.asked).toEqual([expect.stringContaining(new URL(issuer.jwksUrl).host)]);
});
