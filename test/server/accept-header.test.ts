import { describe, expect, test } from 'vitest';
import { mediaRanges, preferredType } from '../../src/server/accept-header.ts';
import { inTimeMs } from '../support/in-time.ts';

const offered = ['application/json', 'application/graphql-response+json', 'text/event-stream'] as const;
const [json, graphql, events] = offered;

describe('what a client wants most of JSON, that of GraphQL, and events', () => {
  test.each([
    ['*/*', json],
    ['application/*', json],
    ['text/*', events],
    [`${graphql}, ${json};q=0.9`, graphql],
    [`${json};q=0.9, ${graphql}`, graphql],
    [`${json};q=0.5, ${events};q=0.6, ${graphql};q=0.5`, events],
    [`${events}, ${json}`, events],
    [`*/*, ${graphql}`, json],
    [`*/*;q=0.1, ${graphql};q=0.2`, graphql],
    [`${json};q=0.1, application/*;q=0.5`, graphql],
    [`${json};q=0, */*`, graphql],
    [`application/*;q=0, */*`, events],
    [`${json};q=0`, null],
    ['*/*;q=0', null],
    ['*/*;q=0.000', null],
    [`${json};q=high`, json],
    [`${json};charset=latin1, ${graphql};q=0.1`, graphql],
    ['', null],
    [',;=', null],
  ])('%s: %s', (accept, type) => {
    expect(preferredType(accept, offered)).toBe(type);
  });
});

test('a comma, a semicolon and an escaped quote within quotes part nothing', () => {
  const [first, second, ...others] = mediaRanges(
    String.raw`Text/HTML; A="x, text/plain;q=0 \" y";q=0.25 , image/png`,
  );
  expect(first).toEqual({
    type: 'text/html',
    parameters: new Map([
      ['a', 'x, text/plain;q=0 " y'],
      ['q', '0.25'],
    ]),
    weight: 0.25,
  });
  expect(second?.type).toBe('image/png');
  expect(others).toEqual([]);
});

test.each([
  ['"', '"\\'],
  ['\\"', '\\"'],
  ['a,', 'a;'],
  ['";', '",'],
])('takes time as its length does, whatever is in it: %s', (one, other) => {
  const startedAt = performance.now();
  for (const text of [one.repeat(200_000), other.repeat(200_000), `"${one.repeat(200_000)}`])
    mediaRanges(text);
  expect(performance.now() - startedAt).toBeLessThan(inTimeMs);
});
