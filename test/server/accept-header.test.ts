import { expect, test } from 'vitest';
import { mediaRanges } from '../../src/server/accept-header.ts';
import { inTimeMs } from '../support/in-time.ts';

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
