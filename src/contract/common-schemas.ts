import { z } from 'zod';
import { isObject } from '../is-object.ts';
import { jsonNumber, maxDecimalLength } from './decimal.ts';

/**
 * The values in records, with the ways in which banks are known to write them.
 *
 * Answers and request bodies have shapes of their own. In an answer, a field may be missing or null unless the specification
 * marks it as required, and there may be fields that are not in the contract. A request body has only fields of the
 * contract, and never a null.
 */

/**
 * A JSON number kept as the text of its digits, such as "1234.50". exact-json.ts turns every `amount` of an answer into such a
 * text, and every such text in a request body into a JSON number. Some banks write leading zeros, no digit before the point, a
 * plus sign, or an empty text for an absent amount.
 */
export const decimal = z
  .string()
  .regex(jsonNumber, 'not a decimal number')
  .refine(isWritable, 'a number of more than a thousand digits')
  .meta({
    scalar: 'Decimal',
    check: isDecimal,
    interpret(value) {
      if (value === '') return null;
      if (typeof value !== 'string') return undefined;
      const plain = value
        .replace(/^\+(?=[\d.])/, '')
        .replace(/^(-?)0+(?=\d)/, '$1')
        .replace(/^(-?)(?=\.\d)/, (sign) => `${sign}0`);
      return plain !== value && isDecimal(plain) ? plain : undefined;
    },
  });

/** Whether a value is a decimal. Unlike validation, this creates no error message. */
export function isDecimal(value: unknown): boolean {
  return (
    typeof value === 'string' && (shortDecimal.test(value) || (jsonNumber.test(value) && isWritable(value)))
  );
}

/** Matches nearly all amounts: few digits, without an exponent. */
const shortDecimal = /^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?$/;

function isWritable(number: string): boolean {
  const exponent = Number(/[eE](.*)$/.exec(number)?.[1] ?? 0);
  return number.length <= maxDecimalLength && Math.abs(exponent) <= maxDecimalLength;
}

/** A number; some banks write it in a string. */
export const number = z.number().meta({
  interpret: (value) =>
    typeof value === 'string' && jsonNumber.test(value) && Number.isFinite(Number(value))
      ? Number(value)
      : undefined,
});

/** True or false; some banks write this in a string. */
export const boolean = z.boolean().meta({
  interpret: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
});

/** The digits of an integer that a bank wrote instead of a text. Undefined for other numbers: a double may not hold all their digits. */
const digitsOf = (value: unknown): string | undefined =>
  Number.isSafeInteger(value) ? String(value) : undefined;

/** A text; some banks write an integer. */
export const text = z.string().meta({ interpret: digitsOf });
export const id = text.meta({ scalar: 'ID' });

const textIn = (value: unknown) => (typeof value === 'string' ? value : digitsOf(value));

/** Several texts. */
export const texts = z.array(text);

/** A text; some banks send an array with the text, or an empty one for an absent text. */
export const textOrArray = z.string().meta({
  interpret(value) {
    if (!Array.isArray(value)) return digitsOf(value);
    const [only = null] = value;
    if (value.length > 1) return undefined;
    return only === null ? null : textIn(only);
  },
});

/** Several texts; some banks send a single text without the array. */
export const textsOrText = z.array(text).meta({ interpret: (value) => listOf(textIn(value)) });

const listOf = (only: string | undefined) => (only === undefined ? undefined : [only]);

/** An id, or the id of an object that some banks send instead. */
function idOf(value: unknown): string | undefined {
  if (!isObject(value)) return textIn(value);
  const { id, account_id: accountId } = value;
  if (typeof id !== 'string' && typeof accountId === 'string') return accountId;
  return textIn(id) ?? digitsOf(accountId);
}

/** An id; some banks send the object that has the id instead. */
export const reference = z.string().meta({ interpret: idOf });

/** Ids; some banks send a single id, or a single object with an id. */
export const references = z.array(reference).meta({ interpret: (value) => listOf(idOf(value)) });

/** Whether a text is a list of ids, and not a JSON array. */
export const isIdList = (value: unknown): boolean => typeof value === 'string' && !/^\s*\[/.test(value);

/**
 * Ids separated by commas or white space; some banks send an array, or the JSON of an array as text, or one id as an integer. An
 * empty array means no ids.
 */
export const idList = z
  .string()
  .refine(isIdList, 'not ids separated by commas')
  .meta({
    check: isIdList,
    interpret(value) {
      const list = typeof value === 'string' ? parsed(value) : value;
      if (!Array.isArray(list)) return digitsOf(value);
      const ids = list.map(idOf);
      // An id with a separator would be read as two ids, so such a list has no meaning.
      if (!ids.every((id) => typeof id === 'string' && /^[^\s,]+$/.test(id))) return undefined;
      return ids.join(',') || null;
    },
  });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
