import { z } from 'zod';
import { jsonNumber } from './exact-json.ts';
import {
  isIdList,
  toId,
  toIdList,
  toIds,
  toJsonNumber,
  tolerant,
  toNumber,
  toOnlyText,
  toTexts,
} from './interpretations.ts';

/**
 * Schemas that several resources of the bank's JSON share.
 *
 * Answers and request bodies have shapes of their own. An answer may leave out (or null) whatever the
 * specification does not mark as required, and may hold fields that the contract does not know. A request
 * body holds exactly what the contract allows, and never a null.
 * Source: "Shared structures" of the specification.
 */

/**
 * A JSON number kept as the text of its digits, such as "1234.50" (see exact-json.ts, which turns every
 * `amount` of an answer into one, and every one of a request body back into a JSON number).
 */
export const decimal = tolerant(
  z
    .string()
    .regex(jsonNumber, 'not a decimal number')
    .refine(isWritable, 'a number of more than a thousand digits'),
  (value) => {
    const number = toJsonNumber(value);
    return number === null || isDecimal(number) ? number : undefined;
  },
);

/** Whether a value is a decimal; unlike validation, it creates no error message. */
export const isDecimal = (value: unknown): boolean =>
  typeof value === 'string' && jsonNumber.test(value) && isWritable(value);

/** More digits than any amount needs, but bounded: 1e999999999 is a number too. */
const maxDecimalLength = 1000;

function isWritable(number: string): boolean {
  const exponent = Number(/[eE](.*)$/.exec(number)?.[1] ?? 0);
  return number.length <= maxDecimalLength && Math.abs(exponent) <= maxDecimalLength;
}

export const text = z.string();
export const texts = z.array(z.string());
export const number = tolerant(z.number(), toNumber);

/** A text that some banks send as an array with one entry. */
export const textOrArray = tolerant(z.string(), toOnlyText);
/** Several texts; some banks send a single text without the array. */
export const textsOrText = tolerant(z.array(z.string()), toTexts);
/** An id; some banks send the object that has the id instead. */
export const reference = tolerant(z.string(), toId);
export const references = tolerant(z.array(reference), toIds);
/** Ids separated by commas or white space; some banks send an array, or the JSON of an array as text. */
export const idList = tolerant(z.string().refine(isIdList, 'not ids separated by commas'), toIdList);

/** A field of an answer that the bank may leave out; it may write null instead. */
export const optional = <T extends z.ZodType>(shape: T) => shape.nullish();

export const money = z.object({ currency: optional(text), amount: optional(decimal) });
export const moneyBody = z.strictObject({ currency: text.optional(), amount: decimal.optional() });

/** Money whose amount is required: `value` and `new_balance` of a transaction's details. */
export const amount = z.object({ currency: optional(text), amount: decimal });
export const amountBody = z.strictObject({ currency: text.optional(), amount: decimal });

export const keyValue = z.object({ key: text, string: optional(text) });
export const keyValueBody = z.strictObject({ key: text, string: text.optional() });

export const nameBox = z.object({ name: text });
export const nameBoxBody = z.strictObject({ name: text });

export const accountRef = z.object({ account_id: optional(text), bank_id: optional(text) });
export const accountRefBody = z.strictObject({ account_id: text.optional(), bank_id: text.optional() });

export type Money = z.infer<typeof money>;
export type KeyValue = z.infer<typeof keyValue>;
export type NameBox = z.infer<typeof nameBox>;
export type AccountRef = z.infer<typeof accountRef>;
export type MoneyBody = z.infer<typeof moneyBody>;
export type AmountBody = z.infer<typeof amountBody>;
export type AccountRefBody = z.infer<typeof accountRefBody>;
