import { z } from 'zod';
import { getOrMake } from '../get-or-make.ts';
import { isObject } from '../is-object.ts';
import type { Path } from './interpretations.ts';
import { isEmpty, withoutNull } from './record.ts';

/**
 * Finds those members of records that the contract does not contain. They are not read: if a bank writes
 * `swiftBic`, `swift_bic` is absent.
 */

/** Receives an unknown member. `meant`: the contract's name for it, if it differs only in spelling; otherwise null. */
type OnUnknown = (path: Path, meant: string | null) => void;

export interface Names {
  readonly known: ReadonlySet<string>;
  /** Names in records that match no name of the contract in any spelling. Bounded, because the bank chooses them. */
  readonly foreign: Set<string>;
  /** The contract's names by their folded spelling: lower case, without separators. */
  readonly folded: ReadonlyMap<string, string>;
  /** The members that are objects or lists of objects, with the names of their members. */
  readonly parts: readonly (readonly [name: string, part: Names])[];
}

const names = new WeakMap<z.ZodObject, Names>();

/** The names of a shape and its parts. A caller that checks many records of a shape should call this once. */
export const namesOf = (shape: z.ZodObject): Names =>
  getOrMake(names, shape, () => {
    const members = Object.entries<z.core.$ZodType>(shape.shape);
    return {
      known: new Set(members.map(([name]) => name)),
      foreign: new Set(),
      folded: new Map(members.map(([name]) => [fold(name), name])),
      parts: members.flatMap(([name, member]) => {
        const value = withoutNull(member);
        const part = value instanceof z.ZodArray ? value.element : value;
        return part instanceof z.ZodObject ? [[name, namesOf(part)] as const] : [];
      }),
    };
  });

const fold = (name: string) => name.replaceAll(/[-_ ]/g, '').toLowerCase();

/**
 * The maximum length of a name that is compared with the contract's, and the maximum number of names that are reported for a
 * record.
 */
const maxNameLength = 64;
const maxNames = 20;

/** Visits those members of a record, at any depth, that its shape does not have. */
export const visitUnknown = (
  shape: z.ZodObject,
  record: unknown,
  onUnknown: OnUnknown,
  path: readonly PropertyKey[] = [],
): void => visit(namesOf(shape), record, onUnknown, path);

function visit(
  { known, folded, parts }: Names,
  record: unknown,
  onUnknown: OnUnknown,
  path: readonly PropertyKey[],
): void {
  if (!isObject(record)) return;
  for (const name in record) {
    if (known.has(name)) continue;
    const meant = name.length > maxNameLength ? undefined : folded.get(fold(name));
    const isLost = meant !== undefined && isEmpty(record[meant]) && !isEmpty(record[name]);
    onUnknown([...path, name], isLost ? meant : null);
  }
  for (const [name, part] of parts) {
    const value = record[name];
    if (Array.isArray(value))
      for (const [index, entry] of value.entries()) visit(part, entry, onUnknown, [...path, name, index]);
    else if (isObject(value)) visit(part, value, onUnknown, [...path, name]);
  }
}

/**
 * Whether a valid record may have a member in another spelling. This check is cheap, because it is made for
 * every answer. Its result is nearly always false.
 */
export function mayBeMisspelled({ known, foreign, folded, parts }: Names, record: object): boolean {
  for (const name in record) {
    if (known.has(name) || foreign.has(name)) continue;
    if (name.length <= maxNameLength && folded.has(fold(name))) return true;
    if (foreign.size < maxNames) foreign.add(name);
  }
  for (const [name, part] of parts) {
    // Since the record is valid, this is an object, a list of objects, or absent.
    const value = record[name as never] as object | null | undefined;
    if (value == null) continue;
    const isFound = Array.isArray(value)
      ? value.some((entry) => mayBeMisspelled(part, entry))
      : mayBeMisspelled(part, value);
    if (isFound) return true;
  }
  return false;
}

/**
 * Finds members that the contract spells in another way, if the record lacks the member in the contract's
 * spelling. Their values would be lost.
 * Shape: the first paths, such as `swiftBic` and `location.Latitude`.
 */
export function otherSpellings(shape: z.ZodObject, record: unknown): readonly string[] {
  const found = new Set<string>();
  visitUnknown(shape, record, (path, meant) => {
    if (meant !== null && found.size < maxNames)
      found.add(path.filter((key) => typeof key !== 'number').join('.'));
  });
  return [...found];
}
