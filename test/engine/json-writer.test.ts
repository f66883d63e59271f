import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonWriter } from '../../src/engine/json.ts';

function written(value: unknown, chunkSize = 64): string {
  const writer = new JsonWriter(value, chunkSize);
  while (!writer.writeChunk());
  expect(writer.bytes).toBe(Buffer.concat(writer.chunks).length);
  return Buffer.concat(writer.chunks).toString();
}

/** Compared by length and place first: a difference of long texts would fill the screen. */
function expectSame(value: unknown, chunkSize?: number): void {
  const expected = JSON.stringify(value);
  const json = written(value, chunkSize);
  if (json !== expected) expect(json).toBe(expected);
  expect(json === expected).toBe(true);
}

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  // Includes surrogates that stand alone.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 90 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', '"', '\\', '\n', '\u2028', 'Λευκωσία', '🏦', '\ud83c', 'é'.repeat(64), 'é'.repeat(65)),
);
const leaf = fc.oneof(
  texts,
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constantFrom(null, undefined, Number.NaN, Infinity, -0, 1e21, Symbol('s'), () => {}, new Date(0)),
);
const { value: anything } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(texts, tie('value'), { maxKeys: 5, noNullPrototype: false }),
  ),
}));

test('writes what JSON.stringify writes, whatever the size of its chunks', () => {
  fc.assert(
    fc.property(anything, fc.integer({ min: 1, max: 300 }), (value, chunkSize) =>
      expectSame({ value, list: [value] }, chunkSize),
    ),
    { numRuns: 1_000 },
  );
});

test('writes leaves, and containers without members, as JSON.stringify does', () => {
  for (const value of [
    null,
    true,
    1.5,
    'text',
    '',
    [],
    {},
    [[]],
    { a: {} },
    [undefined],
    { a: undefined },
    [{}, []],
  ])
    expectSame(value);
});

test('writes what toJSON gives: a text, an object, or nothing', () => {
  const as = (value: unknown) => ({ toJSON: () => value });
  expectSame({
    date: new Date(0),
    object: as({ a: [1] }),
    nothing: as(undefined),
    list: [as(undefined), as(2)],
  });
  expectSame({ toJSON: 'a member of this name', more: 1 });
});

test('writes entries of an object without a prototype, and __proto__ as any name', () => {
  const data: Record<string, unknown> = Object.create(null);
  Object.defineProperty(data, '__proto__', { value: 'a name', enumerable: true });
  expectSame(data);
});

test('fills another chunk each time, and a text that is too long for one is a chunk of its own', () => {
  const list = Array.from({ length: 100 }, (_, n) => ({ n, name: 'x'.repeat(n === 50 ? 5_000 : 10) }));
  const writer = new JsonWriter(list, 1_000);
  let calls = 0;
  for (let full = 0; !writer.writeChunk(); full = writer.chunks.length) {
    calls++;
    expect(writer.chunks.length).toBeGreaterThan(full);
  }
  expect(calls).toBeGreaterThan(2);
  expect(writer.chunks.filter(({ length }) => length > 1_000).map(String)).toEqual([
    `"${'x'.repeat(5_000)}"`,
  ]);
  expect(Buffer.concat(writer.chunks).toString() === JSON.stringify(list)).toBe(true);
});

test('nests as deep as the data', () => {
  let deep: unknown = 'end';
  for (let depth = 0; depth < 2_000; depth++) deep = depth % 2 === 0 ? [deep] : { deep };
  expectSame(deep);
});

test('fails as JSON.stringify does', () => {
  expect(() => written([1n])).toThrow(TypeError);
  const thrown = new Error('no');
  const failing = {
    get member(): never {
      throw thrown;
    },
  };
  expect(() => written({ failing })).toThrow(thrown);
});

test('writes entries with and without lists, in ASCII and Greek, one after the other', () => {
  const entry = (n: number) => ({
    n,
    name: n % 700 < 300 ? `Nicosia ${n}` : `Λευκωσία ${n}`,
    address: n % 5 === 0 ? null : { city: 'Nicosia', absent: undefined },
    ...(n % 311 === 0 ? { more: [n, [{ n }]] } : {}),
  });
  const list = Array.from({ length: 5_000 }, (_, n) => (n % 97 === 0 ? n : entry(n)));
  expectSame({ list, texts: list.map(String) }, 256 * 1024);
});
