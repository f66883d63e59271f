import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/client/retry-after.ts';

const now = Date.parse('1994-11-06T08:49:30Z');

test.each([
  ['0', 0],
  ['7', 7],
  ['007', 7],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 7],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 7],
  ['Sun Nov  6 08:49:37 1994', 7],
  ['Sun Nov 06 08:49:37 1994', 7],
])('%s is %d seconds', (header, seconds) => {
  expect(parseRetryAfter(header, now)).toBe(seconds);
});

test.each(['Sun, 06 Nov 1994 08:49:00 GMT', 'Sun Nov  6 08:49:29 1994', 'Saturday, 06-Nov-93 08:49:37 GMT'])(
  '%s is over, and means now',
  (header) => {
    expect(parseRetryAfter(header, now)).toBe(0);
  },
);

test.each([
  '61',
  '86400',
  '9'.repeat(400),
  'Mon, 07 Nov 1994 08:49:37 GMT',
  'Thursday, 06-Nov-25 08:49:37 GMT',
])('%s is trusted for a minute', (header) => {
  expect(parseRetryAfter(header, now)).toBe(60);
});

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
  'Sun, 06 Foo 1994 08:49:37 GMT',
  'Sun, 42 Nov 1994 08:49:37 GMT',
  '5, 10',
])('%s is no time', (header) => {
  expect(parseRetryAfter(header, now)).toBeUndefined();
});

test('a year of two digits is no more than 50 years ahead', () => {
  const later = Date.parse('2026-11-06T08:49:30Z');
  expect(parseRetryAfter('Friday, 06-Nov-26 08:49:37 GMT', later)).toBe(7);
  expect(parseRetryAfter('Saturday, 06-Nov-77 08:49:37 GMT', later)).toBe(0);
});
