import { z } from 'zod';
import { isObject } from '../is-object.ts';
import { exactNumber } from './exact-json.ts';
import { isEmpty } from './record.ts';

/** Changes of a request body: undefined keeps a member, null removes it, and an object changes the members that it contains. */
export type Changes<Body> = {
  readonly [Key in keyof Body]?:
    | (NonNullable<Body[Key]> extends readonly unknown[]
        ? Body[Key]
        : NonNullable<Body[Key]> extends object
          ? Changes<NonNullable<Body[Key]>>
          : Body[Key])
    | null
    | undefined;
};

/** Whether changes have no effect, such as `{ address: {} }`. */
export const changesNothing = (changes: unknown): boolean =>
  isObject(changes) && Object.values(changes).every(changesNothing);

type Values = Readonly<Record<string, unknown>>;

/** Creates the error for a member that the body requires, and that is missing in the record and in the changes. */
type Missing = (path: string) => Error;

/**
 * The request body that writes a record back with changes.
 *
 * The body contains those members of the record that the bank accepts, as they were read: numbers keep their digits if the
 * record was parsed with `keepDigits`. A null in the record counts as absent, as in all answers. Members that the body's shape
 * does not have are dropped, since requests may not contain them. The record must match its own shape.
 * Errors: the error of `missing`.
 */
export function updatedBody<T extends z.ZodObject>(
  shape: T,
  record: Values,
  changes: Changes<z.infer<T>>,
  missing: Missing,
): z.infer<T> {
  return membersOf(shape, record, changes, '', missing) as z.infer<T>;
}

function membersOf(
  shape: z.ZodObject,
  record: Values,
  changes: Values,
  path: string,
  missing: Missing,
): object {
  const body: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(shape.def.shape)) {
    const place = `${path}${key}`;
    const isOptional = member instanceof z.ZodOptional;
    const required = isOptional ? member.def.innerType : member;
    const value = memberOf(required, record, changes, key, `${place}.`, missing);
    if (value !== undefined) body[key] = value;
    else if (!isOptional) throw missing(place);
  }
  return body;
}

function memberOf(
  shape: z.core.$ZodType,
  record: Values,
  changes: Values,
  key: string,
  path: string,
  missing: Missing,
): unknown {
  const change = changes[key];
  const current = record[key] ?? undefined;
  if (change === null) return undefined;
  if (shape instanceof z.ZodObject) {
    // An absent object stays absent if the changes only keep or remove its members.
    if (current === undefined && Object.values(Object(change)).every((value) => value == null))
      return undefined;
    return membersOf(shape, Object(current), Object(change), path, missing);
  }
  if (change !== undefined) return change;
  if (shape instanceof z.ZodArray && Array.isArray(current)) {
    const entry = shape.def.element;
    return entry instanceof z.ZodObject
      ? current.map((value, index) => membersOf(entry, Object(value), {}, `${path}${index}.`, missing))
      : current;
  }
  return typeof current === 'number' ? exactNumber(record, key) : current;
}

/**
 * Whether the answer to a write lacks a value that the record has. Such an answer must not be shown as the record: clients
 * would store nulls, and a version that the record never had.
 */
export function leavesOut(answer: unknown, known: unknown): boolean {
  // A value that does not match the contract counts as present: it is an Error.
  if (answer instanceof Error) return false;
  if (isObject(known) && !JSON.isRawJSON(known))
    return Object.entries(known).some(([name, value]) => leavesOut(Object(answer)[name], value));
  return !isEmpty(known) && (answer === undefined || answer === null);
}
