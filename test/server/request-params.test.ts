import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBodyParams, parseUrlParams } from '../../src/server/request-params.ts';

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
  ['\ufeff{}', 'is not JSON in UTF-8'],
  ['{"a":1,"a":2}', 'names a member twice in one object'],
  ['{"a":1,"\\u0061":2}', 'names a member twice in one object'],
  ['{"a" : 1, "b": {"c": 1, "c" :2}}', 'names a member twice in one object'],
  ['['.repeat(33) + ']'.repeat(33), 'is more than 32 levels deep'],
  [`[${'"",'.repeat(4000)}""]`, 'has more than 4000 parts'],
])('%#: is refused', (text, problem) => {
  expect(() => parse(text)).toThrow(`The body ${problem}.`);
});

test('a name may come again in another object, and as a value', () => {
  expect(parse('{"a":{"a":"a"},"b":[{"a":1},{"a":2}],"c":"\\"a\\":"}')).toEqual({
    a: { a: 'a' },
    b: [{ a: 1 }, { a: 2 }],
    c: '"a":',
  });
});

test('bytes that are no UTF-8 are refused', () => {
  expect(() => parseBodyParams(Uint8Array.of(0x22, 0xff, 0x22))).toThrow('The body is not JSON in UTF-8.');
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
  expect(() => parseUrlParams('/graphql?variables={')).toThrow('The URL\'s "variables" is not JSON.');
});
