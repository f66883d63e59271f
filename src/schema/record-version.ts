import type { z } from 'zod';
import { brokenValueIn, unwrap } from '../bank/answer.ts';
import { hash } from '../bank/credentials.ts';
import { recordOf } from './plugin/link.ts';
import type { NodeRef } from './plugin/node.ts';

/**
 * A fingerprint of a record as it was read. Two records have the same one if all members in the shape are equal, in
 * whatever order they came; a null counts as absent, and members that are not in the shape do not count.
 * Errors: BANK_BAD_RESPONSE if any part of the record breaks the contract.
 */
export function versionOf(shape: z.ZodObject, record: object): string {
  unwrap(brokenValueIn(record));
  // Parsing keeps only the shape's members, in the shape's order.
  return hash([JSON.stringify(shape.parse(record), (_key, value) => value ?? undefined)]);
}

/** The options of the field `version` of a record's type. */
export const versionField = <Item extends object>(
  shape: z.ZodObject,
  version = (record: Item) => versionOf(shape, record),
) => ({
  description: 'Opaque; changes with every field of the record. For `ifVersion`.',
  resolve: (node: NodeRef<object, Item>) => version(recordOf(node)),
});
