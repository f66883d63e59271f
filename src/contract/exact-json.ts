import { jsonNumber, jsonNumberSource } from './decimal.ts';

/**
 * JSON whose amounts keep every digit.
 *
 * `JSON.parse` reads 9007199254740993 as …992 and 1.10 as 1.1. Money must not lose digits in that way. So before the
 * text is parsed, the numbers of all `amount` members are quoted. An amount of any size then arrives as the string of its digits,
 * and is sent with the same digits. This costs about 1.5 times as much as plain parsing; parsers that
 * keep all numbers cost ten times as much.
 */

/**
 * Parses JSON. The number of an `amount` member becomes the string of its digits. Amounts that are strings already stay as they
 * are; if there are any, `onQuotedAmount` is called once. With `keepDigits`, `exactNumber` returns the digits of other numbers
 * too, if a double cannot represent them.
 * Errors: SyntaxError, as JSON.parse.
 */
export function parseExactJson(text: string, onQuotedAmount?: () => void, keepDigits = false): unknown {
  // Most texts contain no amount. A search for `"amount"` would be slower, because it would stop at every quote.
  const hasAmount = text.includes('mount"');
  if (hasAmount && onQuotedAmount !== undefined && quotedAmount.test(text)) onQuotedAmount();
  if (keepDigits) return JSON.parse(text, keepDigitsOf);
  if (text.includes('\\u00') && escapedLetter.test(text))
    return JSON.parse(text, (key, value, { source }) =>
      key === 'amount' && typeof value === 'number' ? source : value,
    );
  return JSON.parse(hasAmount ? quoteAmounts(text) : text);
}

/** Matches a key in which a letter of "amount" is an escape sequence. A plain search for the name does not find such a key. */
const escapedLetter = /\\u00[67]/;
const amountKey = String.raw`"amount"[ \t\r\n]*:[ \t\r\n]*`;
const quotedAmount = new RegExp(`${amountKey}"`);
const numberOfAmount = new RegExp(
  String.raw`(?<=[ \t\r\n{,])(${amountKey})(${jsonNumberSource})(?=[ \t\r\n]*[,}])`,
  'g',
);

/**
 * Quotes the numbers of `amount` members. In valid JSON, a quote that follows `{`, `,` or white space and opens
 * `"amount" :` begins a key: quotes inside a string are escaped, and no name can follow a string's closing quote. Invalid
 * JSON stays invalid, since only valid numbers are quoted, and only if a comma or a closing brace follows.
 */
const quoteAmounts = (text: string) => text.replace(numberOfAmount, '$1"$2"');

/** The digits of numbers that a double cannot represent, by their object and key. */
const digitsByHolder = new WeakMap<object, Map<string, string>>();

/**
 * A reviver that handles amounts as above, and records the digits of all other numbers. Numbers in strings are recorded too,
 * because interpretations.ts may make numbers of them.
 */
function keepDigitsOf(this: unknown, key: string, value: unknown, { source }: { source?: string }): unknown {
  if (key === 'amount') return typeof value === 'number' ? source : value;
  const digits = typeof value === 'number' ? source : value;
  if (typeof digits === 'string' && jsonNumber.test(digits) && String(Number(digits)) !== digits) {
    const holder = Object(this);
    digitsByHolder.set(holder, (digitsByHolder.get(holder) ?? new Map()).set(key, digits));
  }
  return value;
}

/**
 * A number as JSON with all its digits, from an object that was parsed with `keepDigits`. It is the plain number if a
 * double represents all digits, or if the member has been changed since.
 */
export function exactNumber(holder: object, key: string): unknown {
  const number: unknown = Reflect.get(holder, key);
  const digits = digitsByHolder.get(holder)?.get(key);
  return digits !== undefined && Number(digits) === number ? JSON.rawJSON(digits) : number;
}

/**
 * Serializes to JSON; every `amount` member becomes a JSON number with its exact digits.
 * Errors: SyntaxError if an amount is not a JSON number.
 */
export function writeExactJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text?.includes(writtenAmount)) return text;
  const exact = text.replace(writtenNumber, '"amount":$1');
  if (exact.includes(writtenAmount)) throw new SyntaxError('An amount has to be a JSON number');
  return exact;
}

/** The name and the opening quote of a string amount, as JSON.stringify writes them. Within a string, quotes are escaped. */
const writtenAmount = '"amount":"';
const writtenNumber = new RegExp(`"amount":"(${jsonNumberSource})"`, 'g');
