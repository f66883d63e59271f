import { setImmediate as turn } from 'node:timers/promises';
import { getOperationAST, parse } from 'graphql';
import { beforeEach, expect, test } from 'vitest';
import { PreparedOperation } from '../../src/executor/compile.ts';
import { executeIncrementally, Fragments, type IncrementalForm } from '../../src/executor/defer.ts';
import { schemaOf } from '../support/both-executors.ts';
import { mergedData } from '../support/incremental-client.ts';

/**
 * Fragments with @defer, beyond the comparisons of same-as-graphql.test.ts: which fields are executed, when, and in which result
 * they are delivered.
 */

const resolved: string[] = [];
beforeEach(() => void resolved.splice(0));
const noting =
  <T>(name: string, resolve: () => T) =>
  () => {
    resolved.push(name);
    return resolve();
  };

const schema = schemaOf(
  `directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
   type Query { item: Item hard: Item! }
   type Mutation { first: Item second: Item }
   type Item { name: String slow: String item: Item later: Item must: String! }`,
  {
    'Query.item': noting('item', () => ({})),
    'Query.hard': noting('hard', () => ({})),
    'Mutation.first': noting('first', async () => turn({})),
    'Mutation.second': noting('second', async () => turn({})),
    'Item.name': noting('name', () => 'name'),
    'Item.slow': noting('slow', async () => turn('slow')),
    'Item.item': noting('below', () => ({})),
    'Item.later': noting('later', async () => turn({})),
    'Item.must': noting('must', () => {
      throw new Error('must fails');
    }),
  },
);

async function resultsOf(text: string, form: IncrementalForm = 'v0.2'): Promise<object[]> {
  const document = parse(text);
  const operation = getOperationAST(document);
  if (!operation) throw new Error('there is no operation');
  const prepared = new PreparedOperation({ schema, document, operation });
  const result = await executeIncrementally(prepared, form, undefined, { coerced: {}, sources: {} });
  if (!(result instanceof Fragments)) return [result];
  const results: object[] = [];
  for await (const next of result.results) results.push(next);
  return results;
}

const twice = '{ item { name item { name } ... @defer(label: "L") { name slow item { name slow } } } }';

test('a field that the object has without the fragment is not executed again, nor delivered again', async () => {
  expect(await resultsOf(twice)).toEqual([
    {
      data: { item: { name: 'name', item: { name: 'name', slow: 'slow' } } },
      pending: [{ id: '0', path: ['item'], label: 'L' }],
      hasNext: true,
    },
    { incremental: [{ id: '0', data: { slow: 'slow' } }], completed: [{ id: '0' }], hasNext: false },
  ]);
  expect(resolved.toSorted()).toEqual(['below', 'item', 'name', 'name', 'slow', 'slow']);
});

test('in the form of 2022 each fragment has all its fields, and none is executed again', async () => {
  const [, second] = await resultsOf(twice, '20220824');
  const data = { name: 'name', slow: 'slow', item: { name: 'name', slow: 'slow' } };
  expect(second).toEqual({ incremental: [{ path: ['item'], label: 'L', data }], hasNext: false });
  expect(resolved).toHaveLength(6);
});

test('a fragment in a fragment is announced with its outer fragment', async () => {
  const results = await resultsOf(
    '{ item { name ... @defer { slow item { ... @defer(label: "in") { slow } } } } }',
  );
  expect(results[0]).toEqual({
    data: { item: { name: 'name' } },
    pending: [{ id: '0', path: ['item'] }],
    hasNext: true,
  });
  const announcing = {
    pending: [{ id: '1', path: ['item', 'item'], label: 'in' }],
    completed: [{ id: '0' }],
  };
  expect(results[1]).toMatchObject({
    ...announcing,
    completed: expect.arrayContaining(announcing.completed),
  });
  expect(mergedData(results)).toEqual({ item: { name: 'name', slow: 'slow', item: { slow: 'slow' } } });
});

test('fragments of a mutation begin when all its fields have been written', async () => {
  const results = await resultsOf(
    'mutation { first { ... @defer { name } } second { ... @defer { slow } } }',
  );
  expect(resolved).toEqual(['first', 'second', 'name', 'slow']);
  expect(results[0]).toMatchObject({ data: { first: {}, second: {} }, hasNext: true });
});

test('fragments of an object that is null are not delivered', async () => {
  const [only, ...more] = await resultsOf(
    '{ item { must ... @defer { slow } item { ... @defer { slow } } } }',
  );
  expect([only, more]).toMatchObject([{ data: { item: null }, errors: [{ message: 'must fails' }] }, []]);
  expect(only).not.toHaveProperty('hasNext');
});

test('fragments in one that fails are not pending any more', async () => {
  const within = Array.from({ length: 98 }, (_, index) => `i${index}: item { ... @defer { name } }`);
  const results = await resultsOf(
    `{ item { ... @defer { ${within.join(' ')} must } ... @defer { later { ... @defer { name } ... @defer { slow } } } } }`,
  );
  expect(results.flatMap((result) => ('incremental' in result ? result.incremental : []))).toContainEqual({
    id: '1',
    data: { later: {} },
  });
});
