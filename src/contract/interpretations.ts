import type { z } from 'zod';
import { jsonNumber } from './exact-json.ts';

/**
 * How banks deviate from the specification, and what they mean: the table in docs/real-banks.md.
 *
 * A schema declares with `tolerant` how else its value may be written. A value that matches its schema is never
 * interpreted (validators.generated.ts recognizes it); for others, bank/interpret-record.ts asks for the meaning.
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

/** An array of ids, or its JSON as text, as ids separated by commas; an empty array means that there are none. */
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

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
