/**
 * JSON whose amounts keep every digit.
 *
 * `JSON.parse` reads 9007199254740993 as …992 and 1.10 as 1.1. Money must not pass through that, so the
 * numbers of every `amount` member are quoted in the text before it is parsed: amounts arrive as the text of
 * their digits, whatever their size, and leave as the same digits. It is about 1.5 times the cost of plain
 * parsing; parsers that keep all numbers cost ten times as much.
 */

/**
 * An `amount` member and its number, up to what has to follow a number. In valid JSON a quote that follows
 * `{`, `,` or white space and opens `"amount" :` is a key: inside a string every quote has a backslash before
 * it, and behind the closing quote of a string no name can stand. In invalid JSON the rewrite changes nothing
 * that would make it valid: the number has to be one of JSON's own.
 */
const amountNumber =
  /(?<=[{,\s])"amount"([ \t\r\n]*):([ \t\r\n]*)(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=[ \t\r\n]*[,}])/g;

/** A number as JSON writes it. */
export const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A key may spell a letter of "amount" as an escape, which the pattern above does not see. */
const escapedLetter = /\\u00[67]/;
/** An amount that the bank wrote as a string. */
const quotedAmount = /"amount"\s*:\s*"/;

/**
 * Parses JSON text; every number that is an `amount` member arrives as the text of its digits. So does an amount that is
 * written as a string, which `onQuotedAmount` is told of, once. With `keepDigits` other numbers arrive as numbers too, and
 * `exactNumber` knows the digits of those that a double does not hold.
 * Errors: SyntaxError, as JSON.parse.
 */
export function parseExactJson(text: string, onQuotedAmount?: () => void, keepDigits = false): unknown {
  // Most texts hold no amount and no escape, and to know that takes no pattern. `mount"` rather than `"amount"`: the
  // search jumps from one first letter to the next, and quotes are everywhere.
  const mayHoldAmount = text.includes('mount"');
  if (mayHoldAmount && quotedAmount.test(text)) onQuotedAmount?.();
  if (keepDigits) return JSON.parse(text, keepDigitsOf);
  if (text.includes('\\u00') && escapedLetter.test(text))
    return JSON.parse(text, (key, value, { source }) =>
      key === 'amount' && typeof value === 'number' ? source : value,
    );
  return JSON.parse(mayHoldAmount ? text.replace(amountNumber, '"amount"$1:$2"$3"') : text);
}

/** The digits of numbers that a double does not hold, by the object that has them and their key. */
const digitsByHolder = new WeakMap<object, Map<string, string>>();

/** A reviver: as above for amounts, and notes the digits of all other numbers, also of those that stand in a string. */
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
 * A number of an object that was parsed with `keepDigits`, as JSON that has all its digits; the number itself where it
 * has no others, or is not the one that was parsed.
 */
export function exactNumber(holder: object, key: string): unknown {
  const number: unknown = Reflect.get(holder, key);
  const digits = digitsByHolder.get(holder)?.get(key);
  return digits !== undefined && Number(digits) === number ? JSON.rawJSON(digits) : number;
}

/**
 * Writes JSON text; every `amount` member leaves as a JSON number with the digits that it has.
 * Errors: SyntaxError where an amount is no JSON number.
 */
export function writeExactJson(value: unknown): string {
  return JSON.stringify(value, (key, member) => {
    if (key !== 'amount' || typeof member !== 'string') return member;
    // rawJSON would take any JSON value that is no object, such as true.
    if (!jsonNumber.test(member)) throw new SyntaxError('An amount has to be a JSON number');
    return JSON.rawJSON(member);
  });
}
