import type { z } from 'zod';
import { type Body, type Field, recordFields } from '../contract/record.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import { isObject } from '../is-object.ts';
import { changeablePart, type Values } from './plugin/fields.ts';
import { notGlobalId } from './plugin/global-id.ts';

/**
 * Makes REST bodies from the inputs of records (plugin/fields.ts).
 * Errors: BAD_USER_INPUT for a global id in place of an id of the bank, or for a list without exactly one entry where the bank
 *         takes one entry.
 */

/**
 * The body of an input: an explicit null counts as an absent member. `path` is the prefix of members' names in messages, such
 * as `to.`.
 */
export const toBody = <T extends z.ZodObject>(record: T, input: Values, path = ''): Body<T> =>
  membersOf(record, input, path, false) as Body<T>;

/** Converts an input's `changes` to changes of a body: undefined keeps a member, null clears it. */
export const toChanges = <T extends z.ZodObject>(record: T, changes: Values): Changes<Body<T>> =>
  membersOf(record, changes, 'changes.', true) as Changes<Body<T>>;

function membersOf(record: z.ZodObject, input: Values, path: string, isChange: boolean): Values {
  const members: Record<string, unknown> = {};
  for (const field of recordFields(record)) {
    const value = input[field.name];
    if (value === undefined || (value === null && !isChange)) continue;
    // A change of a part keeps the members that it does not contain; any other value is replaced as a whole.
    const isPartChange = isChange && changeablePart(field) !== null;
    members[field.rest] = value && restValue(field, value, `${path}${field.name}`, isPartChange);
  }
  return members;
}

/** The REST value for a value of an input. */
function restValue(field: Field, value: unknown, name: string, isChange: boolean): unknown {
  const { type, isOnlyEntry, isOwnId, holdsIds, listOf } = field;
  if (isOnlyEntry) return onlyEntry(value, name);
  if (listOf !== undefined) return textOfParts(value as readonly string[], name);
  if (Array.isArray(value) && typeof type === 'object')
    return value.map((entry, index) => membersOf(type, entry, `${name}.${index}.`, isChange));
  if (typeof type === 'object') return membersOf(type, value as Values, `${name}.`, isChange);
  if (isOwnId || holdsIds) for (const id of [value].flat()) notGlobalId(name, String(id));
  return value;
}

/**
 * Joins the entries of a list to one text. Errors: BAD_USER_INPUT for an entry that would be read back as no
 * entry or as several.
 */
function textOfParts(entries: readonly string[], name: string): string {
  if (entries.some((entry) => entry.trim() === '' || entry.includes(',')))
    throw badUserInput(`An entry of ${name} cannot be empty or contain a comma.`, name);
  return entries.map((entry) => entry.trim()).join(',');
}

function onlyEntry(value: unknown, name: string): string {
  const [entry, ...others]: unknown[] = Array.isArray(value) ? value : [];
  if (typeof entry !== 'string' || others.length > 0)
    throw badUserInput(`${name} takes one bank here, since the bank's PUT does.`, name);
  return notGlobalId(name, entry);
}

/**
 * Finds out whether the changes clear a member of the body, given by its path in REST. Returns the path of the null in the
 * changes, such as `balance.amount`; null if the changes do not clear the member.
 */
export function clearedBy(
  record: z.ZodObject,
  changes: unknown,
  [rest, ...below]: readonly string[],
): string | null {
  const field = recordFields(record).find((each) => each.rest === rest);
  if (field === undefined || !isObject(changes)) return null;
  const { name, type } = field;
  const change = changes[name];
  if (below.length === 0) return change === null ? name : null;
  const path = typeof type === 'object' ? clearedBy(type, change, below) : null;
  return path && `${name}.${path}`;
}

/** The present members of an input: an explicit null counts as absent. */
export function omitNullish<T extends object>(input: T) {
  const present: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) if (value != null) present[name] = value;
  return present as { [K in keyof T]: Exclude<T[K], null> };
}
