import { z } from 'zod';
import { getOrMake } from '../get-or-make.ts';
import { isObject } from '../is-object.ts';
import { metaOf } from './record.ts';

/**
 * How values that deviate from the specification are understood. docs/real-banks.md lists the known deviations. A schema's
 * metadata (`interpret`) converts other forms of its value. A record that matches its schema is never interpreted
 * (validators.generated.ts recognizes it). In other records, `interpretRecord` replaces each deviating value by its meaning.
 */

/**
 * Converts a value that does not match its schema into a value that does, or into null for an absent value. Undefined if the
 * value has no meaning, or several.
 */
export type Interpret = (value: unknown) => unknown;

/** The position of a value in an answer: names of the contract, and indexes of lists. */
export type Path = readonly PropertyKey[];

/** Receives the places where a record breaks its shape. */
export interface RecordObserver {
  /** The value deviates, but has a meaning. */
  onDrift(path: Path, expected: string): void;
  /** The value has no meaning. Returns its replacement. */
  onViolation(path: Path, expected: string, message: string): unknown;
}

/** The objects that banks sent instead of ids, by the record that contains the id. */
const namedObjects = new WeakMap<object, Map<string, Readonly<Record<string, unknown>>>>();

/** The object that the bank sent instead of an id of a record; undefined if it sent the id. */
export const namedObject = (record: object, field: string): Readonly<Record<string, unknown>> | undefined =>
  namedObjects.get(record)?.get(field);

/**
 * Whether a value in place of an object means an empty object. PHP writes an empty object as `[]`, and converters from XML write
 * it as `""`.
 */
export const isNothing = (value: unknown): boolean =>
  value === '' || (Array.isArray(value) && value.length === 0);

/** The position of the value that is read, and the observer. */
interface Reading {
  readonly path: PropertyKey[];
  readonly observer: RecordObserver;
}

/** Returns the meaning of a value that is read with a shape. */
type Read = (value: unknown, reading: Reading) => unknown;

/**
 * In a record that does not match its shape, replaces each deviating value by its meaning, in place.
 * Errors: those of the observer.
 */
export const interpretRecord = (
  shape: z.core.$ZodType,
  record: unknown,
  place: Path,
  observer: RecordObserver,
): unknown => readerOf(shape)(record, { path: [...place], observer });

const readers = new WeakMap<z.core.$ZodType, Read>();

const readerOf = (shape: z.core.$ZodType): Read => getOrMake(readers, shape, createReader);

/** Creates the reader of a shape. To inspect a zod shape takes longer than to check a value, so each shape is inspected once. */
function createReader(shape: z.core.$ZodType): Read {
  if (shape instanceof z.ZodOptional) {
    const read = readerOf(shape.def.innerType);
    return (value, reading) => (value === undefined ? value : read(value, reading));
  }
  if (shape instanceof z.ZodNullable) {
    const read = readerOf(shape.def.innerType);
    const { type } = shape.def.innerType._zod.def;
    if (type !== 'object' && type !== 'array')
      return (value, reading) => (value === null ? value : read(value, reading));
    return (value, reading) => {
      if (value === null) return null;
      if (!isNothing(value) || (type === 'array' && value !== '')) return read(value, reading);
      reading.observer.onDrift([...reading.path], type);
      return null;
    };
  }
  const readBroken = createBrokenReader(shape);
  if (shape instanceof z.ZodObject) {
    const fields = Object.entries<z.core.$ZodType>(shape.shape).map(
      ([key, field]) => [key, readerOf(field)] as const,
    );
    return (value, reading) => {
      if (!isObject(value)) return readBroken(value, reading);
      for (const [key, read] of fields) readMember(value, key, read, reading);
      return value;
    };
  }
  if (shape instanceof z.ZodArray) {
    const read = readerOf(shape.element);
    return (value, reading) => {
      if (!Array.isArray(value)) return readBroken(value, reading);
      for (const index of value.keys()) readMember(value, index, read, reading);
      return value;
    };
  }
  const isText = shape instanceof z.ZodString && (shape.def.checks ?? []).length === 0;
  const isValid = isText
    ? (value: unknown) => typeof value === 'string'
    : (value: unknown) => z.core.safeParse(shape, value).success;
  return (value, reading) => (isValid(value) ? value : readBroken(value, reading));
}

/** Creates the reader for values that themselves break the shape, and not only in one of their members. */
function createBrokenReader(shape: z.core.$ZodType): Read {
  const { interpret } = metaOf(shape);
  const { type } = shape._zod.def;
  const wordsFor = (value: unknown) => z.core.safeParse(shape, value).error?.issues[0]?.message ?? '';
  return (value, { path, observer }) => {
    const meant = interpret?.(value);
    // The type is checked here, because zod's own message would take longer to create than everything else in
    // this function.
    const isOfType = typeof value === 'string' && type === 'string';
    const message = meant === undefined || isOfType ? wordsFor(value) : '';
    // The contract's own messages begin with "not", which is removed.
    const expected = isOfType ? message.replace(/^not /, '') : type;
    if (meant === undefined) return observer.onViolation([...path], expected, message);
    observer.onDrift([...path], expected);
    return meant;
  };
}

function readMember(parent: object, key: string | number, read: Read, reading: Reading): void {
  const found: unknown = Reflect.get(parent, key);
  reading.path.push(key);
  const meant = read(found, reading);
  reading.path.pop();
  if (meant === found) return;
  Reflect.set(parent, key, meant);
  if (typeof meant === 'string' && isObject(found))
    getOrMake(namedObjects, parent, () => new Map()).set(String(key), found);
}
