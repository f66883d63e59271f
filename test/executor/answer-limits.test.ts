import { setImmediate as turn } from 'node:timers/promises';
import { getOperationAST, parse } from 'graphql';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AnswerBudget, AnswerLimitError } from '../../src/executor/answer-limits.ts';
import { PreparedOperation } from '../../src/executor/compile.ts';
import { execute } from '../../src/executor/execute.ts';
import { nobody } from '../../src/load/callers.ts';
import { slices } from '../../src/load/slices.ts';
import { schemaOf } from '../support/both-executors.ts';
import { idleSlices } from '../support/idle-slices.ts';
import { clock } from '../support/monotonic-clock.ts';

/** The values that an execution counts, and how the execution ends if they exceed the budget. */

let resolved = 0;
let made = 0;
let closed = 0;
const refusedItems = (count: number) =>
  Array.from({ length: count }, () => Promise.reject(new Error('refused')));

const schema = schemaOf(
  `type Query { items(count: Int!): [Item!] late(count: Int!): [Item!] text(length: Int!): String escaped: String texts: [String] lazy(count: Int!): [Item!] endless: [Item!] refused(count: Int!): [Item] lateRefused(count: Int!): [Item] fails: [Int] some(count: Int!, failing: Int!): [Item!] }
   type Mutation { first: Item second: Int }
   type Item { name: String items: [Item!] never: Item must: Int! mustLate: Int! }`,
  {
    'Query.items': (_source, { count }) => Array.from({ length: count }, () => ({})),
    'Query.late': (_source, { count }) => Array.from({ length: count }, async () => turn({})),
    'Query.text': (_source, { length }) => 'x'.repeat(length),
    'Query.escaped': () => '\u0001'.repeat(100),
    'Query.lazy': (_source, { count }) => ({
      length: count,
      at() {
        made++;
        return {};
      },
      [Symbol.iterator]: () => [].values(),
    }),
    'Query.refused': (_source, { count }) => refusedItems(count),
    'Query.lateRefused': async (_source, { count }) => refusedItems(count),
    'Query.endless': function* () {
      try {
        for (;;) {
          made++;
          yield {};
        }
      } finally {
        closed++;
      }
    },
    'Query.texts': () => ['x'.repeat(50), turn('y'.repeat(50))],
    'Query.fails': () => Array.from({ length: 1001 }, (_, index) => new Error(`${index}`)),
    'Query.some': (_source, { count, failing }) =>
      Array.from({ length: count }, (_, index) => (index === failing ? new Error(`entry ${index}`) : {})),
    'Mutation.first': () => ({}),
    'Mutation.second': () => {
      resolved++;
      return 2;
    },
    'Item.name': () => {
      resolved++;
      return 'name';
    },
    'Item.items': async () => [{}, {}, {}],
    'Item.never': () => new Promise(() => {}),
    'Item.must': () => {
      throw new Error('must');
    },
    'Item.mustLate': async () => {
      await turn();
      throw new Error('must');
    },
  },
);

const run = async (
  text: string,
  limits: { values?: number; bytes?: number } = {},
  options: { isAbandoned?: () => boolean } = {},
) => {
  resolved = 0;
  made = 0;
  const document = parse(text);
  const operation = getOperationAST(document);
  if (!operation) throw new Error('there is no operation');
  const budget = new AnswerBudget({ values: 1000, bytes: 10_000, ...limits });
  const prepared = new PreparedOperation({ schema, document, operation });
  return execute(prepared, undefined, { coerced: {}, sources: {} }, { budget, caller: nobody, ...options });
};

const ended = { data: null, errors: [expect.any(AnswerLimitError)] };

describe('an operation', () => {
  test('a value for each field and each entry: as many as may be are answered', async () => {
    const query = '{ items(count: 4) { name } }';
    expect((await run(query, { values: 9 })).errors).toBeUndefined();
    expect(await run(query, { values: 8 })).toEqual(ended);
  });

  test.each([
    ['names and texts', '{ text(length: 92) }', 100],
    ['each character as a byte, though more stand in the JSON', '{ escaped }', 111],
    ['texts of entries, late ones too', '{ texts }', 109],
  ])('counts %s: %s takes %i bytes', async (_what, query, bytes) => {
    expect((await run(query, { bytes })).errors).toBeUndefined();
    expect(await run(query, { bytes: bytes - 1 })).toEqual(ended);
  });

  test('a list that makes its entries when they are asked for is counted before', async () => {
    expect((await run('{ lazy(count: 400) { __typename } }')).errors).toBeUndefined();
    expect(made).toBe(400);
    expect(await run('{ lazy(count: 5000) { __typename } }')).toEqual(ended);
    expect(made).toBe(0);
  });

  test('a list that does not know its length is counted as it is read, and closed where it is too long', async () => {
    expect(await run('{ endless { __typename } }', { values: 300 })).toEqual(ended);
    expect([made, closed]).toEqual([301, 1]);
  });

  test('an error shows three of the places that select its field', async () => {
    const { errors = [] } = await run(`{ items(count: 1) { ${'must '.repeat(40)} } }`);
    expect(errors.map(({ locations }) => locations)).toEqual([
      [21, 26, 31].map((column) => ({ line: 1, column })),
    ]);
  });

  test('the execution ends though something never comes', async () => {
    const query =
      '{ items(count: 1) { never { name } items { items { items { items { items { items { name } } } } } } } }';
    expect(await run(query)).toEqual(ended);
  });

  test('after a limit no further field of a mutation is begun', async () => {
    const query =
      'mutation { first { items { items { items { items { items { items { name } } } } } } } second }';
    expect(await run(query)).toEqual(ended);
    expect(resolved).toBeLessThan(1000);
    expect((await run('mutation { first { name } second }')).data).toEqual({
      first: { name: 'name' },
      second: 2,
    });
  });

  test('a thousand failures end it', async () => {
    expect(await run('{ fails }', { values: 10_000 })).toMatchObject(ended);
  });
});

test('entries that fail where null may not be count once, with the list that they take along', async () => {
  const result = await run('{ items(count: 200) { mustLate } }');
  expect(result.data).toEqual({ items: null });
  expect(result.errors).toHaveLength(1);
});

test('work for a query stops when its client has left', async () => {
  const query = '{ late(count: 200) { items { items { items { items { name } } } } } }';
  const limits = { values: 1_000_000, bytes: 1_000_000_000 };
  expect((await run(query, limits)).errors).toBeUndefined();
  expect(resolved).toBe(200 * 81);
  const left = await run(query, limits, { isAbandoned: () => true });
  expect(left).toMatchObject({ data: null, errors: [{ message: 'The client has left.' }] });
  expect(resolved).toBeLessThan(200 * 81);
});

describe('while they take long', () => {
  /** On this clock, each reading takes a millisecond, so ten readings fill a slice. */
  beforeEach(async () => {
    await idleSlices();
    let now = clock.real();
    clock.now = () => now++;
  });
  afterEach(async () => {
    await idleSlices();
    clock.now = clock.real;
  });

  test.each([1, 8])(
    '%s long queries let others in between, though all that they wait for is there',
    async (count) => {
      const limits = { values: 1_000_000, bytes: 1_000_000_000 };
      const query = '{ items(count: 300) { items { items { items { name } } } } }';
      const asked = Promise.all(Array.from({ length: count }, () => run(query, limits)));
      let turns = 0;
      let most = 0;
      let isOver = false;
      void asked.then(() => {
        isOver = true;
      });
      while (!isOver) {
        const before = resolved;
        await turn();
        turns++;
        most = Math.max(most, resolved - before);
      }
      for (const { errors } of await asked) expect(errors).toBeUndefined();
      expect(resolved).toBe(count * 300 * 27);
      expect(turns).toBeGreaterThanOrEqual(4);
      // The smallest unit of work is a list of three entries.
      expect(most).toBeLessThanOrEqual(60);
    },
  );

  test('a long list of wide entries looks at the clock after every 64 of them', async () => {
    const fields = Array.from({ length: 30 }, (_, index) => `a${index}: name`).join(' ');
    const next = clock.now;
    let before = 0;
    let most = 0;
    clock.now = () => {
      most = Math.max(most, resolved - before);
      before = resolved;
      return next();
    };
    const query = `{ items(count: 3000) { ${fields} } }`;
    const { errors } = await run(query, { values: 1_000_000, bytes: 1_000_000_000 });
    expect(errors).toBeUndefined();
    expect(resolved).toBe(3000 * 30);
    expect(most).toBe(64 * 30);
  });

  test('a list that fails while it waits is completed no further', async () => {
    const query = '{ items(count: 3000) { mustLate name } }';
    const { data, errors } = await run(query, { values: 1_000_000, bytes: 1_000_000_000 });
    expect([data, errors?.length]).toEqual([{ items: null }, 1]);
    expect(resolved).toBeLessThan(3000);
  });

  test('a list that fails after a wait is null, as if it had been completed at once', async () => {
    const query = '{ items(count: 3000) { name } some(count: 3000, failing: 2000) { name } }';
    const answer = await run(query, { values: 1_000_000, bytes: 1_000_000_000 });
    expect(answer.data?.some).toBeNull();
    expect(answer.errors).toMatchObject([{ message: 'entry 2000', path: ['some', 2000] }]);
  });

  test.each([
    ['before its first entry', '{ items(count: 3000) { name } refused(count: 90) { name } }', 90],
    [
      'before its first entry, as a promise',
      '{ items(count: 3000) { name } lateRefused(count: 90) { name } }',
      90,
    ],
    [
      'before its last',
      '{ refused(count: 900) { name } items(count: 900) { name } more: refused(count: 90) { name } }',
      101,
    ],
  ])(
    'entries that fail while their list waits %s are errors, and end no process',
    async (_when, query, shown) => {
      const unhandled: unknown[] = [];
      const note = (error: unknown) => void unhandled.push(error);
      process.on('unhandledRejection', note);
      const { errors } = await run(query, { values: 1_000_000, bytes: 1_000_000_000 });
      await turn();
      process.off('unhandledRejection', note);
      expect([unhandled, errors?.length]).toEqual([[], shown]);
    },
  );

  test('a long list waits until there is time, and no short one with it', async () => {
    // The slice of time of this iteration is used up.
    while (slices.hasTime);
    let isOver = false;
    void run('{ items(count: 2000) { name } }', { values: 10_000, bytes: 1_000_000 }).then(() => {
      isOver = true;
    });
    await Promise.resolve();
    expect(resolved).toBe(0);
    expect((await run('{ items(count: 5) { name } }')).errors).toBeUndefined();
    expect([resolved, isOver]).toEqual([5, false]);
    while (!isOver) await turn();
    expect(resolved).toBe(2005);
  });
});

test('once exceeded, whatever is spent fails', () => {
  const budget = new AnswerBudget({ values: 10, bytes: 10 });
  expect(() => budget.spend(0, 11)).toThrow(/longer than 10 bytes/);
  for (const spend of [() => budget.spend(1, 0), () => budget.spend(0, 0), () => budget.countFailure()])
    expect(spend).toThrow(/longer than 10 bytes/);
});
