import type { z } from 'zod';
import { hash } from '../bank/credentials.ts';

export const versionDescription =
  'A fingerprint of the record as it was read; opaque, and another one as soon as any of the fields from the bank is another. Give it to `ifVersion`.';

/**
 * A fingerprint of a record as it was read. Two records have the same where all members that the shape knows are the
 * same, in whatever order they came; a null is an absent member, and members that the shape does not know count nothing.
 * Errors: BANK_BAD_RESPONSE, where the bank broke the contract anywhere in the record.
 */
export function recordVersion(shape: z.ZodObject, record: object): string {
  requireWhole(record);
  // Parsing leaves the shape's members alone, in the shape's order.
  return hash([JSON.stringify(shape.parse(record), (_key, value) => value ?? undefined)]);
}

/** Errors: the BANK_BAD_RESPONSE that stands in a value's place, anywhere in the record. */
export function requireWhole(value: unknown): void {
  if (value instanceof Error) throw value;
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) requireWhole(member);
}
