import type { z } from 'zod';
import { jsonNumber } from './exact-json.ts';

/**
 * What banks write otherwise than the specification, and what they mean by it: the table in docs/real-banks.md.
 *
 * A schema says once, with `tolerant`, how else its value may be written. A value that keeps its schema is never looked at
 * here (validators.generated.ts knows it); of one that breaks it, bank/interpret-record.ts asks for the meaning.
 */

/**
 * The meaning of a value that breaks its schema: a value that keeps it, or null for none; undefined where it means nothing,
 * or could mean several things.
 */
export type Interpret = (value: unknown) => unknown;

const interpretations = new WeakMap<z.core.$ZodType, Interpret>();

/** The schema, whose values may also be written as `interpret` understands them. */
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

/** An amount with leading zeros or a plus sign, digit by digit; an empty text is none. */
export const toJsonNumber: Interpret = (value) => {
  if (value === '') return null;
  if (typeof value !== 'string') return undefined;
  const plain = value.replace(/^\+(?=\d)/, '').replace(/^(-?)0+(?=\d)/, '$1');
  return plain === value ? undefined : plain;
};

/** An array of one text in the place of the text; an empty one is none. */
export const toOnlyText: Interpret = (value) => {
  if (!Array.isArray(value) || value.length > 1) return undefined;
  const [only = null] = value;
  return only === null || typeof only === 'string' ? only : undefined;
};

/** One text in the place of an array. */
export const toTexts: Interpret = (value) => (typeof value === 'string' ? [value] : undefined);

/** The id of an object in the id's place. */
export const toId: Interpret = (value) => {
  if (!isObject(value)) return undefined;
  if (typeof value.id === 'string') return value.id;
  return typeof value.account_id === 'string' ? value.account_id : undefined;
};

/** One id, or one object with an id, in the place of an array of ids. */
export const toIds: Interpret = (value) => {
  const id = typeof value === 'string' ? value : toId(value);
  return id === undefined ? undefined : [id];
};

/** Whether a text holds ids themselves, and no JSON array of them. */
export const isIdList = (value: unknown): boolean => typeof value === 'string' && !/^\s*\[/.test(value);

/** An array of ids, or the text of its JSON, as the ids separated by commas; an empty one is none. */
export const toIdList: Interpret = (value) => {
  const list = typeof value === 'string' ? parsed(value) : value;
  if (!Array.isArray(list)) return undefined;
  const ids = list.map((entry) => (typeof entry === 'string' ? entry : toId(entry)));
  // What holds a separator would be read as two ids.
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
