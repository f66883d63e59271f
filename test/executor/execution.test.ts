import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { answerOf, prepare, schemaOf, told } from '../support/both-executors.ts';

/** When fields are resolved and how they end, beyond what differential.test.ts draws. */

describe('order', () => {
  const log: string[] = [];
  const step = async (_source: unknown, { name, fails }: { name?: string; fails?: boolean }) => {
    log.push(`${name} begins`);
    await turn();
    log.push(`${name} ends`);
    if (fails) throw new Error(`${name} fails`);
    return { name };
  };
  const schema = schemaOf(
    `type Query { step(name: String, fails: Boolean): Step now: Int! hard: Int! later: Step }
     type Mutation { step(name: String, fails: Boolean): Step must(name: String, fails: Boolean): Step! now: Int! }
     type Step { name: String below: Step }`,
    {
      'Query.step': step,
      'Query.now': () => {
        log.push('now');
        throw new Error('now fails');
      },
      'Query.hard': async () => {
        await turn();
        throw new Error('hard fails');
      },
      'Query.later': async () => {
        await turn();
        await turn();
        log.push('later');
        return { name: 'later' };
      },
      'Mutation.step': step,
      'Mutation.must': step,
      'Mutation.now': () => {
        log.push('now');
        throw new Error('now fails');
      },
      'Step.name': (source) => {
        log.push('name');
        return Reflect.get(Object(source), 'name');
      },
      'Step.below': async (source) => {
        await turn();
        log.push('below');
        return source;
      },
    },
  );
  const logOf = async (text: string) => {
    log.length = 0;
    const answer = await prepare(schema, text).run();
    // What goes on behind the answer's back shows now.
    for (let more = 0; more < 5; more++) await turn();
    const own = log.splice(0);
    return { answer, own };
  };

  test('the fields of a mutation run one after the other, each with all below it, one that fails too', async () => {
    const { answer, own } = await logOf(
      'mutation { a: step(name: "a") { below { name } } b: step(name: "b", fails: true) { name } c: step(name: "c") { name } }',
    );
    expect(own).toEqual([
      'a begins',
      'a ends',
      'below',
      'name',
      'b begins',
      'b ends',
      'c begins',
      'c ends',
      'name',
    ]);
    expect(answer.data).toEqual({ a: { below: { name: 'a' } }, b: null, c: { name: 'c' } });
  });

  test('those of a query begin together', async () => {
    const { own } = await logOf('{ a: step(name: "a") { __typename } b: step(name: "b") { __typename } }');
    expect(own).toEqual(['a begins', 'b begins', 'a ends', 'b ends']);
  });

  test.each(['now', 'must(name: "x", fails: true) { name }'])(
    'a mutation ends where null may not be: %s',
    async (field) => {
      const { answer, own } = await logOf(
        `mutation { a: step(name: "a") { name } ${field} b: step(name: "b") { name } }`,
      );
      expect(answer.data).toBeNull();
      expect(own.filter((line) => line.startsWith('b'))).toEqual([]);
      expect(own.slice(0, 3)).toEqual(['a begins', 'a ends', 'name']);
    },
  );

  test('after a failure at the root, where null may not be, nothing more is resolved', async () => {
    const atOnce = await logOf('{ now a: step(name: "a") { name } }');
    expect(atOnce.own).toEqual(['now']);
    expect(atOnce.answer.data).toBeNull();
    const later = await logOf('{ a: step(name: "a") { below { name } } hard later { name } }');
    // What had begun ends; nothing below it begins.
    expect(later.own).toEqual(['a begins', 'a ends', 'below', 'later']);
    expect(told(later.answer)).toMatchObject({
      data: 'null',
      errors: [{ message: 'hard fails', path: ['hard'] }],
    });
  });
});

describe('lists', () => {
  /** It is made when its time comes, so that nothing fails before somebody looks at it. */
  const late = async (make: () => unknown) => {
    await turn();
    const value = make();
    if (value instanceof Error) throw value;
    return value;
  };
  const failing = (message: string) => () => late(() => new Error(message));
  const schema = schemaOf(
    `type Query { items: [Item] mustItems: [Item!] grid: [[Int!]] hardGrid: [[Int!]!]! numbers: [Int] }
     type Item { name: String must: String! }`,
    {
      'Query.items': () => [
        { name: '0', must: '0' },
        late(() => ({ name: '1', must: failing('1') })),
        late(() => new Error('2')),
        { name: failing('3'), must: '3' },
        new Error('4'),
        late(() => null),
        { name: '6', must: () => late(() => '6') },
      ],
      'Query.mustItems': () => [late(() => ({ must: '0' })), late(() => ({ must: () => late(() => null) }))],
      'Query.grid': () => [
        [1, late(() => 2)],
        late(() => [late(() => 3), late(() => new Error('grid'))]),
        late(() => [4]),
      ],
      'Query.hardGrid': () => [[1], late(() => [late(() => null)])],
      'Query.numbers': () => new Set([1, late(() => 'x'), late(() => 3)]),
    },
  );

  test('have null where an entry failed, however late, and nowhere else', async () => {
    const { data, errors } = await answerOf(schema, '{ items { name must } }');
    expect(data).toEqual({
      items: [
        { name: '0', must: '0' },
        null,
        null,
        { name: null, must: '3' },
        null,
        null,
        { name: '6', must: '6' },
      ],
    });
    expect(errors?.map(({ path }) => path?.join('.')).sort()).toEqual([
      'items.1.must',
      'items.2',
      'items.3.name',
      'items.4',
    ]);
  });

  test('are null themselves where an entry must not be', async () => {
    expect((await answerOf(schema, '{ mustItems { must } }')).data).toEqual({ mustItems: null });
    expect((await answerOf(schema, '{ grid }')).data).toEqual({ grid: [[1, 2], null, [4]] });
    expect((await answerOf(schema, '{ hardGrid }')).data).toBeNull();
    expect((await answerOf(schema, '{ numbers }')).data).toEqual({ numbers: [1, null, 3] });
  });
});

test('an error keeps its extensions, its cause and its place', async () => {
  const origin = Object.assign(new Error('thrown'), { extensions: { code: 'FORBIDDEN', more: [1] } });
  const schema = schemaOf('type Query { now: Int later: Int list: [Int] }', {
    'Query.now': () => {
      throw origin;
    },
    'Query.later': async () => {
      throw origin;
    },
    'Query.list': () => [1, Promise.reject(origin), origin],
  });
  const { errors = [] } = await answerOf(schema, '{ now later list }');
  expect(errors.map(({ path }) => path?.join('.')).sort()).toEqual(['later', 'list.1', 'list.2', 'now']);
  for (const { extensions, originalError } of errors) {
    expect(extensions).toEqual({ code: 'FORBIDDEN', more: [1] });
    expect(originalError).toBe(origin);
  }
});

describe('a thenable that is no promise is waited for', () => {
  /** It has nothing but `then`, and calls back at once or later. */
  const thenable = (value: unknown, isLate = false): object => ({
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    then(resolve: (value: unknown) => unknown, reject: (error: unknown) => unknown) {
      const settle = () => (value instanceof Error ? reject(value) : resolve(value));
      return isLate ? turn().then(settle) : settle();
    },
  });
  const schema = schemaOf(
    `interface Named { name: String }
     type Item implements Named { name: String must: String! }
     type Query { text: String late: String fails: String item: Item list: [Item] names: [String!] named: Named }
     type Mutation { a: String b: String }`,
    {
      'Query.text': () => thenable('text'),
      'Query.late': () => thenable('late', true),
      'Query.fails': () => thenable(new Error('fails'), true),
      'Query.item': () => thenable({ name: thenable('item', true), must: thenable('must') }),
      'Query.list': () =>
        thenable([
          thenable({ must: thenable(new Error('must'), true) }),
          thenable({ must: 'm' }, true),
          null,
        ]),
      'Query.names': () => [thenable('a', true), thenable('b')],
      'Query.named': () => ({ name: 'named' }),
      'Mutation.a': () => thenable('a', true),
      'Mutation.b': () => thenable(new Error('b')),
    },
  );
  const named = schema.getType('Named');
  if (named && 'resolveType' in named) Object.assign(named, { resolveType: () => thenable('Item', true) });

  test('in a query: of a field, an entry, a type', async () => {
    const { data, errors } = await answerOf(
      schema,
      '{ text late fails item { name must } list { must } names named { name __typename } }',
    );
    expect(data).toEqual({
      text: 'text',
      late: 'late',
      fails: null,
      item: { name: 'item', must: 'must' },
      list: [null, { must: 'm' }, null],
      names: ['a', 'b'],
      named: { name: 'named', __typename: 'Item' },
    });
    expect(errors).toHaveLength(2);
  });

  test('in a mutation', async () => {
    const { data } = await answerOf(schema, 'mutation { a b c: a }');
    expect(data).toEqual({ a: 'a', b: null, c: 'a' });
  });
});
