/** Two limits: values in an answer's JSON, and records in its list. An answer at the limit takes about 100 ms to parse and check. */
export const maxValues = 250_000;
export const maxRecords = 50_000;
/** The length in bytes above which the values of a body are counted: each takes at least two bytes, so a shorter body has few. */
const countedLength = 2 * maxValues;

const quote = 0x22;
const backslash = 0x5c;
/**
 * Indexed by byte: 1 for a comma, an opening brace and an opening bracket. Each value except the first starts
 * with one of these bytes or follows one.
 */
const marks = new Uint8Array(256);
for (const mark of Buffer.from(',{[')) marks[mark] = 1;

/**
 * Why JSON text would take too long to parse; null for any other text. Shape: the reason, such as `more than
 * 250000 values`.
 */
export function whatTakesTooLong(json: Uint8Array): string | null {
  if (json.length <= countedLength || mostValues(json) <= maxValues) return null;
  let count = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === quote) at = stringEnd(json, at + 1);
    else if (isMark(byte) === 1 && ++count > maxValues) return `more than ${maxValues} values`;
  }
  return null;
}

/**
 * An upper bound of the number of values: marks within strings count too. Bytes are read in words of four. The bytes before the
 * first word and after the last are counted as marks.
 */
function mostValues({ buffer, byteOffset, length }: Uint8Array): number {
  const start = Math.ceil(byteOffset / 4) * 4;
  const words = new Uint32Array(buffer, start, Math.floor((byteOffset + length - start) / 4));
  let most = length - 4 * words.length;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as number;
    most += isMark(word) + isMark(word >>> 8) + isMark(word >>> 16) + isMark(word >>> 24);
  }
  return most;
}

const isMark = (byte: number): number => marks[byte & 0xff] as number;

/** The position of a string's closing quote. */
function stringEnd(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
