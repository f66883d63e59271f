/** The most values in an answer's JSON, and records in its list. So many take about 100 ms to parse and check. */
export const maxValues = 250_000;
export const maxRecords = 50_000;
/** Shorter bodies, in bytes, are not counted: a value takes two at least. */
const countedLength = 2 * maxValues;

const quote = 0x22;
const comma = 0x2c;
const bracket = 0x5b;
const backslash = 0x5c;
const brace = 0x7b;

/**
 * Why JSON text would take too long to parse; null if it would not. Counts commas, opening braces and opening brackets outside
 * of strings: each value except the first begins with or follows one of them.
 * Shape: the reason, such as `more than 250000 values`.
 */
export function whatTakesTooLong(json: Uint8Array): string | null {
  if (json.length <= countedLength) return null;
  let count = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = stringEnd(json, at + 1);
    else if ((byte === comma || byte === brace || byte === bracket) && ++count > maxValues)
      return `more than ${maxValues} values`;
  }
  return null;
}

/** The position of a string's closing quote. */
function stringEnd(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
