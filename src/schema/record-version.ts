import type { z } from 'zod';
import { hash } from '../bank/credentials.ts';

export const versionDescription =
  'A fingerprint of the record as it was read; opaque, and another one as soon as any of the fields from the bank is another. Give it to `ifVersion`.';

/**
 * A fingerprint of a record as it was read. Two records have the same one if all members in the shape are equal, in
 * whatever order they came; a null counts as absent, and members that are not in the shape do not count.
 * Errors: BANK_BAD_RESPONSE if any part of the record breaks the contract.
 */
export function recordVersion(shape: z.ZodObject, record: object): string {
  requireWhole(record);
  // Parsing keeps only the shape's members, in the shape's order.
  return hash([JSON.stringify(shape.parse(record), (_key, value) => value ?? undefined)]);
}

/** Errors: the BANK_BAD_RESPONSE that stands in for a value anywhere in the record. */
export function requireWhole(value: unknown): void {
  if (value instanceof Error) throw value;
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) requireWhole(member);
}
