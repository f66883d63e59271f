import { copyFile, readdir, readFile } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { askOnce, fire, requestsOf } from '../load/fire.ts';
import { table } from '../report/statistics.ts';
import { shapes } from '../shapes.ts';

/** The processor time of a query, by function. */

const warmUpSeconds = 3;
const profileSeconds = 5;

/**
 * The time of each function without the functions that it calls, as a share of the time that was not idle; the most expensive
 * first.
 */
function expensiveFunctions({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile) {
  const root = pathToFileURL(join(import.meta.dirname, '../../')).href;
  const titles = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || 'anonymous'}${url === '' ? '' : ` ${url.replace(root, '')}:${lineNumber + 1}`}`,
    ]),
  );
  const times = new Map<string, number>();
  let total = 0;
  // The samples begin with the start and the warm-up, which are skipped.
  let left = timeDeltas.reduce((sum, delta) => sum + delta, 0) - profileSeconds * 1e6;
  for (const [index, id] of samples.entries()) {
    const title = titles.get(id) ?? '';
    const took = timeDeltas[index] ?? 0;
    left -= took;
    if (left > 0 || title === '(idle)' || title === '(program)') continue;
    total += took;
    times.set(title, (times.get(title) ?? 0) + took);
  }
  return [...times]
    .sort(([, one], [, other]) => other - one)
    .slice(0, 15)
    .map(([title, time]) => [title, ((100 * time) / total).toFixed(1)]);
}

/** Writes a CPU profile of a query under load. Shape: the table of its most expensive functions. */
export async function profile(bench: Bench, name: string): Promise<string> {
  const shape = shapes.find((each) => each.name === name);
  if (shape === undefined) throw new Error(`there is no ${name}`);
  bench.bank.reset();
  const flags = ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${bench.folder}`];
  await using running = await bench.open(bankql, { NODE_OPTIONS: flags.join(' ') });
  const expected = await askOnce(running.port, shape.query);
  const load = { port: running.port, requests: requestsOf(shape.query, running.port), expected };
  await fire({ ...load, connections: 32, seconds: warmUpSeconds });
  await fire({ ...load, connections: 32, seconds: profileSeconds });
  // Node writes the profile of each thread at its end; the main thread has the id 0.
  await running.terminate();
  const written = (await readdir(bench.folder)).find((each) => /\.0\.\d+\.cpuprofile$/.test(each)) ?? '';
  const file = `bankql-${name}.cpuprofile`;
  await copyFile(join(bench.folder, written), file);
  const rows = expensiveFunctions(JSON.parse(await readFile(file, 'utf8')));
  return `${file} has the profile, with the start. The most expensive functions of the last ${profileSeconds} s, by their own share of the time that was not idle:\n\n${table(['function', '%'], rows)}`;
}
