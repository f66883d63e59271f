import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import {
  argumentsOf,
  type SelectedField,
  type Selection,
  selectedFields,
  subselectionOf,
} from '../../src/executor/selection.ts';
import { answerOf, prepare, schemaOf } from '../support/both-executors.ts';

/** How what is on its way comes to its place in the answer, and what a resolver is told of its own. */

const item = () => ({ now: 'now' });
const schema = schemaOf(
  `type Query { item: Item items: [Item] }
   type Item { now: String later: String must: String! never: Item item: Item hardItem: Item! items: [Item!] }`,
  {
    'Query.item': item,
    'Query.items': () => [item(), item()],
    'Item.later': () => turn('later'),
    'Item.must': async () => {
      await turn();
      throw new Error('must');
    },
    'Item.never': () => new Promise(() => {}),
    'Item.item': item,
    'Item.hardItem': item,
    'Item.items': () => [item(), item()],
  },
);

test('a promise is waited for once, however deep below the root it stands', async () => {
  const measured = new AsyncLocalStorage<true>();
  let promises = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE' && measured.getStore()) promises++;
    },
  });
  const promisesOf = async (text: string) => {
    const { run } = prepare(schema, text);
    promises = 0;
    hook.enable();
    const { errors } = await measured.run(true, run);
    hook.disable();
    expect(errors).toBeUndefined();
    return promises;
  };
  const once = await promisesOf('{ item { later } }');
  expect(await promisesOf('{ item { item { hardItem { item { later } } } } }')).toBe(once);
  const twice = await promisesOf('{ item { later again: later } }');
  expect(await promisesOf('{ items { item { later } } }')).toBe(twice);
});

test('what fails late where null may not be takes away what stands above it, and nobody waits for the rest of that', async () => {
  const { data, errors } = await answerOf(
    schema,
    '{ item { item { hardItem { must never { now } } } later } items { now items { must never { now } } } }',
  );
  const without = { now: 'now', items: null };
  expect(data).toEqual({ item: { item: null, later: 'later' }, items: [without, without] });
  expect(errors?.map(({ path }) => path?.join('.'))).toEqual([
    'item.item.hardItem.must',
    'items.0.items.0.must',
    'items.1.items.0.must',
  ]);
});

test('a method of an object is told what a resolver is', async () => {
  const schema = schemaOf('type Query { item: Item } type Item { text(n: Int): String }', {
    'Query.item': () => ({
      text: ({ n }: { n: number }, context: unknown, { fieldName, path }: GraphQLResolveInfo) =>
        [n, context, fieldName, path.prev?.key].join(' '),
    }),
  });
  const { run, reference } = prepare(schema, '{ item { text(n: 1) } }');
  const answer = { data: { item: { text: '1 context text item' } } };
  expect(await run({}, 'context')).toEqual(answer);
  expect(await reference({}, 'context')).toEqual(answer);
});

test('a resolver that takes all by one parameter is told its info too', async () => {
  const wrapped = schemaOf('type Query { named: String all: String }', {
    'Query.named': (_source, _args, _context, { fieldName }) => fieldName,
    'Query.all': (...all) => all[3].fieldName,
  });
  expect(await answerOf(wrapped, '{ named all }')).toEqual({ data: { named: 'named', all: 'all' } });
});

test('what is prepared of a selection is the same in each execution, and its arguments are each execution’s own', async () => {
  const seen: { slot: object; fields: readonly SelectedField[]; args: unknown[]; belowThat: string[] }[] = [];
  const schema = schemaOf('type Query { item: Item } type Item { item(n: Int): Item text: String }', {
    'Query.item': (_source, _args, _context, info: Selection) => {
      const type = info.schema.getType('Item');
      if (!isObjectType(type) || !info.details) throw new Error('nothing is prepared');
      const fields = selectedFields(info, type);
      seen.push({
        slot: info.details,
        fields,
        args: fields.map((field) => argumentsOf(field, info)),
        belowThat: fields.flatMap((field) =>
          selectedFields(subselectionOf(field, info), type).map(({ name }) => name),
        ),
      });
    },
  });
  const { run } = prepare(
    schema,
    'query ($n: Int, $yes: Boolean!) { item { one: item(n: $n) { a: text b: text @include(if: $yes) } text } }',
  );
  await run({ n: 1, yes: true });
  await run({ n: 2, yes: true });
  await run({ n: 2, yes: false });
  const [first, second, third] = seen;
  expect(second?.slot).toBe(first?.slot);
  expect(second?.fields).toBe(first?.fields);
  expect(third?.slot).not.toBe(first?.slot);
  expect(seen.map(({ args }) => args)).toEqual([
    [{ n: 1 }, {}],
    [{ n: 2 }, {}],
    [{ n: 2 }, {}],
  ]);
  expect(seen.map(({ belowThat }) => belowThat.join())).toEqual(['a,b', 'a,b', 'a']);
});
