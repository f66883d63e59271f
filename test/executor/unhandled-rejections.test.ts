import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { prepare, schemaOf } from '../support/both-executors.ts';

/** A rejection that nobody awaits is handled, because an unhandled one would end the process. */

describe('a list that fails as a whole leaves no rejection behind', () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  beforeAll(() => void process.on('unhandledRejection', note));
  afterAll(() => void process.off('unhandledRejection', note));
  beforeEach(() => void unhandled.splice(0));

  const late = async () => {
    await turn();
    throw new Error('late');
  };
  const schema = schemaOf('type Query { array: [Int!] lists: [[Int]!] laterLists: [[Int]!] }', {
    'Query.array': () => [null, late()],
    'Query.lists': () => [null, [late()]],
    'Query.laterLists': () => [null, turn().then(() => [late()])],
  });

  test.each(['array', 'lists', 'laterLists'])('of its later entries: %s', async (field) => {
    const { run } = prepare(schema, `{ ${field} }`);
    expect((await run()).errors).toHaveLength(1);
    for (let more = 0; more < 5; more++) await turn();
    expect(unhandled).toEqual([]);
  });

  test('where a resolver waits for one promise of several, and tracks the others', async () => {
    const tracking = schemaOf(
      'type Query { first: Int named: Named } interface Named { name: Int } type A implements Named { name: Int } type B implements Named { name: Int }',
      {
        'Query.first': (_source, _args, _context, info) => {
          info.getAsyncHelpers().track([late(), [late()]]);
          return info.getAsyncHelpers().promiseAll([1, late()]);
        },
        'Query.named': () => ({}),
      },
    );
    // While graphql determines the type, it keeps track of the `isTypeOf` calls that it has made.
    Object.assign(Object(tracking.getType('A')), { isTypeOf: late });
    Object.assign(Object(tracking.getType('B')), { isTypeOf: () => true });
    const { data, errors } = await prepare(tracking, '{ first named { __typename } }').run();
    expect(data).toEqual({ first: null, named: { __typename: 'B' } });
    expect(errors).toHaveLength(1);
    for (let more = 0; more < 5; more++) await turn();
    expect(unhandled).toEqual([]);
  });

  test('where it is over the budget of the answer', async () => {
    const { runWithin } = prepare(schema, '{ array }');
    expect(await runWithin({ values: 2, bytes: 1000 })).toMatchObject({ data: null });
    for (let more = 0; more < 5; more++) await turn();
    expect(unhandled).toEqual([]);
  });
});
