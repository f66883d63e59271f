import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { answerTo, connectTo, postOf } from '../support/requests.ts';
import { shareServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** What every answer has, and what GraphQL over HTTP asks of a server beyond the audits of graphql-http-audits.test.ts. */

const fixture = await shareServerFixture({
  http: {
    corsOrigins: new Set(['https://app.example']),
    onlyLocalNames: false,
  },
});
beforeEach(() => void fixture.bank.otherwise({ body: { branches: [] } }));

const query = JSON.stringify({ query: '{ __typename }' });

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
  ])('has headers against caching, sniffing, framing and referrers, and an id: %s', async (_what, ask) => {
    const { headers } = await ask();
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get('x-request-id')).toMatch(/^[\w.:-]{1,128}$/);
    expect(headers.get('set-cookie')).toBeNull();
  });

  test('allows no scripts, except the page of GraphiQL', async () => {
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
});

describe('GraphQL over HTTP', () => {
  const json = { 'Content-Type': 'application/json' };

  test.each(['?query={__typename}', '?query={'])('answers HEAD as GET without a body: %s', async (path) => {
    const url = fixture.url + path;
    const [head, get] = [await fetch(url, { method: 'HEAD' }), await fetch(url)];
    expect([head.status, await head.text()]).toEqual([get.status, '']);
    for (const name of ['content-type', 'content-length', 'cache-control', 'vary'])
      expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
    const health = await fetch(fixture.url.replace('/graphql', '/health'), { method: 'HEAD' });
    expect(health.status).toBe(200);
  });

  test.each(['{', '{ nothing }'])(
    'answers %s over an event stream with an event that has the error',
    async (query) => {
      const headers = { ...json, Accept: 'text/event-stream' };
      const answer = await send({ headers, body: JSON.stringify({ query }) });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toMatch(/^:\n\nevent: next\ndata: \{"errors":.*\n\nevent: complete\n/);
      const get = await fetch(`${fixture.url}?query=${query}`, { headers: { Accept: 'text/event-stream' } });
      expect([get.status, await get.text()]).toEqual([200, expect.stringContaining('event: next')]);
    },
  );
});

test('an unreadable request has an answer with CORS headers and a log line', async () => {
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

test('a client that leaves within a request, or sends none, leaves no log line', async () => {
  const before = fixture.log.length;
  for (const text of ['', post]) {
    const socket = connectTo(fixture.url).resume();
    socket.end(text);
    await once(socket, 'close');
  }
  expect(fixture.log.slice(before)).toEqual([]);
});

test('a repeated credential is refused also after thousands of headers', async () => {
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

test('the path alone decides what is served', async () => {
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

test.each([
  ['{"query":"query A { __typename } query B { __typename }"}', 'name one in "operationName"'],
  ['{"query":"{ __typename }","operationName":"X"}', 'no operation with the name in "operationName"'],
  ['{"documentId":"8f0c"}', 'this server has no manifest'],
])('the refusal of an incomplete request names what is missing: %s', async (body, message) => {
  expect(await (await fetch(fixture.url, postOf(body))).text()).toContain(
    JSON.stringify(message).slice(1, -1),
  );
});

describe('an empty selection is a syntax error with its place, and makes no call', () => {
  test.each([
    ['of the operation', '{ }', 3],
    ['of a field', '{ bank { } }', 10],
    ['of an inline fragment', '{ ... { } }', 9],
    ['of a fragment', '{ bank { ...F } } fragment F on Bank { }', 40],
    ['of a mutation', 'mutation { putProduct(input: { product: {} }) { } }', 49],
  ])('%s', async (_what, query, column) => {
    const answer = await fetch(
      fixture.url,
      postOf({ query }, { Accept: 'application/graphql-response+json' }),
    );
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({
      errors: [
        {
          message: 'Syntax Error: Expected Name, found "}".',
          locations: [{ line: 1, column }],
          extensions: expect.objectContaining({ code: 'GRAPHQL_PARSE_FAILED' }),
        },
      ],
    });
    expect(fixture.bank.calls).toEqual([]);
  });
});

const statusFor = async (url: string, host: string, setHost = true) => {
  const { hostname, port } = new URL(url);
  const outgoing = httpRequest({
    host: hostname,
    port,
    path: '/graphql?query={__typename}',
    headers: setHost ? { Host: host } : {},
  });
  outgoing.end();
  const [incoming] = await once(outgoing, 'response');
  return { status: incoming.statusCode, text: (await incoming.toArray()).join('') };
};

test.each(['a b', '[', 'x:999999'])('an invalid Host (%s) is refused without a stack trace', async (host) => {
  await using fixture = await startServerFixture();
  const { status, text } = await statusFor(fixture.url, host);
  expect(status).toBe(400);
  expect(text).not.toMatch(/node_modules|TypeError/);
});

test('if every client uses the operator’s key, only a Host of this machine is accepted', async () => {
  await using fixture = await startServerFixture({ http: { corsOrigins: new Set(), onlyLocalNames: true } });
  expect((await statusFor(fixture.url, 'evil.example:4000')).status).toBe(421);
  for (const host of ['localhost:4000', '127.0.0.1', '[::1]:4000'])
    expect((await statusFor(fixture.url, host)).status).toBe(200);
});
