import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { jsonInSlices } from '../../src/graphql/json.ts';
import { nobody } from '../../src/load/callers.ts';
import { anyCharacter } from '../support/any-text.ts';
import { idleSlices } from '../support/idle-slices.ts';
import { clock } from '../support/monotonic-clock.ts';
import { countIterations } from '../support/waits.ts';

const operation = { caller: nobody };
const chunksOf = async (value: unknown, chunkSize: number) =>
  (await jsonInSlices(value, 1e9, operation, chunkSize)) ?? [];

/** Expects that the chunks together are the JSON that JSON.stringify makes. */
async function expectSame(value: unknown, chunkSize: number): Promise<void> {
  const expected = JSON.stringify(value);
  const json = String(Buffer.concat(await chunksOf(value, chunkSize)));
  if (json !== expected) expect(json).toBe(expected);
  expect(json === expected).toBe(true);
}

const texts = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 100 }),
  // The texts include unpaired surrogates.
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
  fc.constantFrom(null, Number.NaN, Infinity, -0, 1e21),
);
const { value: anything } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(texts, tie('value'), { maxKeys: 5, noNullPrototype: false }),
  ),
}));

test('is what JSON.stringify makes, whatever the size of its chunks', async () => {
  await fc.assert(
    fc.asyncProperty(anything, fc.integer({ min: 16, max: 300 }), (value, chunkSize) =>
      expectSame({ value, list: [value, value] }, chunkSize),
    ),
    { numRuns: 1000 },
  );
});

test('nests as deep as the data', async () => {
  let deep: unknown = 'end';
  for (let depth = 0; depth < 2000; depth++) deep = depth % 2 === 0 ? [deep] : { deep };
  await expectSame(deep, 64);
});

test('writes entries with and without lists, in ASCII and Greek, one after the other', async () => {
  const entry = (n: number) => ({
    n,
    name: n % 700 < 300 ? `Nicosia ${n}` : `Λευκωσία ${n}`,
    address: n % 5 === 0 ? null : { city: 'Nicosia', absent: undefined },
    ...(n % 311 === 0 ? { more: [n, [{ n }]] } : {}),
  });
  const list = Array.from({ length: 5000 }, (_, n) => (n % 97 === 0 ? n : entry(n)));
  await expectSame({ list, texts: list.map(String) }, 256 * 1024);
});

test('its chunks are no longer than they may be, and a piece of it; a longer text is in one of its own', async () => {
  const list = Array.from({ length: 6000 }, (_, n) => ({ n, name: 'x'.repeat(n === 3000 ? 90_000 : 10) }));
  const chunks = await chunksOf(list, 32 * 1024);
  expect(chunks.length).toBeGreaterThan(4);
  const long = chunks.filter(({ length }) => length > 48 * 1024);
  expect(long).toHaveLength(1);
  expect(long[0]?.length).toBeLessThan(90_000 + 48 * 1024);
});

test('others are served between its chunks once time is used up, of a long list and of an object of many members alike', async () => {
  // Each reading of the clock takes 10 ms, so each chunk has its own iteration of the event loop.
  await idleSlices();
  let now = clock.real();
  clock.now = () => (now += 10);
  onTestFinished(async () => {
    await idleSlices();
    clock.now = clock.real;
  });
  const entries = Array.from({ length: 1000 }, (_, n) => ({ name: `name ${n}`, n }));
  for (const data of [entries, { a: { b: [entries] } }, { ...entries }]) {
    using iterations = countIterations();
    await expectSame(data, 1000);
    expect(iterations.count).toBeGreaterThan(1);
  }
});

test('JSON that is too long is not written to its end', async () => {
  let made = 0;
  const entry = {
    text: 'x'.repeat(500),
    get more() {
      return made++;
    },
  };
  const list = Array.from({ length: 10_000 }, () => entry);
  expect(await jsonInSlices(list, 10_000, operation, 1000)).toBeNull();
  expect(made).toBeLessThan(1000);
  expect(await jsonInSlices('x', 3, operation)).toEqual([Buffer.from('"x"')]);
  expect(await jsonInSlices('x', 2, operation)).toBeNull();
});

test('fails as JSON.stringify does', async () => {
  await expect(chunksOf(['x'.repeat(2000), 1n], 1000)).rejects.toThrow(TypeError);
});
