import { GraphQLError } from 'graphql';
import { describe, expect, test } from 'vitest';
import { OperationActivity } from '../../src/graphql/operation-activity.ts';
import { failCurrentRequest, runInRequestScope } from '../../src/http/request-scope.ts';
import { turns } from '../support/waits.ts';

/** A request that is answered when `work` ends, and the handling of errors that nobody caught. */
function startRequest(work: Promise<void>) {
  const told: string[] = [];
  const failures = {
    log: (error: unknown) => void told.push(`logged ${error}`),
    fail: (error: unknown) => void told.push(`failed ${error}`),
  };
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let next = Promise.withResolvers<{ error: unknown; taken: (is: boolean) => void }>();
  // Background work that the request started, such as a connection.
  const background = async () => {
    begin();
    for (;;) {
      const { error, taken } = await next.promise;
      next = Promise.withResolvers();
      taken(failCurrentRequest(error));
    }
  };
  runInRequestScope({ requestId: 'id', ...failures }, () => {
    void background();
    return work;
  });
  const reject = async (error: string) => {
    await begun;
    return new Promise<boolean>((taken) => next.resolve({ error, taken }));
  };
  return { told, reject };
}

test('an error that nobody caught is logged while its request is worked for, also where its client has left', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { told, reject } = startRequest(promise);
  expect(await reject('one')).toBe(true);
  expect(told).toEqual(['logged one']);
  resolve();
  await turns();
  // The request is over. The error of its background work must not end the process.
  expect(await reject('two')).toBe(true);
  expect(told).toEqual(['logged one', 'failed two']);
});

test('it fails a request whose work has ended', async () => {
  const { told, reject } = startRequest(Promise.resolve());
  await turns();
  expect(await reject('one')).toBe(true);
  expect(told).toEqual(['failed one']);
});

test('whoever rejects fails the request, and no error belongs to one where there is none', async () => {
  const { told } = startRequest(Promise.reject('work'));
  await turns();
  expect(told).toEqual(['failed work']);
  expect(failCurrentRequest('elsewhere')).toBe(false);
});

const error = new GraphQLError('no', { extensions: { code: 'NOT_FOUND' } });
const json = '{}';

test.each([
  ['ok', { data: { a: null } }],
  ['partial', { data: { a: 1, b: null }, errors: [error] }],
  ['failed', { data: { a: null }, errors: [error] }],
  ['failed', { errors: [error] }],
])('a whole answer is %s: %j', (outcome, result) => {
  const activity = new OperationActivity('r');
  activity.answered({ status: 200, bytes: 2, result });
  expect(activity).toMatchObject({ outcome, status: 200, bytes: 2 });
});

describe('an answer of several results', () => {
  /** Each result is `data`, or only an `error`. */
  const streamed = (...results: readonly string[]) => {
    const activity = new OperationActivity('r');
    for (const each of results)
      activity.streamed(200, { json, errors: each === 'error' ? [error] : [], hasData: each === 'data' });
    return activity;
  };

  test.each([
    ['ok', ['data']],
    ['ok', ['nothing']],
    ['partial', ['data', 'error']],
    // The deferred part may be everything that the document selects.
    ['partial', ['error', 'data']],
    ['failed', ['error']],
    ['failed', ['error', 'error']],
  ])('is %s: %j', (outcome, results) => {
    expect(streamed(...results)).toMatchObject({ outcome, status: 200, bytes: 2 * results.length });
  });

  test('has failed where bankql broke it off, and where its client left, that is its end', () => {
    const broken = streamed('data');
    broken.brokenOff('OVERLOADED');
    // A connection that bankql closes looks like one that its client has closed.
    broken.abandoned();
    expect(broken).toMatchObject({ outcome: 'failed', codes: ['OVERLOADED'], status: 200 });
    const left = streamed('data');
    left.abandoned();
    expect(left).toMatchObject({ outcome: 'client left', codes: [] });
  });
});
