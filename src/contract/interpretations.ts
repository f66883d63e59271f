import { z } from 'zod';
import { isObject } from '../is-object.ts';
import { jsonNumber } from './exact-json.ts';

/**
 * How banks deviate from the specification, and what they mean: the table in docs/real-banks.md.
 *
 * A schema declares with `tolerant` how else its value may be written. A record that matches its schema is never
 * interpreted (validators.generated.ts recognizes it); in others, `interpretRecord` replaces what deviates by its meaning.
 */

/**
 * The meaning of a value that does not match its schema: a value that does, or null for an absent one; undefined if it
 * has no meaning, or more than one.
 */
export type Interpret = (value: unknown) => unknown;

const interpretations = new WeakMap<z.core.$ZodType, Interpret>();

/** The schema, whose values may also be written in the forms that `interpret` understands. */
export function tolerant<T extends z.core.$ZodType>(schema: T, interpret: Interpret): T {
  interpretations.set(schema, interpret);
  return schema;
}

export const interpretationOf = (schema: z.core.$ZodType): Interpret | undefined =>
  interpretations.get(schema);

/** A number in a string. */
export const toNumber: Interpret = (value) =>
  typeof value === 'string' && jsonNumber.test(value) && Number.isFinite(Number(value))
    ? Number(value)
    : undefined;

/** An amount with leading zeros or a plus sign, converted digit by digit; an empty text means an absent amount. */
export const toJsonNumber: Interpret = (value) => {
  if (value === '') return null;
  if (typeof value !== 'string') return undefined;
  const plain = value.replace(/^\+(?=\d)/, '').replace(/^(-?)0+(?=\d)/, '$1');
  return plain === value ? undefined : plain;
};

/** An array with one text instead of the text; an empty array means an absent text. */
export const toOnlyText: Interpret = (value) => {
  if (!Array.isArray(value) || value.length > 1) return undefined;
  const [only = null] = value;
  return only === null || typeof only === 'string' ? only : undefined;
};

/** A single text instead of an array. */
export const toTexts: Interpret = (value) => (typeof value === 'string' ? [value] : undefined);

/** An object with an id instead of the id. */
export const toId: Interpret = (value) => {
  if (!isObject(value)) return undefined;
  if (typeof value.id === 'string') return value.id;
  return typeof value.account_id === 'string' ? value.account_id : undefined;
};

/** A single id, or a single object with an id, instead of an array of ids. */
export const toIds: Interpret = (value) => {
  const id = typeof value === 'string' ? value : toId(value);
  return id === undefined ? undefined : [id];
};

/** Whether a text contains ids, and not the JSON of an array. */
export const isIdList = (value: unknown): boolean => typeof value === 'string' && !/^\s*\[/.test(value);

/** An array of ids, or its JSON as text, as ids separated by commas; an empty array means no ids. */
export const toIdList: Interpret = (value) => {
  const list = typeof value === 'string' ? parsed(value) : value;
  if (!Array.isArray(list)) return undefined;
  const ids = list.map((entry) => (typeof entry === 'string' ? entry : toId(entry)));
  // An id that contains a separator would be read as two ids.
  if (!ids.every((id) => typeof id === 'string' && /^[^\s,]+$/.test(id))) return undefined;
  return ids.join(',') || null;
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The position of a value in an answer: names of the contract, and indexes of lists. */
export type Path = readonly PropertyKey[];

/** Learns where a record breaks its shape. */
export interface RecordObserver {
  /** The value deviates, but has a meaning. */
  onDrift(path: Path, expected: string): void;
  /** The value has no meaning. Returns what replaces it. */
  onViolation(path: Path, expected: string, message: string): unknown;
}

/** The objects that banks wrote instead of ids, by the record that has the id. */
const namedObjects = new WeakMap<object, Map<string, Readonly<Record<string, unknown>>>>();

/** The object that the bank wrote instead of an id of a record; undefined if it wrote the id. */
export const namedObject = (record: object, field: string): Readonly<Record<string, unknown>> | undefined =>
  namedObjects.get(record)?.get(field);

/** A place in a record that is read, from the record down to it. */
interface Reading {
  readonly path: PropertyKey[];
  readonly observer: RecordObserver;
}

/** The meaning of a value that should have a shape. */
type Read = (value: unknown, reading: Reading) => unknown;

/**
 * Replaces what deviates in a record that breaks its shape by its meaning, in place.
 * Errors: those of the observer.
 */
export const interpretRecord = (
  shape: z.core.$ZodType,
  record: unknown,
  place: Path,
  observer: RecordObserver,
): unknown => readerOf(shape)(record, { path: [...place], observer });

const readers = new WeakMap<z.core.$ZodType, Read>();

function readerOf(shape: z.core.$ZodType): Read {
  const reader = readers.get(shape) ?? createReader(shape);
  readers.set(shape, reader);
  return reader;
}

/** Asking zod what a shape is takes longer than to look at the value: it is asked once. */
function createReader(shape: z.core.$ZodType): Read {
  if (shape instanceof z.ZodOptional) {
    const read = readerOf(shape.def.innerType);
    return (value, reading) => (value === undefined ? value : read(value, reading));
  }
  if (shape instanceof z.ZodNullable) {
    const read = readerOf(shape.def.innerType);
    return (value, reading) => (value === null ? value : read(value, reading));
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

/** Reads what breaks the shape itself, and not a member of it. */
function createBrokenReader(shape: z.core.$ZodType): Read {
  const interpret = interpretationOf(shape);
  const { type } = shape._zod.def;
  const wordsFor = (value: unknown) => z.core.safeParse(shape, value).error?.issues[0]?.message ?? '';
  return (value, { path, observer }) => {
    const meant = interpret?.(value);
    // zod takes longer to find its words than all the rest takes.
    const isOfType = typeof value === 'string' && type === 'string';
    const message = meant === undefined || isOfType ? wordsFor(value) : '';
    // The contract's own words say what a value is not.
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
  if (typeof meant === 'string' && isObject(found)) keepObject(parent, String(key), found);
}

function keepObject(record: object, field: string, object: Readonly<Record<string, unknown>>): void {
  const fields = namedObjects.get(record) ?? new Map();
  namedObjects.set(record, fields.set(field, object));
}
