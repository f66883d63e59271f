const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const bracket = 0x5b;
const backslash = 0x5c;
const brace = 0x7b;
const closingBrace = 0x7d;

/** Values that the JSON of an answer may hold, and records that its list may: what costs about 100 ms to parse and check. */
export const maxValues = 250_000;
export const maxRecords = 50_000;
/**
 * Sequences of member names that its objects may begin with, all different. V8 makes a hidden class for each one that it
 * meets for the first time, which takes ten times as long as parsing a member whose class is there.
 */
export const maxShapes = 20_000;
/** What is no longer, in bytes, is not counted: a member takes seven at least, and parsing a text of this length takes 60 ms at most. */
const countedLength = 262_144;

/**
 * Why JSON text would take too long to parse; null where it would not. To know costs half as much as parsing. Commas and
 * opening braces and brackets outside of strings are counted: each value but the first has one of them in front of it, or
 * is one.
 * Shape: what it holds too much of, such as `more than 250000 values`.
 */
export function whatTakesTooLong(json: Uint8Array): string | null {
  if (json.length <= countedLength) return null;
  const shapes = new ShapeCounter();
  let count = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) {
      const start = at + 1;
      at = stringEnd(json, start);
      if (isName(json, at + 1)) shapes.addName(json, start, at);
      if (shapes.count > maxShapes) return `objects of more than ${maxShapes} shapes`;
      continue;
    }
    if (byte === brace) shapes.open();
    else if (byte === closingBrace) shapes.close();
    if ((byte === comma || byte === brace || byte === bracket) && ++count > maxValues)
      return `more than ${maxValues} values`;
  }
  return null;
}

/** Where a string's closing quote stands. */
function stringEnd(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}

/** Whether a colon follows, maybe after white space. */
function isName(json: Uint8Array, start: number): boolean {
  let at = start;
  while (at < json.length && Number(json[at]) <= 0x20) at++;
  return json[at] === colon;
}

/** As many bits as keep the error of counting below 1 %. */
const shapeBits = 20;
/** Nobody outside knows it, so that nobody can choose names whose shapes count as one. */
const seed = Math.floor(Math.random() * 2 ** 32);

/** Counts what the objects of a text begin with: the sequences of names, by their hashes. */
class ShapeCounter {
  count = 0;
  readonly #seen = new Uint8Array(2 ** (shapeBits - 3));
  /** The hash of the names so far, of each object that is open. */
  readonly #open: number[] = [];

  open(): void {
    this.#open.push(seed);
  }

  close(): void {
    this.#open.pop();
  }

  addName(json: Uint8Array, start: number, end: number): void {
    const open = this.#open;
    let hash = open.pop() ?? seed;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ Number(json[at]), 0x01000193);
    // What `at` sees of two names must not be the same as of one; the upper bits, which are the better ones, decide.
    hash = Math.imul(hash ^ quote, 0x85ebca6b);
    open.push(hash);
    const bit = (hash ^ (hash >>> 15)) >>> (32 - shapeBits);
    const mask = 1 << (bit & 7);
    const seen = Number(this.#seen[bit >>> 3]);
    if ((seen & mask) !== 0) return;
    this.#seen[bit >>> 3] = seen | mask;
    this.count++;
  }
}
