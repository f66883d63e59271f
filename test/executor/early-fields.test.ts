import { setImmediate as turn } from 'node:timers/promises';
import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { beforeEach, expect, test } from 'vitest';
import { earlyResolver, keepEarlyResults } from '../../src/executor/known-resolvers.ts';
import { argumentsOf, selectedFields, subselectionOf } from '../../src/executor/selection.ts';
import { prepare, schemaOf } from '../support/both-executors.ts';

/** Fields that are resolved before their object is read. Each is resolved once, and leaves no error if the object is null. */

const resolved: string[] = [];
beforeEach(() => void resolved.splice(0));

const note = (info: GraphQLResolveInfo) => {
  const keys: (string | number)[] = [];
  for (let at: GraphQLResolveInfo['path'] | undefined = info.path; at !== undefined; at = at.prev)
    keys.unshift(at.key);
  resolved.push(keys.join('.'));
};

/** Resolves the early fields of an item, and then reads it. */
function item(info: GraphQLResolveInfo, read: () => Promise<object | null>) {
  const type = info.schema.getType('Item');
  const early = new Map<object, unknown>();
  if (isObjectType(type))
    for (const selected of selectedFields(info, type))
      if (selected.field.name.startsWith('early')) {
        const result = Promise.resolve(
          selected.field.resolve?.(
            {},
            { ...argumentsOf(selected, info) },
            undefined,
            subselectionOf(selected, info) as GraphQLResolveInfo,
          ),
        );
        result.catch(() => {});
        early.set(selected, result);
      }
  return read().then((found) => found && keepEarlyResults(found, early));
}

const schema = schemaOf(
  'type Query { there: Item missing: Item fails: Item other: Item } type Item { early(fails: Boolean): Item earlyName: String! name: String }',
  {
    'Query.there': (_source, _args, _context, info) => item(info, async () => turn({ name: 'there' })),
    'Query.missing': (_source, _args, _context, info) => item(info, async () => turn(null)),
    'Query.fails': (_source, _args, _context, info) =>
      item(info, async () => {
        await turn();
        throw new Error('no item');
      }),
    // A plugin that replaces the object from the read with another object.
    'Query.other': async (_source, _args, _context, info) => ({
      ...(await item(info, async () => turn({ name: 'there' }))),
    }),
    'Item.early': earlyResolver(
      async (
        _source: unknown,
        { fails }: { fails?: boolean },
        _context: unknown,
        info: GraphQLResolveInfo,
      ) => {
        note(info);
        if (fails) throw new Error('early fails');
        return { name: 'early' };
      },
    ) as never,
    'Item.earlyName': earlyResolver(
      async (_source: unknown, _args: unknown, _context: unknown, info: GraphQLResolveInfo) => {
        note(info);
        return turn('name');
      },
    ) as never,
  },
);
const fields = '{ a: early { name } name b: early(fails: true) { name } earlyName }';

test('each is resolved once, and fails at its own place', async () => {
  const { data, errors } = await prepare(schema, `{ there ${fields} }`).run();
  expect(data).toEqual({ there: { a: { name: 'early' }, name: 'there', b: null, earlyName: 'name' } });
  expect(errors?.map(({ message, path }) => [message, path])).toEqual([['early fails', ['there', 'b']]]);
  expect(resolved.toSorted()).toEqual(['there.a', 'there.b', 'there.earlyName']);
});

test.each([
  ['missing', []],
  ['fails', [['no item', ['fails']]]],
])('nothing of them is shown if the object is null: %s', async (field, expected) => {
  const { data, errors = [] } = await prepare(schema, `{ ${field} ${fields} }`).run();
  expect(data).toEqual({ [field]: null });
  expect(errors.map(({ message, path }) => [message, path])).toEqual(expected);
});

test('an object that another was made of is resolved itself', async () => {
  const { data } = await prepare(schema, '{ other { a: early { name } } }').run();
  expect(data).toEqual({ other: { a: { name: 'early' } } });
  expect(resolved).toEqual(['other.a', 'other.a']);
});
