import { GraphQLError } from 'graphql';
import { describe, expect, test } from 'vitest';
import { OperationActivity } from '../../src/graphql/operation-activity.ts';

/** The outcome of an operation, which its log line and its metrics name. */

const error = new GraphQLError('no', { extensions: { code: 'NOT_FOUND' } });

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
      activity.streamed(200, { bytes: 2, errors: each === 'error' ? [error] : [], hasData: each === 'data' });
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

  test('has failed if bankql broke it off; if the client left, its outcome is that', () => {
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
