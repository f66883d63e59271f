import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql, bankqlOf } from '../contenders.ts';
import type { Running } from '../measure.ts';
import { type Shape, shapes, titleOf } from '../shapes.ts';
import { describeRatios, median, openBursts } from './bursts.ts';

/** What a change costs: two checkouts of bankql, asked in turn. */

const bursts = 60;
const warmUpSeconds = 2;

async function measurePairs(before: Running, after: Running, shape: Shape) {
  const burstBefore = await openBursts(before, shape, warmUpSeconds);
  const burstAfter = await openBursts(after, shape, warmUpSeconds);
  const pairs: { readonly before: number; readonly after: number }[] = [];
  for (let turn = 0; turn < bursts; turn++) {
    progress(`${titleOf(shape)}, burst ${turn + 1} of ${bursts}`);
    // Each is first as often as the other.
    if (turn % 2 === 0) pairs.push({ before: await burstBefore(), after: await burstAfter() });
    else {
      const after = await burstAfter();
      pairs.push({ before: await burstBefore(), after });
    }
  }
  return pairs;
}

/** The table of processor times, this checkout's against the other's. */
export async function compareWithBefore(bench: Bench, checkout: string): Promise<string> {
  const { options, bank, say } = bench;
  bank.set({ bodies: 'fresh' });
  await using before = await bench.open(bankqlOf(checkout));
  await using after = await bench.open(bankql);
  const lines = [
    '| processor time, µs | before | after | after / before, median (quartiles) |',
    '| --- | ---: | ---: | ---: |',
  ];
  for (const shape of shapes.filter(({ name }) => options.shapes?.has(name) ?? true)) {
    say(`  ${titleOf(shape)}`);
    const pairs = await measurePairs(before, after, shape);
    const micros = (name: 'before' | 'after') => median(pairs.map((pair) => pair[name])).toFixed(1);
    const ratios = describeRatios(pairs.map((pair) => pair.after / pair.before));
    lines.push(`| ${titleOf(shape)} | ${micros('before')} | ${micros('after')} | ${ratios} |`);
  }
  return lines.join('\n');
}
