import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { type Shape, shapes, titleOf } from '../shapes.ts';
import { describeRatios, neverLate, openBursts, quantile } from './bursts.ts';

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

type Level = 'warn' | 'info';

/** One pair's processor times, in microseconds a request. */
interface Watched {
  readonly line: { readonly without: number; readonly with: number }[];
  readonly metrics: { readonly without: number; readonly with: number };
}

async function measurePair(bench: Bench, shape: Shape, folder: string): Promise<Watched> {
  const open = async (name: string, environment: Readonly<Record<string, string>>) => {
    const file = join(folder, name);
    await writeFile(file, 'warn');
    const running = await bench.open(bankql, { ...neverLate, ...environment, LOG_LEVEL_FILE: file });
    const burst = await openBursts(running, shape, warmUpSeconds);
    const burstAt = async (level: Level) => {
      await writeFile(file, level);
      process.kill(running.process.pid, 'SIGHUP');
      await delay(reloadMs);
      return burst();
    };
    return { burstAt, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
  };
  await using plain = await open('plain', {});
  await using metered = await open('metered', { METRICS_PORT: '0' });
  const line: Watched['line'] = [];
  const [withoutMetrics, withMetrics]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < turns; turn++) {
    // Each is first as often as the other.
    const levels: readonly Level[] = turn % 2 === 0 ? ['warn', 'info'] : ['info', 'warn'];
    const taken = { warn: 0, info: 0 };
    for (const level of levels) taken[level] = await plain.burstAt(level);
    line.push({ without: taken.warn, with: taken.info });
    for (const level of levels) {
      const burst = await metered.burstAt(level);
      if (level === 'warn') withMetrics.push(burst);
    }
    withoutMetrics.push(taken.warn);
  }
  return { line, metrics: { without: quantile(withoutMetrics, 0.5), with: quantile(withMetrics, 0.5) } };
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
    const more = (all: readonly { readonly without: number; readonly with: number }[]) => ({
      us: quantile(
        all.map((each) => each.with - each.without),
        0.5,
      ).toFixed(1),
      ratios: describeRatios(all.map((each) => each.with / each.without)),
    });
    const neither = quantile(
      line.map(({ without }) => without),
      0.5,
    ).toFixed(1);
    const cells = [more(line), more(metrics)].flatMap(({ us, ratios }) => [us, ratios]);
    lines.push(`| ${[titleOf(shape), neither, ...cells].join(' | ')} |`);
  }
  await rm(folder, { recursive: true });
  return lines.join('\n');
}
