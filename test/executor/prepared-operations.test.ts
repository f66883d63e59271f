import { setImmediate as turn } from 'node:timers/promises';
import type { ExecutionResult, GraphQLResolveInfo, GraphQLSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { selectedFields } from '../../src/executor/selection.ts';
import { prepare, schemaOf, told } from '../support/both-executors.ts';
import { keptMegabytes } from '../support/memory.ts';

/** Operations that are prepared once and executed many times: cases that same-as-graphql.test.ts does not generate or compare. */

const messagesOf = ({ errors = [] }: ExecutionResult) => errors.map(({ message }) => message);

describe('what a plan does not do, graphql’s own executor does', () => {
  const schema = schemaOf(
    `type Query { text: String again: Query }
     type Subscription { text: String }`,
    { 'Query.text': () => 'text', 'Query.again': () => ({}) },
  );

  test('an alias that would set an object’s prototype', async () => {
    const { run, reference } = prepare(
      schema,
      '{ again { __proto__: again { text } text } __proto__: text }',
    );
    const answer = await run();
    expect(told(answer)).toEqual(told(await reference()));
    expect(JSON.stringify(answer.data)).toBe(
      '{"again":{"__proto__":{"text":"text"},"text":"text"},"__proto__":"text"}',
    );
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  test('a condition that is null: the same error, and the plan is there for the next request', async () => {
    const { run, reference } = prepare(
      schema,
      'query ($yes: Boolean = true) { text @include(if: $yes) again { text } }',
    );
    expect(await run()).toEqual({ data: { text: 'text', again: { text: 'text' } } });
    const answer = await run({ yes: null });
    expect(told(answer)).toEqual(told(await reference({ yes: null })));
    expect(messagesOf(answer)).toEqual([expect.stringContaining('"@include(if:)"')]);
    expect(await run({ yes: false })).toEqual({ data: { again: { text: 'text' } } });
  });

  test('a condition that is null below a list is compiled once for all entries', async () => {
    const list = schemaOf('type Query { items: [Item] } type Item { text: String }', {
      'Query.items': () => [{}, {}],
    });
    const { run } = prepare(list, 'query ($yes: Boolean = true) { items { text @include(if: $yes) } }');
    const { errors = [] } = await run({ yes: null });
    expect(errors.map(({ path }) => path)).toEqual([
      ['items', 0],
      ['items', 1],
    ]);
    expect(errors[0]?.originalError ?? null).not.toBeNull();
    expect(errors[1]?.originalError).toBe(errors[0]?.originalError);
  });

  test('a method of the object is called, with the arguments that the default resolver gives it', async () => {
    const methods = schemaOf(
      'type Query { item: Item } type Item { plain: String given(n: Int): String fails: String later: [Int] }',
      {
        'Query.item': () => ({
          text: 'own',
          plain(this: { text: string }) {
            return this.text;
          },
          given: (args: { n: number }, context: unknown, info: GraphQLResolveInfo) =>
            `${args.n} ${context} ${info.fieldName}`,
          fails() {
            throw new Error('fails');
          },
          later: async () => [1, turn(2)],
        }),
      },
    );
    const { run, reference } = prepare(methods, '{ item { plain given(n: 3) fails later } }');
    const answer = await run({}, 'context');
    expect(told(answer)).toEqual(told(await reference({}, 'context')));
    expect(answer.data).toEqual({
      item: { plain: 'own', given: '3 context given', fails: null, later: [1, 2] },
    });
  });

  test('@defer is ignored: the answer is complete', async () => {
    const incremental = schemaOf(
      `directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
       type Query { text: String texts: [String!] }`,
      { 'Query.text': () => 'late', 'Query.texts': () => ['a', 'b'] },
    );
    const { run } = prepare(incremental, '{ texts ...F } fragment F on Query { ... @defer { text } }');
    expect(await run()).toEqual({ data: { texts: ['a', 'b'], text: 'late' } });
  });
});

test('eight combinations of conditions are compiled once each, however they take turns', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const schema = schemaOf('type Query { text: String }', { 'Query.text': () => 'text' });
  let compiled = 0;
  const counting: GraphQLSchema = Object.create(schema, {
    getField: {
      value: (...args: Parameters<GraphQLSchema['getField']>) => {
        compiled++;
        return schema.getField(...args);
      },
    },
  });
  const { run } = prepare(
    counting,
    `query (${names.map((name) => `$${name}: Boolean!`).join(' ')}) { __typename ${names.map((name) => `${name}: text @include(if: $${name})`).join(' ')} }`,
  );
  const combination = (bits: number) =>
    Object.fromEntries(names.map((name, index) => [name, (bits & (1 << index)) > 0]));
  const compilesFor = async (bits: number) => {
    compiled = 0;
    await run(combination(bits));
    return compiled > 0;
  };
  for (let bits = 0; bits < 8; bits++) expect(await compilesFor(bits)).toBe(true);
  for (let round = 0; round < 3; round++)
    for (let bits = 0; bits < 8; bits++) expect(await compilesFor(bits)).toBe(false);
  // A ninth plan replaces the least recently used one.
  expect(await compilesFor(0)).toBe(false);
  expect(await compilesFor(8)).toBe(true);
  expect(await compilesFor(0)).toBe(false);
  expect(await compilesFor(1)).toBe(true);
});

describe('arguments', () => {
  const given: Record<string, unknown>[] = [];
  const schema = schemaOf(
    `input In { texts: [String!]! = ["a"], in: In, n: Int = 7 }
     type Query { items: [Item!]! echo(in: In, n: Int = 3): String }
     type Item { echo(in: In, n: Int = 3): String plain: String }`,
    {
      'Query.items': () => [{}, {}],
      'Query.echo': (_source, args) => void given.push(args),
      'Item.echo': (_source, args) => void given.push(args),
      'Item.plain': (_source, args) => void given.push(args),
    },
  );
  const givenBy = async (text: string, times: readonly Readonly<Record<string, unknown>>[]) => {
    given.length = 0;
    const { run } = prepare(schema, text);
    const rounds = [];
    for (const raw of times) {
      await run(raw);
      rounds.push(given.splice(0));
    }
    return rounds;
  };

  test.each([
    ['in their place', 'query ($n: Int) { echo(n: $n) items { echo(n: $n) } }'],
    ['in an object', 'query ($n: Int) { echo(in: { n: $n }) items { echo(in: { n: $n }) } }'],
    [
      'in a list',
      'query ($t: String! = "x") { echo(in: { texts: ["b", $t] }) items { echo(in: { texts: [$t] }) } }',
    ],
    ['that are absent', 'query ($n: Int) { echo(n: $n, in: { in: { n: $n } }) items { echo(n: $n) } }'],
  ])('are made for each execution, with variables %s', async (_where, text) => {
    const rounds = await givenBy(text, [{ n: 1 }, { n: 2 }, { n: 1 }, {}]);
    const objects = rounds.map((round) => new Set(round));
    for (const [at, own] of objects.entries())
      for (const other of objects.slice(at + 1))
        expect([...own].filter((args) => other.has(args))).toEqual([]);
    expect(rounds[2]).toEqual(rounds[0]);
    // In each round, the two records of the list receive the same object.
    for (const [at, own] of objects.entries()) expect(own.size).toBe((rounds[at]?.length ?? 0) - 1);
  });

  test('of the first request are not kept by the plan that it made', async () => {
    const { run } = prepare(
      schema,
      'query ($in: In, $yes: Boolean!) { echo(in: $in) @include(if: $yes) items { plain } }',
    );
    const runFirst = async () => {
      given.length = 0;
      await run({ in: { texts: ['private'] }, yes: true });
      const [args] = given.splice(0);
      expect(args).toMatchObject({ in: { texts: ['private'] } });
      return new WeakRef(Object(Reflect.get(Object(args), 'in')));
    };
    const input = await runFirst();
    await run({ yes: true });
    given.length = 0;
    await keptMegabytes();
    expect(input.deref()).toBeUndefined();
    await run({ yes: true });
  });

  test('are each call’s own where a resolver could change them', async () => {
    const lists = schemaOf('type Query { pushed(list: [String!]): Int }', {
      'Query.pushed': (_source, { list }: { list: string[] }) => list.push('b'),
    });
    const { run } = prepare(lists, '{ pushed(list: "a") }');
    for (let round = 0; round < 2; round++) expect(await run()).toEqual({ data: { pushed: 2 } });
  });

  test('are each field’s own', async () => {
    const text = 'query ($n: Int) { a: echo(n: $n) b: echo(in: { n: $n }) items { echo(n: $n, in: {}) } }';
    const [round] = await givenBy(text, [{ n: 1 }]);
    const given = { n: 1, in: { n: 7, texts: ['a'] } };
    expect(round).toEqual([{ n: 1 }, { n: 3, in: { n: 1, texts: ['a'] } }, given, given]);
  });
});

describe('one plan, run many times at once', () => {
  const schema = schemaOf(
    `type Query { who(n: Int): String item: Item items: [Item] must: String! }
     type Item { who(n: Int): String selected: [String!] items: [Item] }`,
    {
      'Query.who': async (_source, { n }, context) => {
        await turn();
        return `${context} ${n}`;
      },
      'Query.item': async () => ({}),
      'Query.items': async () => [turn().then(() => ({})), {}],
      'Query.must': async (_source, _args, context) => {
        await turn();
        if (String(context).endsWith('3')) throw new Error(`for ${context}`);
        return String(context);
      },
      'Item.who': async (_source, { n }, context) => {
        await turn();
        return `${context} ${n}`;
      },
      'Item.items': () => [{}, turn().then(() => ({}))],
      'Item.selected': (_source, _args, _context, info) =>
        selectedFields({ ...infoOf(info), fieldNodes: info.fieldNodes }, info.parentType).map(
          ({ name }) => name,
        ),
    },
  );
  /** The part of `info` that look-ahead uses. */
  const infoOf = ({ schema, fragments, variableValues }: GraphQLResolveInfo) => ({
    schema,
    fragments,
    variableValues,
  });

  test('leaves out what each execution’s own variables say', async () => {
    const { run, reference } = prepare(
      schema,
      `query ($a: Boolean!, $b: Boolean! = true, $n: Int) {
        who(n: $n) @skip(if: $a)
        item @include(if: $b) { ...F }
        items { ...F @include(if: $a) __typename }
      }
      fragment F on Item { a: who(n: $n) @include(if: $a) b: who(n: 0) @skip(if: $b) items { who(n: $n) @skip(if: $a) id: __typename } }`,
    );
    const turns = Array.from({ length: 200 }, (_, n) => ({ a: n % 2 === 0, b: n % 3 === 0, n }));
    const answers = await Promise.all(turns.map((raw) => run(raw, `caller ${raw.n}`)));
    const expected = await Promise.all(turns.map((raw) => reference(raw, `caller ${raw.n}`)));
    expect(answers.map(told)).toEqual(expected.map(told));
    expect(new Set(answers.map((answer) => told(answer).data)).size).toBe(200);
  });

  test('gives each execution its own context, arguments and errors', async () => {
    const { run } = prepare(schema, 'query ($n: Int) { must items { who(n: $n) items { who(n: $n) } } }');
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => run({ n }, `caller ${n}`)));
    for (const [n, { data, errors }] of answers.entries()) {
      if (String(n).endsWith('3')) {
        expect({ data, messages: errors?.map(({ message }) => message) }).toEqual({
          data: null,
          messages: [`for caller ${n}`],
        });
        continue;
      }
      expect(errors).toBeUndefined();
      const who = `caller ${n} ${n}`;
      const item = { who, items: [{ who }, { who }] };
      expect(data).toEqual({ must: `caller ${n}`, items: [item, item] });
    }
  });
});
