import { afterEach, describe, expect, test, vi } from 'vitest';
import { ConnectionAwareResponse } from '../../src/http/connection.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { answerTo, postOf, postText } from '../support/requests.ts';
import { type ServerFixture, shareServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** Any failure, in any place, affects only its own request: the request is answered, and the next one is served. */

afterEach(() => void vi.restoreAllMocks());

const internal = {
  message: 'Something went wrong inside bankql.',
  extensions: { code: 'INTERNAL', retryable: false },
};

const post = (fixture: ServerFixture, accept = 'application/json') =>
  fetch(fixture.url, {
    ...postOf('{"query":"{ tooLong: __typename }"}', { Accept: accept }),
    signal: AbortSignal.timeout(60_000),
  });
const get = (fixture: ServerFixture, accept = 'application/json') =>
  fetch(`${fixture.url}?query={tooLong:__typename}`, {
    headers: { Accept: accept },
    signal: AbortSignal.timeout(60_000),
  });

/** An answer that is longer than the maximum length of a string. */
function tooLongToWrite() {
  const { stringify } = JSON;
  return vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown, ...more: []) => {
    const isIt = typeof value === 'object' && value !== null && 'data' in value;
    if (isIt && 'tooLong' in Object(value.data)) throw new RangeError('Invalid string length');
    return stringify(value, ...more);
  });
}

describe('an answer', () => {
  test.each([
    ['a POST', post, 'application/json'],
    ['a POST for events', post, 'text/event-stream'],
    ['a POST for parts', post, 'multipart/mixed'],
    ['a GET', get, 'application/json'],
    ['a GET for events', get, 'text/event-stream'],
    ['a GET for parts', get, 'multipart/mixed'],
  ])('to %s that cannot be serialized is 500', async (_what, ask, accept) => {
    await using fixture = await startServerFixture();
    const spy = tooLongToWrite();
    const answer = await ask(fixture, accept);
    const text = await answer.text();
    spy.mockRestore();
    expect(answer.status).toBe(500);
    expect(answer.headers.get('content-type')).toContain(accept);
    expect(text).toContain(`"errors":${JSON.stringify([internal])}`);
    expect(fixture.log.filter((line) => line.includes('Invalid string length'))).toHaveLength(1);
    expect(await (await ask(fixture, accept)).text()).toContain('{"data":{"tooLong":"Query"}}');
  });

  test('that fails after its beginning closes its connection, and no other', async () => {
    await using fixture = await startServerFixture();
    vi.spyOn(ConnectionAwareResponse.prototype, 'end').mockImplementationOnce(() => {
      throw new TypeError('half-way');
    });
    await expect(post(fixture)).rejects.toThrow('fetch failed');
    expect(fixture.log.filter((line) => line.includes('half-way'))).toHaveLength(1);
    await expect.poll(() => fixture.server.held.requests).toBe(0);
    expect((await post(fixture)).status).toBe(200);
  });
});

test('a failure before the operation begins is 500', async () => {
  await using fixture = await startServerFixture({
    capacity: capacityLimits({ requests: 0, requestsPerCaller: 0 }),
    onShed: () => {
      throw new TypeError('while it was counted');
    },
  });
  const answer = await post(fixture);
  expect(answer.status).toBe(500);
  expect(await answer.json()).toEqual({ errors: [internal] });
  expect(fixture.log.filter((line) => line.includes('while it was counted'))).toHaveLength(1);
});

/** Requests whose connections end with the answer. */
const ending = { Connection: 'close' };
const getText = (target: string, accept = '*/*') =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`;
const body = '{"query":"{ __typename }"}';

describe('an invalid address', async () => {
  const fixture = await shareServerFixture();

  const nonsense = [
    '//',
    '//:',
    '//[',
    '//@:',
    '//u:p@h/x',
    'http://u@h/x',
    '///',
    'http://[',
    'http://x:99999',
    '/\\\\',
    '/%',
    '*',
    '/%00',
  ];
  test.each([...nonsense, '/graphq', '/graphql/..//'])(
    '%s is 400 or 404, and logs no error',
    async (target) => {
      const queries = ['', '?subscription-key=x', '?subscription%2Dkey', '?a=%&subscription-key=%ff%', '?#'];
      for (const query of queries)
        for (const text of [
          getText(`${target}${query}`),
          postText(body, ending).replace('/graphql', `${target}${query}`),
        ])
          expect(await answerTo(fixture.url, text)).toMatch(/^HTTP\/1\.1 40[04] /);
      expect(fixture.log).toEqual([]);
      expect(fixture.bank.calls).toEqual([]);
    },
  );
});

test.each([
  [
    'text/event-stream',
    ':\n\nevent: next\ndata: {"data":{"__typename":"Query"}}\n\nevent: complete\ndata:\n\n',
  ],
  [
    'multipart/mixed',
    '\r\n---\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 31\r\n\r\n{"data":{"__typename":"Query"}}\r\n-----\r\n',
  ],
])(
  'a stream of one result (%s) is complete, is not cached, and ends its connection if asked to',
  async (accept, stream) => {
    await using fixture = await startServerFixture();
    for (const text of [
      getText('/graphql?query={__typename}', accept),
      postText(body, { ...ending, Accept: accept }),
    ]) {
      const [headers = '', ...rest] = (await answerTo(fixture.url, text)).split('\r\n\r\n');
      expect(headers).toMatch(/^HTTP\/1\.1 200 /);
      expect(headers).toMatch(/^Cache-Control: no-store$/im);
      expect(headers).toMatch(/^Connection: close$/im);
      expect(rest.join('\r\n\r\n')).toBe(stream);
    }
  },
);

test('an unexpected error is INTERNAL: only the log has its message', async () => {
  const fail = () => Promise.reject(new Error('the secret of the inside'));
  await using fixture = await startBankqlFixture({
    payments: {
      pay: fail,
      preview() {
        throw new Error('not asked');
      },
      find: fail,
      findByTrackId: () => Promise.reject(new Error('not asked')),
      search: fail,
      idle: async () => {},
    },
  });
  const result = await fixture.ask('{ payment(idempotencyKey: "k") { state } bank { bankId } }');
  expect(result.data).toEqual({ payment: null, bank: { bankId: 'BANK' } });
  expect(result.errors).toEqual([
    {
      message: 'Something went wrong inside bankql.',
      locations: expect.anything(),
      path: ['payment'],
      extensions: { code: 'INTERNAL', retryable: false },
    },
  ]);
  expect(fixture.bankql.log.join()).toContain('the secret of the inside');
});
