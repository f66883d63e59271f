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
 * The values in records, with the ways in which banks are known to write them.
 *
 * Answers and request bodies have shapes of their own. An answer may leave out (or null) whatever the specification
 * does not mark as required, and may hold fields that the contract does not know. A request body holds exactly what the
 * contract allows, and never a null.
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
