import { setImmediate as iteration } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { jsonInTurns } from '../../src/engine/json.ts';
import { clock } from '../support/monotonic-clock.ts';
import { countIterations } from '../support/waits.ts';

const sliceLength = 1000;
const jsonOf = async (value: unknown) =>
  String(Buffer.concat((await jsonInTurns(value, 1e9, { chunkSize: sliceLength })) ?? []));

test('is what JSON.stringify makes, wherever long texts and long lists stand', async () => {
  const long = 'α"'.repeat(600);
  const leaf = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(undefined, long, long, new Date(0)));
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  await fc.assert(
    fc.asyncProperty(value, async (each) => {
      const data = { long, each, list: [long, each, 1, long, each] };
      expect((await jsonOf(data)) === JSON.stringify(data)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('others have turns between its slices, of a list of many entries and of an object of many members alike', async () => {
  // Each look at the clock takes 10 ms: each slice has an iteration of its own.
  let now = clock.real();
  clock.now = () => (now += 10);
  onTestFinished(async () => {
    // The scheduler's work is over: the clock does not go back while it measures.
    await iteration();
    clock.now = clock.real;
  });
  const entries = Array.from({ length: 1000 }, (_, n) => ({ name: `name ${n}`, n }));
  for (const data of [entries, { a: { b: [entries] } }, { ...entries }]) {
    using iterations = countIterations();
    const json = await jsonOf(data);
    expect(json === JSON.stringify(data)).toBe(true);
    expect(iterations.count).toBeGreaterThan(1);
  }
});

test('what is too long is not made to its end', async () => {
  let made = 0;
  const entry = {
    text: 'x'.repeat(500),
    get more() {
      return made++;
    },
  };
  const list = Array.from({ length: 10_000 }, () => entry);
  expect(await jsonInTurns(list, 10_000, { chunkSize: sliceLength })).toBeNull();
  expect(made).toBeLessThan(1000);
  expect(await jsonInTurns('x', 3)).toEqual([Buffer.from('"x"')]);
});

test('what cannot be written rejects', async () => {
  await expect(jsonInTurns(['x'.repeat(2000), 1n], 10_000, { chunkSize: sliceLength })).rejects.toThrow(
    TypeError,
  );
});
