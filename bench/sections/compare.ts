import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql, bankqlOf, bankqlWithTelemetry, type Contender } from '../contenders.ts';
import { askOnce, fire } from '../load/fire.ts';
import { cpuOf } from '../load/kernel.ts';
import { requestsOf } from '../load/requests.ts';
import type { Running } from '../measure.ts';
import type { Options } from '../options.ts';
import { type Shape, shapes, titleOf } from '../shapes.ts';

/** What one thing costs: bankql with it and without, asked in turn in bursts so short that the machine's drift meets both. */

const bursts = 60;
const burstSeconds = 0.3;
const warmUpSeconds = 2;
const connections = 32;
/** A request that is refused because something else is late would not be the same work. */
const environment = { MAX_EVENT_LOOP_LAG_MS: '10000' };

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? Number.NaN;

/** Processor time of each burst for a request, in microseconds. Errors: an answer that is not the first one's. */
async function measureBursts(before: Running, after: Running, shape: Shape) {
  const burstOf = async (running: Running) => {
    const requests = requestsOf(shape.query, running.port);
    const [request = Buffer.alloc(0)] = requests;
    const { body: expected } = await askOnce(running.port, request);
    const load = { port: running.port, requests, connections, expected };
    await fire({ ...load, seconds: warmUpSeconds });
    return async () => {
      const cpu = cpuOf(running.process.pid);
      const fired = await fire({ ...load, seconds: burstSeconds });
      return (cpuOf(running.process.pid) - cpu) / fired.requests;
    };
  };
  const [burstBefore, burstAfter] = [await burstOf(before), await burstOf(after)];
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

/** The two of which is asked what one costs beyond the other; null where all are measured. */
export function comparedOf({ before, telemetry }: Pick<Options, 'before' | 'telemetry'>) {
  if (before !== null) return [bankqlOf(before), bankql] as const;
  return telemetry ? ([bankql, bankqlWithTelemetry] as const) : null;
}

/** The table of processor times, the second one's against the first one's. */
export async function compare(bench: Bench, first: Contender, second: Contender): Promise<string> {
  const { options, bank, say } = bench;
  bank.set({ bodies: 'fresh' });
  await using before = await bench.open(first, environment);
  await using after = await bench.open(second, environment);
  const lines = [
    `| processor time, µs | ${first.title} | ${second.title} | second / first, median (quartiles) |`,
    '| --- | ---: | ---: | ---: |',
  ];
  for (const shape of shapes.filter(({ name }) => options.shapes?.has(name) ?? true)) {
    say(`  ${titleOf(shape)}`);
    const pairs = await measureBursts(before, after, shape);
    const ratios = pairs.map((pair) => pair.after / pair.before);
    const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3));
    const micros = (name: 'before' | 'after') =>
      quantile(
        pairs.map((pair) => pair[name]),
        0.5,
      ).toFixed(1);
    lines.push(
      `| ${titleOf(shape)} | ${micros('before')} | ${micros('after')} | ${middle} (${low} to ${high}) |`,
    );
  }
  return lines.join('\n');
}
