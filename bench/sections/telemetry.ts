import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { type Shape, shapes, titleOf } from '../shapes.ts';
import { describeRatios, median, openBursts } from './bursts.ts';

/**
 * What it costs to watch bankql: the line of the log for each operation, by one process that writes it in every second burst
 * and not in the others; the metrics, by processes that keep them beside others that do not. Two processes of one version
 * differ by 5 % and more, so that there are several pairs of them.
 */

const pairs = 4;
const turns = 8;
/** Until V8 has compiled what is asked for often: both of a pair are to be at the same point, and are asked as often. */
const warmUpSeconds = 3;
/** After the signal the level is read from its file, in milliseconds. */
const reloadMs = 50;

/** Processor times without something and with it, in microseconds a request. */
interface Pair {
  readonly without: number;
  readonly with: number;
}

/** What one pair of processes took: for the line in each turn, for the metrics in the median of all turns. */
interface Watched {
  readonly line: readonly Pair[];
  readonly metrics: Pair;
}

async function measurePair(bench: Bench, shape: Shape, folder: string): Promise<Watched> {
  const open = async (name: string, environment: Readonly<Record<string, string>>) => {
    const file = join(folder, name);
    await writeFile(file, 'warn');
    const running = await bench.open(bankql, { ...environment, LOG_LEVEL_FILE: file });
    const burst = await openBursts(running, shape, warmUpSeconds);
    const burstAt = async (level: 'warn' | 'info') => {
      await writeFile(file, level);
      process.kill(running.process.pid, 'SIGHUP');
      await delay(reloadMs);
      return burst();
    };
    /** One burst at each level; each is first as often as the other. */
    const burstsOf = async (turn: number): Promise<Pair> => {
      if (turn % 2 === 0) return { without: await burstAt('warn'), with: await burstAt('info') };
      const withLine = await burstAt('info');
      return { without: await burstAt('warn'), with: withLine };
    };
    return { burstsOf, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
  };
  await using plain = await open('plain', {});
  await using metered = await open('metered', { METRICS_PORT: '0' });
  const line: Pair[] = [];
  const withMetrics: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    line.push(await plain.burstsOf(turn));
    withMetrics.push((await metered.burstsOf(turn)).without);
  }
  return {
    line,
    metrics: { without: median(line.map(({ without }) => without)), with: median(withMetrics) },
  };
}

/** The table of processor times with and without. */
export async function measureTelemetry(bench: Bench): Promise<string> {
  const { options, bank, say } = bench;
  bank.set({ bodies: 'fresh' });
  const folder = await mkdtemp(join(tmpdir(), 'bankql-levels-'));
  const lines = [
    '| processor time | with neither, µs | the line, µs more | with / without, median (quartiles) | metrics, µs more | with / without, median (quartiles) |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
  ];
  for (const shape of shapes.filter(({ name }) => options.shapes?.has(name) ?? true)) {
    say(`  ${titleOf(shape)}`);
    const measured: Watched[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      progress(`${titleOf(shape)}, pair ${pair + 1} of ${pairs}`);
      measured.push(await measurePair(bench, shape, folder));
    }
    const line = measured.flatMap((pair) => pair.line);
    const metrics = measured.map((pair) => pair.metrics);
    const more = (all: readonly Pair[]) => [
      median(all.map((each) => each.with - each.without)).toFixed(1),
      describeRatios(all.map((each) => each.with / each.without)),
    ];
    const neither = median(line.map(({ without }) => without)).toFixed(1);
    lines.push(`| ${[titleOf(shape), neither, ...more(line), ...more(metrics)].join(' | ')} |`);
  }
  await rm(folder, { recursive: true });
  return lines.join('\n');
}
