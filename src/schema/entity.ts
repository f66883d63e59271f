import { z } from 'zod';
import { badUserInput } from '../errors.ts';
import { decodeGlobalId, encodeGlobalId } from './global-id.ts';

/**
 * The entities of a federated graph: types that another subgraph can name by a key. Each node has the key `id`; those
 * that the bank's ids name have them as a key too, in the order in which a global id has them (node-lookups/).
 */
export const entityKeys: Readonly<Record<string, readonly string[] | null>> = {
  Account: ['bankId', 'accountId', 'viewId'],
  Bank: ['bankId'],
  Branch: ['bankId', 'branchId'],
  Customer: ['bankId', 'customerId'],
  MetadataEntry: null,
  OtherAccount: ['bankId', 'accountId', 'viewId', 'otherAccountId'],
  Payment: null,
  Product: ['bankId', 'productId'],
  Transaction: ['bankId', 'accountId', 'viewId', 'transactionId'],
  TransactionRequest: null,
};

const representation = z.looseObject({ __typename: z.string() });

/**
 * The global id of what a representation names: `{ __typename, id }`, or `__typename` with the bank's ids.
 * Errors: BAD_USER_INPUT, which says what a representation of the type needs.
 */
export function globalIdOf(value: unknown): string {
  const { data } = representation.safeParse(value);
  if (data === undefined) throw badUserInput('A representation is an object with __typename and a key.');
  const { __typename: typename, id } = data;
  if (!Object.hasOwn(entityKeys, typename))
    throw badUserInput(`${JSON.stringify(typename.slice(0, 100))} is no entity of this subgraph.`);
  if (typeof id === 'string') {
    if (decodeGlobalId(id).typename !== typename)
      throw badUserInput(`The id of a representation is that of another type than ${typename}.`);
    return id;
  }
  const names = entityKeys[typename] ?? null;
  const values = names?.map((name) => data[name]) ?? [];
  if (names === null || !values.every((each) => typeof each === 'string')) {
    const key = names === null ? 'id' : `id, or ${names.join(', ')}`;
    throw badUserInput(`A representation of ${typename} needs its key: ${key}.`);
  }
  return encodeGlobalId(typename, JSON.stringify(values));
}
