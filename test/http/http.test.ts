import { on, once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { credentials } from '../support/bankql.ts';
import { answerTo, connectTo, postOf } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await startServerFixture({
    http: {
      corsOrigins: new Set(['https://app.example']),
      onlyLocalNames: false,
    },
  });
});
beforeEach(() => {
  fixture.bank.calls.length = 0;
  fixture.bank.otherwise({ body: { branches: [] } });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const query = JSON.stringify({ query: '{ __typename }' });
const branches = JSON.stringify({ query: '{ bank { branches { totalCount } } }' });
const key = { 'Ocp-Apim-Subscription-Key': 'k' };

const send = (init: RequestInit & { readonly headers?: Record<string, string> }, path = '') =>
  fetch(`${fixture.url}${path}`, { method: 'POST', ...init });

const post = 'POST /graphql HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\n';

const raw = (text: string) => answerTo(fixture.url, text);

describe('every answer', () => {
  test.each<[string, () => Promise<Response>]>([
    ['a result', () => fetch(fixture.url, postOf(query))],
    ['an error of the query', () => fetch(fixture.url, postOf('{"query":"{"}'))],
    ['another content type', () => send({ headers: { 'Content-Type': 'text/plain' }, body: query })],
    ['a body that is too long', () => fetch(fixture.url, postOf('x'.repeat(200_000)))],
    ['a GET', () => fetch(`${fixture.url}?query={__typename}`)],
    [
      'a mutation by GET',
      () => fetch(`${fixture.url}?query=mutation{putProduct(input:{product:{}}){trackId}}`),
    ],
    ['health', () => fetch(fixture.url.replace('/graphql', '/health'))],
    ['no such page', () => fetch(fixture.url.replace('/graphql', '/nowhere'))],
    ['another method', () => send({ method: 'DELETE' })],
  ])('may not be kept, guessed, framed or followed back, and has an id: %s', async (_what, ask) => {
    const { headers } = await ask();
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get('x-request-id')).toMatch(/^[\w.:-]{1,128}$/);
    expect(headers.get('set-cookie')).toBeNull();
  });

  test('may run nothing, but for the page of GraphiQL', async () => {
    await using page = await startServerFixture({ graphiql: { headers: null } });
    const asked = async (accept: string) => {
      const { headers } = await fetch(`${page.url}?query={__typename}`, { headers: { Accept: accept } });
      return [headers.get('content-type')?.split(';')[0], headers.get('content-security-policy')];
    };
    expect(await asked('text/html')).toEqual(['text/html', expect.stringContaining("script-src 'self'")]);
    expect(await asked('application/json')).toEqual([
      'application/json',
      expect.not.stringContaining('script-src'),
    ]);
  });

  test('bears the id that the caller gave, if it is one word', async () => {
    const idOf = async (id: string) =>
      (await fetch(fixture.url, postOf(query, { 'X-Request-Id': id }))).headers.get('x-request-id');
    expect(await idOf('phone-4711')).toBe('phone-4711');
    for (const bad of ['two words', '<script>', 'x'.repeat(129)]) expect(await idOf(bad)).not.toBe(bad);
  });
});

describe('an encoded body', () => {
  const json = { ...key, 'Content-Type': 'application/json' };

  test.each([
    'gzip',
    'GZIP',
    'x-gzip',
    'deflate',
    'br',
    'gzip, gzip',
    'identity, br',
    'canary',
    'identity br',
  ])('in %s is refused unread: the error names the remedy, and repeats nothing', async (encoding) => {
    for (const accept of ['application/json', 'text/event-stream']) {
      const headers = { ...json, Accept: accept, 'Content-Encoding': encoding };
      const answer = await send({ headers, body: gzipSync(branches) });
      expect([answer.status, await answer.json()]).toEqual([
        415,
        {
          errors: [
            {
              message:
                'The body has a Content-Encoding, and this server does not decompress requests: send the body uncompressed.',
              extensions: { code: 'BAD_USER_INPUT', retryable: false },
            },
          ],
        },
      ]);
    }
    expect(fixture.bank.calls).toEqual([]);
  });

  test.each(['identity', 'Identity', 'identity, identity', ''])('as %j is one as it is', async (encoding) => {
    const answer = await send({ headers: { ...json, 'Content-Encoding': encoding }, body: branches });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"totalCount":0')]);
  });
});

describe('a body in UTF-16', () => {
  test.each([
    ['utf-16', 415, 'The body’s charset is not UTF-8: send the body in UTF-8.'],
    ['UTF-16LE', 415, 'The body’s charset is not UTF-8: send the body in UTF-8.'],
    ['utf-8', 400, 'The body is not JSON in UTF-8.'],
    [null, 400, 'The body is not JSON in UTF-8.'],
  ])('that is declared as %s is refused', async (charset, status, message) => {
    const type = charset === null ? 'application/json' : `application/json; charset=${charset}`;
    const text = Buffer.from(branches, 'utf16le');
    for (const body of [text, Buffer.concat([Buffer.of(0xff, 0xfe), text]), Buffer.from(text).swap16()]) {
      const answer = await send({ headers: { ...key, 'Content-Type': type }, body });
      expect([answer.status, await answer.json()]).toEqual([
        status,
        { errors: [expect.objectContaining({ message: message.replace('’', "'") })] },
      ]);
    }
    expect(fixture.bank.calls).toEqual([]);
  });
});

describe('a body that is too long is refused, and the answer says that the connection closes', () => {
  const chunk = `2710\r\n${'x'.repeat(10_000)}\r\n`;
  const tooLong = /^HTTP\/1\.1 413 [\s\S]*\r\nConnection: close\r\n/i;

  test('by its length, before any of it has come', async () => {
    const answer = await raw(`${post}Content-Length: 100001\r\n\r\n`);
    expect(answer).toMatch(tooLong);
    expect(answer).toContain('"The body is longer than 100000 bytes."');
    expect(answer).toContain(JSON.stringify({ code: 'BAD_USER_INPUT', retryable: false }));
  });

  test.each([
    ['by its length', `${post}Content-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`],
    ['of a GET', 'GET /graphql HTTP/1.1\r\nHost: b\r\nContent-Length: 9007199254740993\r\n\r\n'],
    ['of a preflight', 'OPTIONS /graphql HTTP/1.1\r\nHost: b\r\nContent-Length: 9007199254740993\r\n\r\n'],
    [
      'by what came of it, in chunks',
      `${post}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}0\r\n\r\n`,
    ],
    ['in chunks without an end', `${post}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}`],
  ])('%s', async (_what, text) => {
    const answer = await raw(text);
    expect(answer).toMatch(tooLong);
    expect(answer).not.toContain('xxx');
    expect(fixture.bank.calls).toEqual([]);
  });

  test('one that is as long as it may be is not, and the connection stays', async () => {
    const text = query.padEnd(100_000);
    const socket = connectTo(fixture.url);
    for (const body of [
      `Content-Length: 100000\r\n\r\n${text}`,
      `Transfer-Encoding: chunked\r\n\r\n186a0\r\n${text}\r\n0\r\n\r\n`,
    ]) {
      socket.write(`${post}${body}`);
      const [first] = await once(socket, 'data');
      expect(String(first)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nConnection: keep-alive\r\n/i);
    }
    socket.destroy();
  });
});

describe('a caller who is refused before the body was read', () => {
  const refused = `${post}Auth-ID: a\r\nAuth-ID: b\r\n`;

  test('keeps the connection: what comes of the body is dropped, and the next request is answered', async () => {
    const socket = connectTo(fixture.url);
    socket.write(`${refused}Content-Length: 50000\r\n\r\n${'x'.repeat(20_000)}`);
    const [first] = await once(socket, 'data');
    expect(String(first)).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: keep-alive\r\n/i);
    socket.write(`${'x'.repeat(30_000)}${post}Content-Length: ${query.length}\r\n\r\n${query}`);
    const [second] = await once(socket, 'data');
    expect(String(second)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('loses it where the body comes in chunks, and is told so', async () => {
    expect(await raw(`${refused}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n/i,
    );
  });
});

describe('what GraphQL over HTTP asks of a server', () => {
  const json = { 'Content-Type': 'application/json' };

  test.each([
    ['query', 'query={&query={__typename}'],
    ['operationName', 'query={__typename}&operationName=A&operationName='],
    ['variables', 'query={__typename}&variables={&variables={}'],
  ])('of a %s that a URL gives twice the last counts', async (_name, parameters) => {
    const answer = await fetch(`${fixture.url}?${parameters}`);
    expect([answer.status, await answer.json()]).toEqual([200, { data: { __typename: 'Query' } }]);
  });

  test('a URL whose bytes are not UTF-8 is refused', async () => {
    const answer = await fetch(`${fixture.url}?query={__typename}&operationName=%ff`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      errors: [{ message: 'The query of the URL is not UTF-8.', extensions: { code: 'BAD_USER_INPUT' } }],
    });
  });

  test('an empty documentId counts as absent', async () => {
    const answer = await fetch(`${fixture.url}?query={__typename}&documentId=`);
    expect([answer.status, await answer.json()]).toEqual([200, { data: { __typename: 'Query' } }]);
  });

  test.each(['?query={__typename}', '?query={'])('HEAD is as GET, without the body: %s', async (path) => {
    const url = fixture.url + path;
    const [head, get] = [await fetch(url, { method: 'HEAD' }), await fetch(url)];
    expect([head.status, await head.text()]).toEqual([get.status, '']);
    for (const name of ['content-type', 'content-length', 'cache-control', 'vary'])
      expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
    const health = await fetch(fixture.url.replace('/graphql', '/health'), { method: 'HEAD' });
    expect(health.status).toBe(200);
  });

  test.each(['{', '{ nothing }'])('%s over an event stream is an event with the error', async (query) => {
    const headers = { ...json, Accept: 'text/event-stream' };
    const answer = await send({ headers, body: JSON.stringify({ query }) });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(/^:\n\nevent: next\ndata: \{"errors":.*\n\nevent: complete\n/);
    const get = await fetch(`${fixture.url}?query=${query}`, { headers: { Accept: 'text/event-stream' } });
    expect([get.status, await get.text()]).toEqual([200, expect.stringContaining('event: next')]);
  });
});

describe('CORS', () => {
  const preflight = (origin: string, asked = 'auth-id,content-type') =>
    fetch(fixture.url, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': asked,
      },
    });
  const corsHeaders = ({ headers }: Response) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control'));

  test('lets in the origins that are listed, without ambient credentials', async () => {
    const { headers, status } = await preflight('https://app.example');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(headers.get('access-control-allow-headers')).toBe('auth-id,content-type');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toBe('Origin, Access-Control-Request-Headers');
    // Some browsers write the host of an extension in upper case.
    for (const origin of ['https://app.example', 'https://App.Example']) {
      const answer = await fetch(fixture.url, postOf(query, { Origin: origin }));
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    }
    expect((await preflight('HTTPS://APP.EXAMPLE')).status).toBe(204);
  });

  test('lets their pages send the headers of tracers', async () => {
    const asked = 'baggage,content-type,sentry-trace,traceparent';
    const { headers } = await preflight('https://app.example', asked);
    expect(headers.get('access-control-allow-headers')).toBe(asked);
  });

  test('names an origin that is not listed in the log again and again, whatever others were invented', async () => {
    const linesOf = (origin: string) => fixture.log.filter((line) => line.includes(`"origin":"${origin}"`));
    for (let n = 0; n < 40; n++) await preflight(`https://invented-${n}.example`);
    await preflight('https://developer.example');
    await preflight('https://developer.example');
    expect(linesOf('https://developer.example')).toHaveLength(1);
  });

  test.each(['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null'])(
    'lets in no other: %s',
    async (origin) => {
      const refused = await preflight(origin);
      expect(corsHeaders(refused)).toEqual([]);
      // Developers see the reason in their browser's network panel, and operators see it in the log, once.
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({
        errors: [{ message: expect.stringContaining('CORS_ORIGINS'), extensions: { code: 'FORBIDDEN' } }],
      });
      await preflight(origin);
      const logged = fixture.log.filter((line) => line.includes(`"origin":"${origin}"`));
      expect(logged).toEqual([expect.stringContaining('pages of this origin may not call')]);
      const answer = await fetch(fixture.url, postOf(query, { Origin: origin }));
      expect(corsHeaders(answer)).toEqual([]);
    },
  );
});

test('invented origins silence no other in the log: one is named again once it is not among the last 20', async () => {
  await using fresh = await startServerFixture();
  const headers = { 'Access-Control-Request-Method': 'POST' };
  const ask = (origin: string) =>
    fetch(fresh.url, { method: 'OPTIONS', headers: { ...headers, Origin: origin } });
  const named = (origin: string) => fresh.log.filter((line) => line.includes(`"origin":"${origin}"`)).length;
  for (let number = 0; number < 25; number++) await ask(`https://invented-${number}.example`);
  for (let time = 0; time < 2; time++) await ask('https://developer.example');
  expect(named('https://developer.example')).toBe(1);
  await ask('https://invented-0.example');
  expect(named('https://invented-0.example')).toBe(2);
});

test('a request that cannot be read has an answer that its page may see, and a line in the log', async () => {
  const long = `Cookie: ${'x'.repeat(20_000)}\r\n\r\n`;
  const answered = await raw(`${post}Origin: https://app.example\r\n${long}`);
  expect(answered).toMatch(/^HTTP\/1.1 431 Request Header Fields Too Large\r\n/);
  expect(answered).toContain('\r\nAccess-Control-Allow-Origin: https://app.example\r\n');
  const [, requestId] = /\r\nX-Request-Id: (\S+)\r\n/.exec(answered) ?? [];
  const logged = fixture.log.filter((line) => line.includes('a request cannot be read'));
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: 30, requestId, status: 431, reason: 'HPE_HEADER_OVERFLOW' },
  ]);
  expect(await raw(`${post}Origin: https://evil.example\r\n${long}`)).not.toContain('Access-Control');
  expect(fixture.bank.calls).toEqual([]);
});

test('a client that leaves within a request, or sends none, is no request that cannot be read', async () => {
  const before = fixture.log.length;
  for (const text of ['', post]) {
    const socket = connectTo(fixture.url).resume();
    socket.end(text);
    await once(socket, 'close');
  }
  expect(fixture.log.slice(before)).toEqual([]);
});

describe('a client that asks before it sends its body', () => {
  const asks = (headers: string) =>
    `POST /graphql HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\n${headers}\r\n\r\n`;

  test.each([
    [413, 'Content-Type: application/json\r\nContent-Length: 200000'],
    [415, 'Content-Type: text/plain\r\nContent-Length: 20'],
    [400, 'Content-Type: application/json\r\nContent-Length: 20\r\nAuth-ID: a\r\nAuth-ID: b'],
  ])('is refused with %i at once, and its connection closed', async (status, headers) => {
    expect(await raw(asks(headers))).toMatch(
      new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\nConnection: close\r\n`, 'i'),
    );
  });

  test('gets a 100 (Continue) and an answer for each of its requests', async () => {
    const socket = connectTo(fixture.url);
    const head = asks(`Content-Type: application/json\r\nContent-Length: ${query.length}`);
    const chunks = on(socket, 'data');
    let text = '';
    const until = async (end: string) => {
      while (!text.endsWith(end)) text += String((await chunks.next()).value);
    };
    for (const time of [1, 2]) {
      text = '';
      socket.write(head);
      await until('HTTP/1.1 100 Continue\r\n\r\n');
      socket.write(query);
      await until('{"data":{"__typename":"Query"}}');
      expect([time, text.match(/^HTTP.*/gm)]).toEqual([time, ['HTTP/1.1 100 Continue', 'HTTP/1.1 200 OK']]);
    }
    socket.destroy();
  });
});

test('a header that is given twice is found behind thousands of others', async () => {
  const between = 'a:\r\n'.repeat(3000);
  const head = `${post}Connection: close\r\nContent-Length: ${query.length}\r\n`;
  const twice = `${head}Auth-ID: alice\r\n${between}Auth-ID: bob\r\n\r\n${query}`;
  expect(await raw(twice)).toContain('The credential Auth-ID is given 2 times; give it once.');
});

test('a mutation by GET is refused, and makes no call', async () => {
  const answer = await fetch(`${fixture.url}?query=mutation{putProduct(input:{product:{}}){trackId}}`);
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  expect(fixture.bank.calls).toEqual([]);
});

test('what is asked for depends on the path alone', async () => {
  const statusOf = async (method: string, path: string) =>
    (await fetch(new URL(path, fixture.url), method === 'POST' ? postOf(query) : { method })).status;
  for (const path of ['/graphql?x=/health', '/graphql/?x=/ready', '/behind/a/proxy/graphql?x=/nowhere']) {
    expect([path, await statusOf('GET', `${path}&query={__typename}`)]).toEqual([path, 200]);
    expect([path, await statusOf('POST', path)]).toEqual([path, 200]);
  }
  for (const [path, status] of [
    ['/health', 200],
    ['/ready', 200],
    ['/nowhere', 404],
    ['/graphql/elsewhere', 404],
  ] as const)
    for (const method of ['GET', 'POST'])
      expect([path, method, await statusOf(method, `${path}?x=/graphql`)]).toEqual([path, method, status]);
  const refused = await fetch(fixture.url, { method: 'PUT' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, POST']);
});

describe('caches', () => {
  const branches = '{ bank { branches { totalCount } } }';

  let fixture: ServerFixture;
  beforeAll(async () => {
    fixture = await startServerFixture({
      publicMaxAgeSeconds: 60,
      explains: true,
      defaults: {
        bankId: 'BANK',
        viewId: 'owner',
        viewer: { customerId: validateViewerTemplate('{auth-id}-C'), accountId: null },
      },
      http: { corsOrigins: new Set(['https://app.example']), onlyLocalNames: false },
    });
  });
  beforeEach(() => {
    fixture.bank.otherwise({ body: { id: 'ACC', label: 'L' } });
    fixture.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: [] } });
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const get = (query: string, headers: Record<string, string> = {}) =>
    fetch(`${fixture.url}?${new URLSearchParams({ query })}`, { headers: { ...credentials, ...headers } });

  test('the answer to a GET of public data alone may be cached by anybody', async () => {
    const { headers } = await get(branches);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(headers.get('vary')).toBe(
      'Origin, Accept, Authorization, Ocp-Apim-Subscription-Key, x-bankql-explain',
    );
    expect(headers.get('etag')).toBeNull();
  });

  test('of a request with a token only its own client keeps public data', async () => {
    await using server = await startServerFixture({
      publicMaxAgeSeconds: 60,
      // Every token is accepted for the same caller.
      authenticate: () => ({ subscriptionKey: 'key', authProviderName: 'p', authId: 'a' }),
    });
    server.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: [] } });
    const answer = await fetch(`${server.url}?${new URLSearchParams({ query: branches })}`, {
      headers: { Authorization: 'Bearer token' },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('private, max-age=60');
    expect(answer.headers.get('vary')).toContain('Authorization');
  });

  test.each<[string, () => Promise<Response>]>([
    ['the caller’s data', () => get('{ bank { account(accountId: "ACC") { label } } }')],
    ['both', () => get('{ bank { branches { totalCount } account(accountId: "ACC") { label } } }')],
    [
      'the caller’s payments',
      () => get('{ payments(first: 1) { totalCount } bank { branches { totalCount } } }'),
    ],
    ['one of them', () => get('{ payment(idempotencyKey: "k") { state } bank { branches { totalCount } } }')],
    [
      'who the caller is, which costs no call',
      () => get('{ viewer { customer { customerId } } bank { branches { totalCount } } }'),
    ],
    ['the calls that were made', () => get(branches, { 'x-bankql-explain': 'calls' })],
    ['nothing of the bank', () => get('{ __typename }')],
    ['ids alone', () => get('{ bank { bankId } }')],
    [
      'an error',
      () => {
        fixture.bank.on('GET /v1/api/banks/BANK/branches', { status: 500 });
        return get(branches);
      },
    ],
    ['what is no query', () => get('{')],
    ['a POST', () => fetch(fixture.url, postOf({ query: branches }))],
    ['an event stream', () => get(branches, { Accept: 'text/event-stream' })],
  ])('nothing is kept of %s', async (_what, ask) => {
    const { headers, status } = await ask();
    expect(status).toBeLessThan(500);
    expect(headers.get('cache-control')).toBe('no-store');
  });
});
