import { setImmediate as iteration } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Turns } from '../../../src/options/defer/incremental-execution.ts';
import { idleSlices } from '../../support/idle-slices.ts';
import { clock } from '../../support/monotonic-clock.ts';

/** What is resumed takes 10 ms, after which others are served. */
let now: number;
beforeEach(async () => {
  await idleSlices();
  now = clock.real();
  clock.now = () => now;
});
afterEach(async () => {
  clock.now = () => now++;
  await idleSlices();
  clock.now = clock.real;
});

/** Turns of an execution that has completed so many values. */
function turnsOf(values = 0) {
  const budget = { values };
  return { budget, turns: new Turns(budget) };
}

/** Has so many wait, each of which completes so many values; how many are resumed in each turn. */
async function resumedInTurns(waiting: number, values: number): Promise<number[]> {
  const { budget, turns } = turnsOf();
  const order: number[] = [];
  for (let nth = 0; nth < waiting; nth++)
    void turns.next().then(() => {
      order.push(nth);
      budget.values += values;
      now += 10;
    });
  expect(order).toEqual([]);
  const resumed: number[] = [];
  for (let before = 0; before < waiting; before = order.length) {
    while (order.length === before) await iteration();
    resumed.push(order.length - before);
  }
  expect(order).toEqual(Array.from({ length: waiting }, (_, nth) => nth));
  return resumed;
}

test('a turn is due after a thousand values, and the next one after a thousand more', async () => {
  const { budget, turns } = turnsOf();
  budget.values = 1000;
  expect(turns.isDue).toBe(false);
  budget.values = 1001;
  expect(turns.isDue).toBe(true);
  await turns.next();
  expect(turns.isDue).toBe(false);
  budget.values = 2002;
  expect(turns.isDue).toBe(true);
});

test.each([
  { waiting: 40, values: 1 },
  { waiting: 60, values: 50 },
  { waiting: 5, values: 5000 },
])(
  'of $waiting that wait, a turn resumes the next in order: as many as complete about 1,000 values, if each completes $values',
  async ({ waiting, values }) => {
    const resumed = await resumedInTurns(waiting, values);
    // At first it is not known how much each completes; from then on a turn completes 2,000 at most, or what one completes.
    for (const [turn, count] of resumed.entries())
      expect(count * values).toBeLessThanOrEqual(Math.max(2000, values * (turn === 0 ? 2 : 1)));
    // Nobody waits for more turns than that takes, and those in which the number doubles.
    expect(resumed.length).toBeLessThanOrEqual(Math.ceil((waiting * values) / 500) + Math.log2(waiting));
  },
);

test('others are served between two turns', async () => {
  const { turns } = turnsOf();
  const seen: string[] = [];
  for (let nth = 0; nth < 6; nth++)
    void turns.next().then(() => {
      seen.push('resumed');
      now += 10;
    });
  while (seen.filter((each) => each === 'resumed').length < 6) {
    await iteration();
    if (seen.at(-1) === 'resumed') seen.push('other');
  }
  expect(seen.lastIndexOf('resumed')).toBeGreaterThan(seen.indexOf('other'));
});

test('what waits after all others were resumed is resumed too', async () => {
  const { turns } = turnsOf();
  await turns.next();
  await turns.next();
  await Promise.all([turns.next(), turns.next()]);
});

test('a list of a hundred entries stays as it is', () => {
  const list = Array.from({ length: 100 }, (_, nth) => nth);
  expect(turnsOf().turns.spread(list)).toBe(list);
});

test('of a longer list all but the first hundred entries are promised, a hundred for each turn', async () => {
  const { turns } = turnsOf();
  const promised = Promise.resolve('promised');
  const list = Array.from({ length: 350 }, (_, nth) => (nth === 120 ? promised : nth));
  const spread = turns.spread(list);
  expect(spread.slice(0, 100)).toEqual(list.slice(0, 100));
  expect(spread.slice(100).every((entry) => entry instanceof Promise)).toBe(true);
  // It is one already.
  expect(spread[120]).toBe(promised);
  const done: number[] = [];
  spread.forEach((entry, nth) => void Promise.resolve(entry).then(() => done.push(nth)));
  while (done.length < 350) await iteration();
  expect(await Promise.all(spread)).toEqual(await Promise.all(list));
  // Those of a later hundred never come before those of an earlier one.
  const hundreds = done.filter((nth) => nth !== 120).map((nth) => Math.floor(nth / 100));
  expect(hundreds).toEqual(hundreds.toSorted());
});
