import { on, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { mediaRanges, weightOf } from '../../src/http/accept.ts';
import { ClientDisconnected, parseBodyParams, parseUrlParams, readBody } from '../../src/http/body.ts';
import { credentials } from '../support/bankql.ts';
import { inTimeMs } from '../support/in-time.ts';
import { answerTo, connectTo, postOf, postText } from '../support/requests.ts';
import { shareServerFixture, startServerFixture } from '../support/server-fixture.ts';
import { lateBy } from '../support/waits.ts';

/** How the body, the URL and the Accept header of a request are read, and which bodies are refused. */

const fixture = await shareServerFixture();
beforeEach(() => void fixture.bank.otherwise({ body: { branches: [] } }));

const query = JSON.stringify({ query: '{ __typename }' });
const branches = JSON.stringify({ query: '{ bank { branches { totalCount } } }' });
const key = { 'Ocp-Apim-Subscription-Key': 'k' };
const send = (init: RequestInit & { readonly headers?: Record<string, string> }) =>
  fetch(fixture.url, { method: 'POST', ...init });
const post = 'POST /graphql HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\n';
const raw = (text: string) => answerTo(fixture.url, text);

const holder = { awaitMore() {} };

test('a body whose client leaves is not answered', async () => {
  const request = Object.assign(new PassThrough(), {
    complete: false,
    headers: {},
  }) as unknown as IncomingMessage;
  const reading = readBody(request, 10, holder);
  request.destroy();
  await expect(reading).rejects.toBeInstanceOf(ClientDisconnected);
  await expect(readBody(request, 10, holder)).rejects.toBeInstanceOf(ClientDisconnected);
});

const parse = (text: string) => parseBodyParams(new TextEncoder().encode(text));

test('a body is what JSON.parse makes of it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
    { numRuns: 200 },
  );
});

test.each([
  ['', 'is not JSON in UTF-8'],
  ['{', 'is not JSON in UTF-8'],
  ['\ufeff\ufeff{}', 'is not JSON in UTF-8'],
  ['\ufeff', 'is not JSON in UTF-8'],
  ['['.repeat(33) + ']'.repeat(33), 'is more than 32 levels deep'],
  ['['.repeat(50_000) + ']'.repeat(50_000), 'is more than 32 levels deep'],
  [`[${'"",'.repeat(4000)}""]`, 'has more than 4000 parts'],
  [`{${Array.from({ length: 4001 }, (_, at) => `"${at}":0`)}}`, 'has more than 4000 parts'],
])('an invalid body is refused: %#', (text, problem) => {
  expect(() => parse(text)).toThrow(`The body ${problem}.`);
});

test('a byte order mark is dropped only at the beginning of a body', () => {
  expect(parse('\ufeff{"a":"\ufeffb"}')).toEqual({ a: '\ufeffb' });
});

test('the last of two members or parameters with one name counts', () => {
  expect(parse('{"a":1,"b":{"c":1,"c":2},"\\u0061":2}')).toEqual({ a: 2, b: { c: 2 } });
  expect(
    parseUrlParams(
      '/graphql?query=1&query=2&operationName=A&operationName=&variables={&variables={"a":1,"a":2}',
    ),
  ).toEqual({ query: '2', variables: { a: 2 } });
});

test('bytes that are not UTF-8 are refused', () => {
  expect(() => parseBodyParams(Uint8Array.of(0x22, 0xff, 0x22))).toThrow('The body is not JSON in UTF-8.');
  for (const bytes of ['%ff', '%C3', '%c3%28', '%ED%A0%80'])
    expect(() => parseUrlParams(`/graphql?query=1&operationName=${bytes}`)).toThrow(
      'The query of the URL is not UTF-8.',
    );
  // U+FFFD itself, and a percent sign that encodes nothing, are text.
  expect(parseUrlParams('/graphql?query=%EF%BF%BD 100%')).toEqual({ query: '\uFFFD 100%' });
});

test('the query of a URL has the parameters of the request', () => {
  const variables = encodeURIComponent('{"n":1}');
  expect(
    parseUrlParams(`/graphql?query=%7B+a+%7D&operationName=&variables=${variables}&documentId=x`),
  ).toEqual({
    query: '{ a }',
    operationName: undefined,
    documentId: 'x',
    variables: { n: 1 },
    extensions: undefined,
  });
  expect(parseUrlParams('/graphql')).toEqual({});
  // A byte order mark before JSON is dropped.
  expect(parseUrlParams('/graphql?variables=%EF%BB%BF{}')).toEqual({ variables: {} });
  expect(() => parseUrlParams('/graphql?variables={')).toThrow('The URL\'s "variables" is not JSON.');
  const deep = '['.repeat(32) + ']'.repeat(32);
  expect(() => parseUrlParams(`/graphql?variables=${deep}`)).toThrow('The URL is more than 32 levels deep.');
});

test('an invalid body is not echoed', async () => {
  const answer = await fetch(fixture.url, postOf('{"query": secret-in-the-body'));
  expect([answer.status, await answer.text()]).toEqual([
    400,
    expect.not.stringContaining('secret-in-the-body'),
  ]);
});

describe('the header Accept', () => {
  test('may have commas, semicolons and escaped quotes within quotes', () => {
    const [first, second, ...others] = mediaRanges(
      String.raw`Text/HTML; A="x, text/plain;q=0 \" y";q=0.25 , image/png`,
    );
    expect([first?.essence, first?.params.get('a')]).toEqual(['text/html', 'x, text/plain;q=0 " y']);
    expect(first && weightOf(first)).toBe(0.25);
    expect(second?.essence).toBe('image/png');
    expect(others).toEqual([]);
  });

  test.each([
    ['"', '"\\'],
    ['\\"', '\\"'],
    ['a letter,', 'a letter;'],
    ['";', '",'],
  ])('is read in linear time: %s', (one, other) => {
    const startedAt = performance.now();
    const [ones, others] = [one, other].map((piece) => piece.repeat(200_000 / piece.length));
    for (const text of [`${ones}`, `${others}`, `"${ones}`]) mediaRanges(text);
    expect(performance.now() - startedAt).toBeLessThan(inTimeMs);
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
  ])('in %s is refused without being read; the error names the remedy', async (encoding) => {
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

  test.each(['identity', 'Identity', 'identity, identity', ''])(
    'with the Content-Encoding %j counts as not encoded',
    async (encoding) => {
      const answer = await send({ headers: { ...json, 'Content-Encoding': encoding }, body: branches });
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"totalCount":0')]);
    },
  );
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

describe('a body that is too long is refused, and the connection is closed', () => {
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

  test('a body of the greatest length is accepted, and the connection stays', async () => {
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

  test('keeps the connection: the body is dropped, and the next request is answered', async () => {
    const socket = connectTo(fixture.url);
    socket.write(`${refused}Content-Length: 50000\r\n\r\n${'x'.repeat(20_000)}`);
    const [first] = await once(socket, 'data');
    expect(String(first)).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: keep-alive\r\n/i);
    socket.write(`${'x'.repeat(30_000)}${post}Content-Length: ${query.length}\r\n\r\n${query}`);
    const [second] = await once(socket, 'data');
    expect(String(second)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('loses the connection if the body comes in chunks', async () => {
    expect(await raw(`${refused}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n/i,
    );
  });
});

test('the body of a GET is dropped while its answer waits for the bank', async () => {
  fixture.bank.otherwise(() => 'hang');
  const get = (id: string, more: string) =>
    `GET /graphql?query={bank{product(productId:"${id}"){name}}} HTTP/1.1\r\nHost: b\r\nOcp-Apim-Subscription-Key: k\r\n${more}\r\n`;
  const socket = connectTo(fixture.url);
  // Node keeps up to 65,536 bytes of a body that nobody reads, and each chunk of one byte takes 500 bytes of memory.
  socket.write(`${get('first', 'Transfer-Encoding: chunked\r\n')}${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`);
  socket.write(get('second', ''));
  // Node reads the second request only when it has read all of the first one.
  await expect.poll(() => fixture.bank.calls.length).toBe(2);
  socket.destroy();
});

describe('a client with `Expect: 100-continue`', () => {
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

describe('over a socket', () => {
  /** Sends these pieces with a pause between them, and returns the answer. */
  async function send(url: string, pieces: readonly string[]): Promise<string> {
    const socket = connectTo(url).setNoDelay().setEncoding('utf8');
    for (const piece of pieces) {
      socket.write(piece);
      await lateBy(30);
    }
    let answered = '';
    for await (const text of socket) {
      answered += text;
      if (answered.endsWith('}')) break;
    }
    return answered.slice(answered.indexOf('\r\n\r\n') + 4);
  }

  test('a body is read in any number of chunks', async () => {
    await using fixture = await startServerFixture();
    fixture.bank.otherwise(() => ({ body: { branches: [] } }));
    const body = JSON.stringify({ query: '{ bank { branches { totalCount } } }' });
    const head = postText(body, credentials, '');
    const expected = '{"data":{"bank":{"branches":{"totalCount":0}}}}';
    expect(await send(fixture.url, [head + body])).toBe(expected);
    expect(await send(fixture.url, [head, body])).toBe(expected);
    expect(await send(fixture.url, [head + body.slice(0, 9), body.slice(9)])).toBe(expected);
    expect(await send(fixture.url, [head, ...(body.match(/.{1,20}/g) ?? [])])).toBe(expected);
  });
});
