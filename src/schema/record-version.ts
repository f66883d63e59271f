import type { z } from 'zod';
import { brokenValueIn, unwrap } from '../bank/answer.ts';
import { hash } from '../bank/credentials.ts';

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
