import { describe, expect, test } from 'vitest';
import { GatewayAnswers, type GatewayOptions } from '../../src/bank/gateway-answers.ts';

const refusalIn = (
  status: number,
  body: string,
  options: GatewayOptions = {},
  headers: Readonly<Record<string, string>> = { 'content-length': String(Buffer.byteLength(body)) },
) => new GatewayAnswers(options).refusalIn({ status, headers, body: Buffer.from(body) });

const invalidKey =
  'Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription.';
const missingKey =
  'Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API.';
const kong = '{"message":"API rate limit exceeded"}';

describe('a gateway refuses', () => {
  test.each([
    ['Azure', 429, '{ "statusCode": 429, "message": "Rate limit is exceeded. Try again in 26 seconds." }'],
    ['Azure', 429, '{"statusCode":429,"message":"Rate limit is exceeded. Try again in 1 second."}'],
    [
      'Azure',
      403,
      '{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 03:14:17."}',
    ],
    [
      'Azure',
      403,
      '{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 5.03:23:11."}',
    ],
    [
      'Azure',
      403,
      '{"statusCode":403,"message":"Out of bandwidth quota. Quota will be replenished in 2.12 days."}',
    ],
    ['Kong', 429, kong],
    [
      'Kong',
      429,
      '{\n  "message":"API rate limit exceeded",\n  "request_id":"2f3a6a4cbf1d8f0b1a3a5b6b4a5c5d2e"\n}',
    ],
    ['AWS', 429, '{"message":"Too Many Requests"}'],
    ['AWS', 429, '{"message":"Limit Exceeded"}'],
  ])('a call over its limit: %s, %i %s', (_, status, body) => {
    expect(refusalIn(status, body)).toBe('rate limit');
  });

  test.each([invalidKey, missingKey])(
    'a subscription key, which is the operator’s or the caller’s: %s',
    (message) => {
      const body = JSON.stringify({ statusCode: 401, message });
      expect(refusalIn(401, body, { hasOperatorKey: true })).toBe('operator key');
      expect(refusalIn(401, body)).toBe('credentials');
      expect(refusalIn(403, body, { hasOperatorKey: true })).toBeNull();
    },
  );
});

test.each([
  ['another status', 503, kong],
  ['a status that differs from that of the body', 429, '{"statusCode":403,"message":"Limit Exceeded"}'],
  ['the text at another status', 403, kong],
  ['more text', 429, '{"message":"API rate limit exceeded. The payment was queued."}'],
  ['another text', 429, '{"message":"API rate limit exceeded","detail":"the payment was executed"}'],
  ['a receipt', 429, '{"message":"API rate limit exceeded","transactionId":"T1"}'],
  ['a word as the id of a request', 429, '{"message":"API rate limit exceeded","request_id":"executed"}'],
  ['a word as the time', 429, '{"message":"API rate limit exceeded","timestamp":"2 payments were executed"}'],
  ['an empty member', 429, '{"message":"API rate limit exceeded","paid":null}'],
  ['a name in two spellings', 429, '{"message":"API rate limit exceeded","request_id":"1","requestId":"2"}'],
  ['a boolean', 429, '{"message":"API rate limit exceeded","executed":true}'],
  ['a member that JSON.parse drops', 429, '{"message":"executed","message":"API rate limit exceeded"}'],
  ['an object that JSON.parse drops', 429, '{"message":{"id":"T1"},"message":"API rate limit exceeded"}'],
  ['no text at all', 429, '{"status":429,"error":"Too Many Requests"}'.replace('Too Many Requests', '429')],
  ['JSON that is cut', 429, kong.slice(0, -1)],
  ['nothing', 429, ''],
])('an answer with %s is not a gateway’s', (_, status, body) => {
  expect(refusalIn(status, body)).toBeNull();
});

test('an answer with a Location, in another charset, or as a text whose end nobody knows is not a gateway’s', () => {
  const type = { 'content-type': 'application/json; charset=utf-16' };
  expect(refusalIn(429, kong, {}, { location: '/payments/1' })).toBeNull();
  expect(refusalIn(429, kong, {}, type)).toBeNull();
  expect(refusalIn(429, 'Too Many Requests', {}, {})).toBeNull();
  expect(refusalIn(429, kong, {}, {})).toBe('rate limit');
});

test.each([
  '{"executed":"Unauthorized"}',
  '{"payment":{"state":"unauthorized"}}',
  '{"error":"Unauthorized","transaction":{"status":401}}',
  '{"id":"Unauthorized"}',
  '{"challenge":{}}',
  '{"links":[],"status":401}',
])('a 401 with a member of an unknown name refuses no credentials: %s', (body) => {
  expect(refusalIn(401, body)).toBeNull();
  expect(
    refusalIn(
      401,
      body.replaceAll(/"(?:executed|payment|state|transaction|id|challenge|links)":/g, '"detail":'),
    ),
  ).toBe('credentials');
});

describe('the operator’s texts', () => {
  const notSent = [
    'Too many requests, please try again in # s.',
    'Message throttled out',
    '900800',
    'Login nötig',
  ];
  const refused = (status: number, body: string, headers?: Record<string, string>) =>
    refusalIn(status, body, { notSent, hasOperatorKey: true }, headers);

  test('are whole texts, in which # stands for digits', () => {
    expect(refused(429, 'Too many requests, please try again in 60 s.')).toBe('rate limit');
    expect(refused(429, 'Too many requests, please try again in a s.')).toBeNull();
    expect(refused(429, 'Too many requests, please try again in 60 s')).toBeNull();
    expect(refused(401, '{"error":"Login n\\u00f6tig","status":401}')).toBe('credentials');
    expect(refused(401, '{"error":"Login n\\u00f6tig","id":"T1"}')).toBeNull();
  });

  test('may be several in nested members', () => {
    expect(refused(429, '{"fault":{"code":900800,"message":"Message throttled out"}}')).toBe('rate limit');
    expect(refused(429, '{"fault":{"code":900801,"message":"Message throttled out"}}')).toBeNull();
    expect(refused(429, '{"meta":{"requestId":"r-1"},"reply":"Message throttled out"}')).toBe('rate limit');
  });

  test('of a 403 are about a quota if the answer says when to come back, and else about credentials', () => {
    const body = '{"message":"Message throttled out"}';
    expect(refused(403, body, { 'retry-after': '60' })).toBe('rate limit');
    expect(refused(403, body)).toBe('credentials');
    expect(refused(400, body)).toBeNull();
  });
});
