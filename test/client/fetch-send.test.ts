import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { parse } from 'graphql';
import { build } from 'vite';
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import { fetchSend } from '../../src/client/index.ts';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { closeNow, listenOnLoopback } from '../support/loopback.ts';
import { lossyFetch } from '../support/lossy-fetch.ts';
import { shareServerFixture } from '../support/server-fixture.ts';

const BranchName = graphql(`
  query BranchName($branchId: ID!) { bank { branch(branchId: $branchId) { name } } }
`);

const line = 'GET /v1/api/banks/BANK/branches';

const fixture = await shareServerFixture();
beforeEach(() => void fixture.bank.on(line, { body: { branches: [{ id: 'BR', name: 'Main' }] } }));
afterEach(() => vi.unstubAllGlobals());

const answering = (response: () => Response) =>
  fetchSend('http://bankql.test', { fetch: async () => response() });

test('an operation has the types of its document, in and out', async () => {
  const send = fetchSend(fixture.url, { headers: credentials });
  const { data, errors } = await send(BranchName, { branchId: 'BR' });
  expectTypeOf(data?.bank?.branch?.name).toEqualTypeOf<string | null | undefined>();
  // @ts-expect-error: the variable is required.
  void (() => send(BranchName));
  expect([data, errors]).toEqual([{ bank: { branch: { name: 'Main' } } }, undefined]);
  expect(fixture.bank.lines()).toEqual([line]);
});

test('the errors of GraphQL stand beside the data that there is', async () => {
  fixture.bank.on(line, { status: 403, body: { message: 'Not you.' } });
  const answer = await fetchSend(fixture.url, { headers: credentials })(BranchName, { branchId: 'BR' });
  expect(answer).toMatchObject({
    data: { bank: { branch: null } },
    errors: [{ path: ['bank', 'branch'], extensions: { code: 'FORBIDDEN', status: 403 } }],
  });
});

test.each([307, 308, 301, 302, 303])(
  'a redirect (%d) gets neither the credentials nor the document',
  async (status) => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(request.url === '/graphql' ? status : 200, { Location: '/elsewhere' });
      response.end('{"data":{}}');
    });
    const url = `http://127.0.0.1:${await listenOnLoopback(server)}/graphql`;
    await expect(fetchSend(url, { headers: credentials })('{ a }')).rejects.toThrow();
    expect(asked).toEqual(['POST /graphql']);
    await closeNow(server);
  },
);

test.each([
  [
    'a page of a proxy',
    () => new Response('<h1>no</h1>', { status: 502 }),
    { code: 'BAD_RESPONSE', status: 502 },
  ],
  ['JSON that is not GraphQL', () => Response.json({ message: 'no' }), { code: 'BAD_RESPONSE', status: 200 }],
  ['JSON that is no object', () => Response.json(7), { code: 'BAD_RESPONSE', status: 200 }],
])('%s is an error', async (_what, response, extensions) => {
  expect(await answering(response)('{ a }')).toMatchObject({ errors: [{ extensions }] });
});

test('the error has the time of the header Retry-After, whatever the body is', async () => {
  for (const body of ['busy', '{"errors":[{"message":"busy"}]}']) {
    const headers = { 'Retry-After': '3' };
    expect(await answering(() => new Response(body, { status: 503, headers }))('{ a }')).toMatchObject({
      retryAfter: 3,
    });
  }
});

test('headers are asked for before each request, so that a token may be renewed', async () => {
  const headers = vi.fn(async () => credentials);
  const send = fetchSend(fixture.url, { headers });
  await send(BranchName, { branchId: 'BR' });
  await send(BranchName, { branchId: 'BR' });
  expect(headers).toHaveBeenCalledTimes(2);
});

test('a document that has an id is sent by it, with `persisted`; a syntax tree is not sent', async () => {
  const sent = lossyFetch();
  const withHash = Object.assign(new String('{ __typename }'), { __meta__: { hash: 'abc' } });
  const ofTada = { documentId: 'sha256:def' };
  const persisted = fetchSend(fixture.url, { fetch: sent, persisted: true });
  await persisted(withHash);
  await persisted(ofTada);
  await persisted('{ __typename }');
  await fetchSend(fixture.url, { fetch: sent })(withHash);
  expect(sent.bodies).toEqual([
    { documentId: 'abc' },
    { documentId: 'sha256:def' },
    { query: '{ __typename }' },
    { query: '{ __typename }' },
  ]);
  await expect(persisted(parse('{ a }'))).rejects.toThrow('`print`');
});

test('an abort ends the request with its reason', async () => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  const server = createServer((request) => arrived.resolve(request));
  const url = `http://127.0.0.1:${await listenOnLoopback(server)}`;
  const leaving = new AbortController();
  const asked = fetchSend(url)('{ a }', undefined, { signal: leaving.signal });
  const closed = once((await arrived.promise).socket, 'close');
  leaving.abort('left');
  await expect(asked).rejects.toBe('left');
  await closed;
  await expect(fetchSend(url)('{ a }', undefined, { signal: leaving.signal })).rejects.toBe('left');
  await closeNow(server);
});

test('nothing newer than AbortController and Promise is needed', async () => {
  for (const name of ['structuredClone', 'DOMException', 'crypto', 'navigator'])
    vi.stubGlobal(name, undefined);
  const { any, timeout } = AbortSignal;
  Object.assign(AbortSignal, { any: undefined, timeout: undefined });
  try {
    const { data } = await answering(() => Response.json({ data: { a: 1 } }))('{ a }', undefined, {
      signal: new AbortController().signal,
    });
    expect(data).toEqual({ a: 1 });
  } finally {
    Object.assign(AbortSignal, { any, timeout });
  }
});

test.each(['', '-1', '1.5', '0x10', '7s', '٧', 'Sun, 06 Nov 1994 08:49:37 GMT'])(
  'the Retry-After “%s” is no number of seconds',
  async (header) => {
    // Headers contain bytes; other characters are not possible.
    const headers = { 'Retry-After': Buffer.from(header).toString('latin1') };
    const answer = await answering(() => new Response('busy', { status: 503, headers }))('{ a }');
    expect(answer).not.toHaveProperty('retryAfter');
  },
);

describe('size', () => {
  const entry = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url));

  test('the client brings nothing along, and has less than 4 KB minified and compressed', async () => {
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        minify: true,
        lib: { entry, formats: ['es'], fileName: 'client' },
        target: 'es2023',
      },
    });
    const chunks = [built].flat().flatMap((each) => ('output' in each ? each.output : []));
    expect(chunks).toHaveLength(1);
    const [chunk] = chunks;
    if (chunk?.type !== 'chunk') throw new Error('no code was made');
    expect(chunk.imports).toEqual([]);
    expect(chunk.exports.sort()).toEqual(['createPayments', 'fetchSend', 'paymentQuery']);
    expect(gzipSync(chunk.code).length).toBeLessThan(4096);
  });
});
