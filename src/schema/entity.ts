import { z } from 'zod';
import { badUserInput } from '../errors.ts';
import { decodeGlobalId, encodeGlobalId } from './global-id.ts';
import { nodeTypes } from './node.ts';

/**
 * The keys of the entities of a federated graph, which another subgraph can name: each node has the key `id`, and those
 * that the bank's ids name have them as a key too.
 */
export const entityKeys = (): Readonly<Record<string, readonly string[] | null>> => ({
  ...Object.fromEntries([...nodeTypes].map(([name, { entityKey }]) => [name, entityKey])),
  Payment: null,
});

const representation = z.looseObject({ __typename: z.string() });

/**
 * The global id of what a representation names: `{ __typename, id }`, or `__typename` with the bank's ids.
 * Errors: BAD_USER_INPUT, which says what a representation of the type needs.
 */
export function globalIdOf(value: unknown): string {
  const { data } = representation.safeParse(value);
  if (data === undefined) throw badUserInput('A representation is an object with __typename and a key.');
  const { __typename: typename, id } = data;
  if (!Object.hasOwn(entityKeys(), typename))
    throw badUserInput(`${JSON.stringify(typename.slice(0, 100))} is no entity of this subgraph.`);
  if (typeof id === 'string') {
    if (decodeGlobalId(id).typename !== typename)
      throw badUserInput(`The id of a representation is that of another type than ${typename}.`);
    return id;
  }
  const names = entityKeys()[typename] ?? null;
  const values = names?.map((name) => data[name]) ?? [];
  if (names === null || !values.every((each) => typeof each === 'string')) {
    const key = names === null ? 'id' : `id, or ${names.join(', ')}`;
    throw badUserInput(`A representation of ${typename} needs its key: ${key}.`);
  }
  return encodeGlobalId(typename, JSON.stringify(values));
}
