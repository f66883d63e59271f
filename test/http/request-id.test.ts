import { expect, test } from 'vitest';
import { errorLocation } from '../../src/telemetry/log.ts';
import { credentials } from '../support/bankql.ts';
import { postOf } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';
import { lateBy, quietFor } from '../support/waits.ts';

interface Line {
  readonly msg: string;
  readonly requestId?: string;
  readonly trackId?: string | null;
  readonly err?: unknown;
}
const linesOf = ({ log }: ServerFixture, message: string): Line[] =>
  log.map((line): Line => JSON.parse(line)).filter(({ msg }) => msg === message);

const ask = (fixture: ServerFixture, query: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(fixture.url, postOf({ query }, { ...credentials, ...headers }));
const customer = (id: string) => `{ bank { customer(customerId: "${id}") { email } } }`;

test('each log line of a call to the bank has the id of its own request', async () => {
  await using fixture = await startServerFixture();
  fixture.bank.otherwise(async () => {
    await lateBy(20);
    return { body: {} };
  });
  const ids = Array.from({ length: 30 }, (_, index) => `request-${index}`);
  const put = (id: string) =>
    `mutation { putCustomer(input: { customerId: "${id}", customer: {} }) { trackId } }`;
  await Promise.all(ids.map((id) => ask(fixture, put(id), { 'X-Request-Id': id })));
  // The bank's calls show which customer each call was for, and so which request.
  const expected = fixture.bank.calls.map(({ path, headers }) => [
    headers['track-id'],
    path.slice(path.lastIndexOf('/') + 1),
  ]);
  expect(expected).toHaveLength(ids.length);
  const logged = linesOf(fixture, 'bank call').map(({ trackId, requestId }) => [trackId, requestId]);
  expect(logged.toSorted()).toEqual(expected.toSorted());
});

test('a call that two requests share has the id of the request that began it', async () => {
  await using fixture = await startServerFixture();
  const { promise, resolve } = Promise.withResolvers<void>();
  fixture.bank.otherwise(async () => {
    await promise;
    return { body: {} };
  });
  const first = ask(fixture, customer('c'), { 'X-Request-Id': 'first' });
  await expect.poll(() => fixture.bank.calls.length).toBe(1);
  const second = ask(fixture, customer('c'), { 'X-Request-Id': 'second' });
  await expect.poll(() => fixture.server.held.requests).toBe(2);
  await quietFor(50);
  resolve();
  expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
  expect(linesOf(fixture, 'bank call').map(({ requestId }) => requestId)).toEqual(['first']);
});

test.each([
  { sent: 'phone-4711', expected: /^phone-4711$/ },
  ...['two words', '<script>', 'x'.repeat(129)].map((sent) => ({ sent, expected: /^[\w-]{36}$/ })),
])(
  'the answer and the log have the id $sent of the caller if it is one word, else a generated one',
  async ({ sent, expected }) => {
    await using fixture = await startServerFixture();
    fixture.bank.otherwise({ body: {} });
    const answer = await ask(fixture, customer('c'), { 'X-Request-Id': sent });
    const id = answer.headers.get('x-request-id');
    expect(id).toMatch(expected);
    expect(linesOf(fixture, 'bank call').map(({ requestId }) => requestId)).toEqual([id]);
  },
);

test('a message that looks like a stack trace is not logged as one', () => {
  const error = new Error('broken\n    at a-secret (file.ts:1:1)');
  const { stack } = errorLocation(error);
  expect(stack).toMatch(/^at .*request-id\.test\.ts/);
  expect(stack).not.toContain('a-secret');
});

test('an unexpected error is logged with the request’s id, and without other properties of the error', async () => {
  const cause = Object.assign(new Error('the cause'), { headers: { 'auth-id': 'the-caller' } });
  await using fixture = await startServerFixture({
    authenticate: () => {
      throw Object.assign(new RangeError('it broke', { cause }), { code: 'E_BROKE', headers: credentials });
    },
  });
  const answer = await ask(fixture, customer('c'), { 'X-Request-Id': 'broken' });
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain('broke');
  const stack = expect.stringMatching(/^at .*request-id\.test\.ts/);
  expect(linesOf(fixture, 'unexpected error')).toEqual([
    {
      level: 50,
      time: expect.any(Number),
      pid: expect.any(Number),
      hostname: expect.any(String),
      requestId: 'broken',
      err: {
        type: 'RangeError',
        code: 'E_BROKE',
        message: 'it broke',
        stack,
        cause: { type: 'Error', message: 'the cause', stack },
      },
      msg: 'unexpected error',
    },
  ]);
});
