import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mediaRanges, weightOf } from '../../src/http/accept.ts';
import { ClientDisconnected, parseBodyParams, parseUrlParams, readBody } from '../../src/http/body.ts';
import { credentials } from '../support/bankql.ts';
import { inTimeMs } from '../support/in-time.ts';
import { connectTo, postText } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';
import { lateBy, quietFor } from '../support/waits.ts';

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
])('%#: is refused', (text, problem) => {
  expect(() => parse(text)).toThrow(`The body ${problem}.`);
});

test('a byte order mark is dropped in front of a body only', () => {
  expect(parse('\ufeff{"a":"\ufeffb"}')).toEqual({ a: '\ufeffb' });
});

test('of two members, or parameters, with one name the last counts', () => {
  expect(parse('{"a":1,"b":{"c":1,"c":2},"\\u0061":2}')).toEqual({ a: 2, b: { c: 2 } });
  expect(parseUrlParams('/graphql?query=1&query=2&variables={"a":1,"a":2}')).toEqual({
    query: '2',
    variables: { a: 2 },
  });
});

test('bytes that are no UTF-8 are refused', () => {
  expect(() => parseBodyParams(Uint8Array.of(0x22, 0xff, 0x22))).toThrow('The body is not JSON in UTF-8.');
  for (const bytes of ['%ff', '%C3', '%c3%28', '%ED%A0%80'])
    expect(() => parseUrlParams(`/graphql?query=${bytes}`)).toThrow('The query of the URL is not UTF-8.');
  // U+FFFD itself, and a percent sign that encodes nothing, are text.
  expect(parseUrlParams('/graphql?query=%EF%BF%BD 100%')).toEqual({ query: '\uFFFD 100%' });
});

test('a URL asks by its query', () => {
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

describe('the header Accept', () => {
  test('a comma, a semicolon and an escaped quote within quotes part nothing', () => {
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
  ])('takes time as its length does, whatever is in it: %s', (one, other) => {
    const startedAt = performance.now();
    const [ones, others] = [one, other].map((piece) => piece.repeat(200_000 / piece.length));
    for (const text of [`${ones}`, `${others}`, `"${ones}`]) mediaRanges(text);
    expect(performance.now() - startedAt).toBeLessThan(inTimeMs);
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

  test('of a client that has left before it is known who it is nothing is done', async () => {
    const { promise: identified, resolve: identify } = Promise.withResolvers<void>();
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    await using fixture = await startServerFixture({
      async authenticate() {
        ask();
        await identified;
        return { subscriptionKey: 'key-1', authProviderName: 'provider-1', authId: 'caller-1' };
      },
    });
    const socket = connectTo(fixture.url);
    const body = JSON.stringify({ query: 'mutation { putProduct(input: { product: {} }) { trackId } }' });
    socket.write(postText(body));
    await asked;
    socket.destroy();
    await once(socket, 'close');
    await expect.poll(() => fixture.server.held.arriving).toBe(0);
    identify();
    await quietFor(50);
    expect(fixture.bank.calls).toEqual([]);
  });
});
