const quote = 0x22;
const comma = 0x2c;
const bracket = 0x5b;
const backslash = 0x5c;
const brace = 0x7b;

/** Values that the JSON of an answer may hold, and records that its list may: what costs about 100 ms to parse and check. */
export const maxValues = 250_000;
export const maxRecords = 50_000;
/** What is no longer, in bytes, is not counted: a value in a list takes two with its comma. */
const countedLength = 2 * maxValues;

/**
 * Whether JSON text holds more values than are parsed, which costs about a fifth of parsing. Commas and opening braces and
 * brackets outside of strings are counted: each value but the first has one of them in front of it, or is one.
 */
export function holdsTooManyValues(json: Uint8Array): boolean {
  if (json.length <= countedLength) return false;
  let count = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = stringEnd(json, at + 1);
    else if ((byte === comma || byte === brace || byte === bracket) && ++count > maxValues) return true;
  }
  return false;
}

/** Where a string's closing quote stands. */
function stringEnd(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
