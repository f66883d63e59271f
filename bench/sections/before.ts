import type { Bench } from '../bench.ts';
import { bankql, bankqlOf } from '../contenders.ts';
import { askOnce, fire, requestsOf } from '../load/fire.ts';
import { cpuOf } from '../load/kernel.ts';
import type { Running } from '../load/process.ts';
import { medianOf, table } from '../report/statistics.ts';
import { type Shape, shapes, titleOf } from '../shapes.ts';

/**
 * Compares two checkouts of bankql. They get requests in turn, in bursts so short that changes of the machine's speed affect
 * both.
 */

const bursts = 60;
const burstSeconds = 0.3;

/**
 * Warms up a server.
 * Shape: a function that sends one burst, and returns the server's processor time for a request, in microseconds.
 */
async function openBursts({ port, pid }: Running, shape: Shape) {
  const expected = await askOnce(port, shape.query);
  const load = { port, requests: requestsOf(shape.query, port), connections: 32, expected };
  await fire({ ...load, seconds: 2 });
  return async () => {
    const before = cpuOf(pid);
    const fired = await fire({ ...load, seconds: burstSeconds });
    return (cpuOf(pid) - before) / fired.requests;
  };
}

/** Makes the table of processor times of this checkout and the other one. */
export async function compareWithBefore(
  { options, bank, open, say }: Bench,
  checkout: string,
): Promise<string> {
  bank.reset();
  await using before = await open(bankqlOf(checkout));
  await using after = await open(bankql);
  const rows: string[][] = [];
  for (const shape of shapes.filter(({ name }) => options.shapes.has(name))) {
    say(`  ${titleOf(shape)}`);
    const [burstBefore, burstAfter] = [await openBursts(before, shape), await openBursts(after, shape)];
    const times: { readonly before: number; readonly after: number }[] = [];
    for (let turn = 0; turn < bursts; turn++) {
      // The two checkouts take turns at being first.
      const first = turn % 2 === 0 ? await burstBefore() : null;
      const after = await burstAfter();
      times.push({ before: first ?? (await burstBefore()), after });
    }
    const ratios = times.map(({ before, after }) => after / before).sort((a, b) => a - b);
    const quartile = (share: number) => ratios[Math.floor(share * (ratios.length - 1))]?.toFixed(3);
    rows.push([
      titleOf(shape),
      medianOf(times.map(({ before }) => before)).toFixed(1),
      medianOf(times.map(({ after }) => after)).toFixed(1),
      `${quartile(0.5)} (${quartile(0.25)} to ${quartile(0.75)})`,
    ]);
  }
  return table(['processor time, µs', 'before', 'after', 'after / before, median (quartiles)'], rows);
}
