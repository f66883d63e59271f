import { z } from 'zod';
import { brokenValueIn, unwrap } from '../bank/answer.ts';
import { hash } from '../bank/credentials.ts';
import { recordFields, withoutNull } from '../contract/record.ts';
import { getOrMake } from '../get-or-make.ts';
import { listOf } from './plugin/fields.ts';

const versions = new WeakMap<object, string>();

/**
 * A fingerprint of a record as it was read; it is computed once. Two records have the same fingerprint if all members of the
 * shape are equal, in any order. A null counts as absent. Members that are not in the shape do not count.
 * Errors: BANK_BAD_RESPONSE if any part of the record breaks the contract.
 */
export const versionOf = (shape: z.ZodObject, record: object): string =>
  getOrMake(versions, record, () => {
    unwrap(brokenValueIn(record));
    // Parsing keeps only the shape's members, in the shape's order.
    const members = shape.parse(withLists(shape, record));
    return hash([JSON.stringify(members, (_key, value) => value ?? undefined)]);
  });

/** The record, with a list wherever the bank wrote the list's only entry instead. */
const withLists = (shape: z.ZodObject, record: object): object => ({
  ...record,
  ...Object.fromEntries(
    recordFields(shape).flatMap(({ rest, isOnlyEntry }) =>
      isOnlyEntry && withoutNull(shape.shape[rest]) instanceof z.ZodArray
        ? [[rest, listOf(Reflect.get(record, rest))]]
        : [],
    ),
  ),
});
