import { GraphQLError } from 'graphql';
import { describe, expect, test } from 'vitest';
import { OperationActivity } from '../../src/server/operation-activity.ts';

const error = new GraphQLError('no', { extensions: { code: 'NOT_FOUND' } });
const json = Buffer.from('{}');

test.each([
  ['ok', { data: { a: null } }],
  ['partial', { data: { a: 1, b: null }, errors: [error] }],
  ['failed', { data: { a: null }, errors: [error] }],
  ['failed', { errors: [error] }],
])('a whole answer is %s: %j', (outcome, result) => {
  const activity = new OperationActivity('r');
  activity.answered({ status: 200, body: '{}', result });
  expect(activity).toMatchObject({ outcome, status: 200, bytes: 2 });
});

describe('an answer of several results', () => {
  const streamed = (...payloads: readonly (readonly [readonly GraphQLError[], boolean])[]) => {
    const activity = new OperationActivity('r');
    for (const [errors, hasData] of payloads) activity.streamed(200, { json, errors, hasData });
    return activity;
  };

  test.each([
    ['ok', [[[], true]]],
    ['ok', [[[], false]]],
    [
      'partial',
      [
        [[], true],
        [[error], false],
      ],
    ],
    // What is put off may be all that it asks for.
    [
      'partial',
      [
        [[error], false],
        [[], true],
      ],
    ],
    ['failed', [[[error], false]]],
    [
      'failed',
      [
        [[error], false],
        [[error], false],
      ],
    ],
  ] as const)('is %s: %j', (outcome, payloads) => {
    expect(streamed(...payloads)).toMatchObject({ outcome, status: 200, bytes: 2 * payloads.length });
  });

  test('has failed where bankql broke it off, and where its client left, that is its end', () => {
    const broken = streamed([[], true]);
    broken.brokenOff('OVERLOADED');
    // A connection that bankql breaks looks like one that its client has left.
    broken.abandoned();
    expect(broken).toMatchObject({ outcome: 'failed', codes: ['OVERLOADED'], status: 200 });
    const left = streamed([[], true]);
    left.abandoned();
    expect(left).toMatchObject({ outcome: 'client left', codes: [] });
  });
});
