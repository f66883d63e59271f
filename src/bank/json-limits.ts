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
/** Shorter bodies, in bytes, are not counted: a member takes seven at least, and parsing such a body takes 60 ms at most. */
const countedLength = 262_144;

/**
 * Why JSON text would take too long to parse; null if it would not. To count costs half as much as parsing, so a sample
 * decides first whether to count.
 * Shape: what it holds too much of, such as `more than 250000 values`.
 */
export function whatTakesTooLong(json: Uint8Array): string | null {
  return json.length <= countedLength || isHarmless(json) ? null : countWhatTakesTooLong(json);
}

/** A sample is taken at a random place of each part of this length, in bytes, and is no longer than the other. */
const partLength = 4096;
const maxSampleLength = 1024;
/** Sequences of names that the samples of a harmless body may show, all different: as many as a record has names. */
const maxSequences = 64;
/** The share of the values that may be, by the samples. */
const maxValueShare = 0.75;

/**
 * Whether samples show that a body cannot hold too much. Nobody outside knows the places.
 *
 * Of each sample, the next three names and the density of values are looked at. A body of more than `maxShapes` shapes
 * has either many names, or few in many orders, and in both cases many sequences of three: it passes only if they are
 * all within less than `maxSequences` parts, which are 256 kB. That has 37,000 shapes at most, twice what may be. A body
 * of records of the same few shapes shows about as many sequences as a record has names. Whatever is in doubt is
 * counted.
 */
function isHarmless(json: Uint8Array): boolean {
  const sequences = new Set<number>();
  let values = 0;
  for (let part = 0; part < json.length; part += partLength) {
    const start = part + Math.floor(Math.random() * partLength);
    const end = Math.min(json.length, start + maxSampleLength);
    let at = start;
    let count = 0;
    let names = 0;
    let sequence = seed;
    let text = -1;
    for (; at < end && names < 3; at++) {
      const byte = json[at];
      if (byte === comma || byte === brace || byte === bracket) count++;
      else if (byte === quote) {
        if (text !== -1 && isName(json, at + 1)) {
          // It may be only the end of a name.
          if (json[text - 1] === backslash) return false;
          sequence = hashName(json, text + 1, at, sequence);
          names++;
        }
        text = at;
      }
    }
    if (names > 0) sequences.add(sequence);
    if (sequences.size > maxSequences) return false;
    if (at > start) values += (count / (at - start)) * partLength;
  }
  return values <= maxValueShare * maxValues;
}

/**
 * As whatTakesTooLong, exactly. Commas and opening braces and brackets outside of strings are counted: each value but the
 * first has one of them in front of it, or is one.
 */
export function countWhatTakesTooLong(json: Uint8Array): string | null {
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

/** The position of a string's closing quote. */
function stringEnd(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}

/** Whether a colon follows, possibly after white space. */
function isName(json: Uint8Array, start: number): boolean {
  let at = start;
  while (at < json.length && Number(json[at]) <= 0x20) at++;
  return json[at] === colon;
}

/** As many bits as keep the error of counting below 1 %. */
const shapeBits = 20;
/** Unknown outside, so that nobody can choose names whose shapes count as one. */
const seed = Math.floor(Math.random() * 2 ** 32);

/** The hash of a sequence of names, from that of those in front of the last. */
function hashName(json: Uint8Array, start: number, end: number, before: number): number {
  let hash = before;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ Number(json[at]), 0x01000193);
  // Two names must not have the hash of one; the upper bits, which are the better ones, decide.
  return Math.imul(hash ^ quote, 0x85ebca6b);
}

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
    const hash = hashName(json, start, end, open.pop() ?? seed);
    open.push(hash);
    const bit = (hash ^ (hash >>> 15)) >>> (32 - shapeBits);
    const mask = 1 << (bit & 7);
    const seen = Number(this.#seen[bit >>> 3]);
    if ((seen & mask) !== 0) return;
    this.#seen[bit >>> 3] = seen | mask;
    this.count++;
  }
}
