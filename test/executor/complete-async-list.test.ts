import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AnswerBudget, AnswerLimitError } from '../../src/executor/answer-budget.ts';
import { answerOf, prepare, schemaOf } from '../support/both-executors.ts';

/** Lists whose entries come one after the other. */

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => {
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

let closed: string[] = [];
let made = 0;
beforeEach(() => {
  closed = [];
  made = 0;
});

async function* endless(name: string, make: (index: number) => unknown) {
  try {
    for (;;) {
      await turn();
      yield make(made++);
    }
  } finally {
    closed.push(name);
  }
}
async function* entries(...values: unknown[]) {
  for (const value of values) {
    await turn();
    if (value instanceof RangeError) throw value;
    yield typeof value === 'function' ? value() : value;
  }
}
const item = (name: string) => ({ name, later: () => turn(name) });
const fails = async () => {
  await turn();
  throw new Error('fails');
};

/** An iterator whose next entry never comes, and which fails to close. */
const stuck = () => ({
  [Symbol.asyncIterator]: () => ({
    next: () => new Promise(() => {}),
    return: () => {
      closed.push('stuck');
      throw new Error('cannot be closed');
    },
  }),
});

const schema = schemaOf(
  `type Query {
     numbers: [Int] must: [Int!] none: [Int] items: [Item] grid: [[Int]] breaks: [Int] wrong: [Int]
     endless: [Int] endlessItems: [Item!] endlessMust: [Int!] stuck: [Int] hard: Int! texts: [String]
   }
   type Item { name: String later: String hard: Int! fails: Int! }`,
  {
    'Query.numbers': () => entries(1, 'x', null, turn(4), new Error('entry')),
    'Query.must': () => entries(1, null, 3),
    'Query.none': () => entries(),
    'Query.items': async () => entries(item('a'), turn(item('b')), null),
    'Query.grid': () => entries(() => [1, turn(2)], entries(3, 4)),
    'Query.breaks': () => entries(1, fails, new RangeError('breaks')),
    'Query.wrong': () => ({
      [Symbol.asyncIterator]: () => {
        throw new Error('no iterator');
      },
    }),
    'Query.endless': () => endless('endless', (index) => index),
    'Query.endlessItems': () => endless('items', (index) => (index < 3 ? item('a') : { hard: fails })),
    'Query.endlessMust': () => endless('must', (index) => (index < 3 ? index : null)),
    'Query.stuck': stuck,
    'Query.hard': fails,
    'Query.texts': () => endless('texts', () => 'x'.repeat(10)),
  },
);

test.each(['numbers', 'must', 'none', 'items { name later }', 'grid', 'breaks', 'wrong'])(
  'is answered as by graphql’s own executor: %s',
  async (field) => {
    await answerOf(schema, `{ ${field} }`);
  },
);

test('has its entries in order, whenever they are complete', async () => {
  const { data } = await prepare(schema, '{ items { name later } numbers }').run();
  expect(data).toEqual({
    items: [{ name: 'a', later: 'a' }, { name: 'b', later: 'b' }, null],
    numbers: [1, null, null, 4, null],
  });
});

describe('its iterator is closed', () => {
  test.each([
    ['an entry may not be null', '{ endlessMust }', 'must', { endlessMust: null }],
    [
      'an entry fails late where null may not be',
      '{ endlessItems { hard } }',
      'items',
      { endlessItems: null },
    ],
    ['the answer is given without it', '{ endless hard }', 'endless', null],
    ['it has no next entry, and cannot be closed', '{ stuck hard }', 'stuck', null],
  ])('where %s', async (_why, text, name, data) => {
    const answer = await prepare(schema, text).run();
    expect(answer.data).toEqual(data);
    expect(answer.errors).toHaveLength(1);
    for (let more = 0; more < 5; more++) await turn();
    expect(closed).toEqual([name]);
    const before = made;
    await turn();
    expect(made).toBe(before);
  });

  test.each([
    ['values', '{ endless }', { values: 50, bytes: 10_000 }, 'endless'],
    ['values, of which most wait for their turn', '{ endless }', { values: 1100, bytes: 100_000 }, 'endless'],
    ['bytes', '{ texts }', { values: 1000, bytes: 500 }, 'texts'],
  ])('where the answer has too many %s', async (_what, text, limits, name) => {
    const answer = await prepare(schema, text).runWithin(limits);
    expect(answer).toEqual({ data: null, errors: [expect.any(AnswerLimitError)] });
    for (let more = 0; more < 5; more++) await turn();
    expect(closed).toEqual([name]);
    expect(made).toBeLessThanOrEqual(limits.values + 1);
  });

  test('where the client has left', async () => {
    const { runWith } = prepare(schema, '{ endless }');
    const answer = await runWith({
      budget: new AnswerBudget({ values: 1000, bytes: 10_000 }),
      isAbandoned: () => made > 5,
    });
    expect(answer).toMatchObject({ data: null, errors: [{ message: 'The client has left.' }] });
    for (let more = 0; more < 5; more++) await turn();
    expect([made, closed]).toEqual([6, ['endless']]);
  });
});
