import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Served, startServed } from '../support/served.ts';

let served: Served;
beforeAll(async () => {
  served = await startServed({
    http: { corsOrigins: new Set(['https://app.example']), onlyLocalNames: false },
  });
});
beforeEach(() => {
  served.bank.calls.length = 0;
  served.bank.otherwise({ body: { branches: [] } });
});
afterAll(() => served[Symbol.asyncDispose]());

const query = JSON.stringify({ query: '{ __typename }' });
const branches = JSON.stringify({ query: '{ bank { branches { totalCount } } }' });
const key = { 'Ocp-Apim-Subscription-Key': 'k' };

const send = (init: RequestInit & { readonly headers?: Record<string, string> }, path = '') =>
  fetch(`${served.url}${path}`, { method: 'POST', ...init });

describe('every answer', () => {
  test.each<[string, () => Promise<Response>]>([
    ['a result', () => send({ headers: { 'Content-Type': 'application/json' }, body: query })],
    [
      'an error of the query',
      () => send({ headers: { 'Content-Type': 'application/json' }, body: '{"query":"{"}' }),
    ],
    ['another content type', () => send({ headers: { 'Content-Type': 'text/plain' }, body: query })],
    [
      'a body that is too long',
      () => send({ headers: { 'Content-Type': 'application/json' }, body: 'x'.repeat(200_000) }),
    ],
    ['a GET', () => fetch(`${served.url}?query={__typename}`)],
    [
      'a mutation by GET',
      () => fetch(`${served.url}?query=mutation{putProduct(input:{product:{}}){trackId}}`),
    ],
    ['health', () => fetch(served.url.replace('/graphql', '/health'))],
    ['no such page', () => fetch(served.url.replace('/graphql', '/nowhere'))],
    ['another method', () => send({ method: 'DELETE' })],
  ])('may not be kept, guessed, framed or followed back, and has an id: %s', async (_what, ask) => {
    const { headers } = await ask();
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-request-id')).toMatch(/^[\w.:-]{1,128}$/);
    expect(headers.get('set-cookie')).toBeNull();
  });

  test('bears the id that the caller gave, if it is one word', async () => {
    const idOf = async (id: string) =>
      (
        await send({ headers: { 'Content-Type': 'application/json', 'X-Request-Id': id }, body: query })
      ).headers.get('x-request-id');
    expect(await idOf('phone-4711')).toBe('phone-4711');
    for (const bad of ['two words', '<script>', 'x'.repeat(129)]) expect(await idOf(bad)).not.toBe(bad);
  });
});

describe('what a page of another origin can send without asking first is refused, and costs no call', () => {
  test.each<[string, Record<string, string>, string]>([
    ['text/plain', { 'Content-Type': 'text/plain' }, branches],
    ['no content type', {}, branches],
    [
      'a form',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      `query=${encodeURIComponent('{ bank { branches { totalCount } } }')}`,
    ],
    [
      'application/graphql',
      { 'Content-Type': 'application/graphql' },
      '{ bank { branches { totalCount } } }',
    ],
    [
      'an upload',
      { 'Content-Type': 'multipart/form-data; boundary=x' },
      `--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n${branches}\r\n--x--`,
    ],
  ])('%s', async (_what, headers, body) => {
    const answer = await fetch(served.url, {
      method: 'POST',
      headers: { ...key, ...headers },
      body: Buffer.from(body),
    });
    expect(answer.status).toBe(415);
    expect(await answer.json()).toEqual({
      errors: [expect.objectContaining({ extensions: { code: 'BAD_USER_INPUT', retryable: false } })],
    });
    expect(served.bank.calls).toEqual([]);
  });
});

test.each(['gzip', 'deflate', 'br', 'gzip, gzip'])('a body in %s is refused unread', async (encoding) => {
  const answer = await send({
    headers: { ...key, 'Content-Type': 'application/json', 'Content-Encoding': encoding },
    body: gzipSync(branches),
  });
  expect(answer.status).toBe(415);
  expect(served.bank.calls).toEqual([]);
});

describe('a body that is too long is refused', () => {
  test('by its length', async () => {
    const answer = await send({
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: '{ __typename }', variables: { a: 'x'.repeat(100_000) } }),
    });
    expect(answer.status).toBe(413);
    expect(await answer.text()).not.toContain('xxx');
  });

  test('by what was read of it, where it comes in chunks', async () => {
    const socket = connect(Number(new URL(served.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      'POST /graphql HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = 'x'.repeat(10_000);
    socket.on('error', () => {});
    for (let sent = 0; sent < 20; sent++) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    socket.write('0\r\n\r\n');
    const [first] = await once(socket, 'data');
    expect(String(first)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});

describe('CORS', () => {
  const preflight = (origin: string) =>
    fetch(served.url, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type,auth-id',
      },
    });
  const corsHeaders = ({ headers }: Response) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control'));

  test('lets in the origins that are listed, without ambient credentials', async () => {
    const { headers, status } = await preflight('https://app.example');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(headers.get('access-control-allow-headers')).toContain('Auth-ID');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toContain('Origin');
    const answer = await send({
      headers: { Origin: 'https://app.example', 'Content-Type': 'application/json' },
      body: query,
    });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
  });

  test.each(['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null'])(
    'lets in no other: %s',
    async (origin) => {
      expect(corsHeaders(await preflight(origin))).toEqual([]);
      const answer = await send({
        headers: { Origin: origin, 'Content-Type': 'application/json' },
        body: query,
      });
      expect(corsHeaders(answer)).toEqual([]);
    },
  );
});

describe('a request that is not HTTP as it should be is refused, and its connection closed', () => {
  const raw = async (text: string): Promise<string> => {
    const socket = connect(Number(new URL(served.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(text);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {});
    await once(socket, 'close');
    return Buffer.concat(chunks).toString();
  };
  const head = 'POST /graphql HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\n';

  test.each([
    ['two lengths', `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345`],
    ['a length and chunks', `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a negative length', `${head}Content-Length: -1\r\n\r\n`],
    ['lines that end in LF', 'POST /graphql HTTP/1.1\nHost: b\n\n'],
    ['a header over 16 kB', `${head}X: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['no host', 'GET /health HTTP/1.1\r\n\r\n'],
  ])('%s', async (_what, text) => {
    expect(await raw(text)).toMatch(/^HTTP\/1\.1 4(00|31) /);
    expect(served.bank.calls).toEqual([]);
  });
});
