import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { parse } from 'graphql';
import { build } from 'vite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import { fetchSend } from '../../src/client/index.ts';
import { parseRetryAfter } from '../../src/client/waits.ts';
import { graphql } from '../generated/index.ts';
import { credentials } from '../support/bankql.ts';
import { lossyFetch } from '../support/lossy-fetch.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

const BranchName = graphql(`
  query BranchName($branchId: ID!) { bank { branch(branchId: $branchId) { name } } }
`);

const line = 'GET /v1/api/banks/BANK/branches';

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await startServerFixture();
});
beforeEach(() => {
  fixture.bank.calls.length = 0;
  fixture.bank.on(line, { body: { branches: [{ id: 'BR', name: 'Main' }] } });
});
afterEach(() => vi.unstubAllGlobals());
afterAll(() => fixture[Symbol.asyncDispose]());

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
    const listen = (answer: (server: { url: string }) => [number, Record<string, string>]) => {
      const server = createServer((request, response) => {
        asked.push(`${request.method} ${request.url}`);
        response.writeHead(...answer(other)).end('{"data":{}}');
      });
      return new Promise<{ url: string } & Disposable>((resolve) =>
        server.listen(0, '127.0.0.1', () => {
          const address = server.address();
          const port = typeof address === 'object' ? address?.port : 0;
          resolve({ url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() });
        }),
      );
    };
    let other = { url: '' };
    using target = await listen(() => [200, {}]);
    other = { url: `${target.url}/elsewhere` };
    using origin = await listen(({ url }) => [status, { Location: url }]);
    await expect(fetchSend(`${origin.url}/graphql`, { headers: credentials })('{ a }')).rejects.toThrow();
    expect(asked).toEqual(['POST /graphql']);
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

describe('an abort', () => {
  const hanging = fetchSend('http://bankql.test', { fetch: () => new Promise(() => {}) });

  test('ends the waiting with its reason', async () => {
    const leaving = new AbortController();
    const asked = hanging('{ a }', undefined, { signal: leaving.signal });
    leaving.abort('left');
    await expect(asked).rejects.toBe('left');
    await expect(hanging('{ a }', undefined, { signal: leaving.signal })).rejects.toBe('left');
  });

  test('ends the request itself', async () => {
    const leaving = new AbortController();
    const sent = Promise.withResolvers<AbortSignal | null | undefined>();
    const send = fetchSend('http://bankql.test', {
      fetch: (_url, init) => {
        sent.resolve(init.signal);
        return new Promise(() => {});
      },
    });
    const asked = send('{ a }', undefined, { signal: leaving.signal });
    const given = await sent.promise;
    leaving.abort('left');
    await expect(asked).rejects.toBe('left');
    expect(given?.aborted).toBe(true);
  });

  test.each([true, false])(
    'is an AbortError if the signal has no reason, as in React Native (before: %s)',
    async (isEarly) => {
      vi.stubGlobal('DOMException', undefined);
      const leaving = new AbortController();
      Object.defineProperty(leaving.signal, 'reason', { value: undefined });
      if (isEarly) leaving.abort();
      const asked = hanging('{ a }', undefined, { signal: leaving.signal });
      leaving.abort();
      await expect(asked).rejects.toMatchObject({
        name: 'AbortError',
        message: 'This operation was aborted.',
      });
    },
  );
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

describe('Retry-After', () => {
  const now = Date.parse('1994-11-06T08:49:30Z');

  test.each([
    ['0', 0],
    ['7', 7],
    ['007', 7],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 7],
    ['Sun Nov  6 08:49:37 1994', 7],
    ['Sun Nov 06 08:49:37 1994', 7],
  ])('%s is %d seconds', (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });

  test('a date that is over means now', () => {
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:49:00 GMT', now)).toBe(0);
  });

  test.each(['61', '86400', '9'.repeat(400), 'Mon, 07 Nov 1994 08:49:37 GMT'])(
    '%s is trusted for a minute',
    (header) => {
      expect(parseRetryAfter(header, now)).toBe(60);
    },
  );

  test.each([
    null,
    '',
    ' ',
    '-1',
    '+5',
    '1.5',
    '1e2',
    '0x10',
    '7s',
    '٧',
    'Infinity',
    'NaN',
    'tomorrow',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 CET',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov 6 08:49:37 1994',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 42 Nov 1994 08:49:37 GMT',
    '5, 10',
  ])('%s is no time', (header) => {
    expect(parseRetryAfter(header, now)).toBeUndefined();
  });
});

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
