import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../test/support/loopback.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { askOnce, fire } from '../load/fire.ts';
import { requestsOf } from '../load/requests.ts';
import { table } from '../report/markdown.ts';
import { shapes } from '../shapes.ts';
import { inspect, inspectable } from './inspector.ts';

/** A query's processor time, function by function. */

const warmUpSeconds = 3;
const profileSeconds = 5;
const listed = 15;

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Time without functions below it, as a share of the time that was not idle; the most expensive first. */
function expensiveFunctions({ nodes, samples, timeDeltas }: Profile) {
  const root = pathToFileURL(join(import.meta.dirname, '../../')).href;
  const titles = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || 'anonymous'}${url === '' ? '' : ` ${url.replace(root, '')}:${lineNumber + 1}`}`,
    ]),
  );
  const times = new Map<string, number>();
  let total = 0;
  // Before the first sample, the profiler was starting.
  for (const [index, id] of samples.entries().drop(1)) {
    const title = titles.get(id) ?? '';
    if (title === '(idle)' || title === '(program)') continue;
    const took = timeDeltas[index] ?? 0;
    total += took;
    times.set(title, (times.get(title) ?? 0) + took);
  }
  return [...times]
    .sort(([, one], [, other]) => other - one)
    .slice(0, listed)
    .map(([title, time]) => [title, ((100 * time) / total).toFixed(1)]);
}

/** Writes a CPU profile of a query under load. Shape: the table of its most expensive functions. */
export async function profile(bench: Bench, name: string): Promise<string> {
  const shape = shapes.find((each) => each.name === name);
  if (shape === undefined) throw new Error(`there is no ${name}`);
  bench.bank.reset();
  await using running = await bench.open(bankql, inspectable(await freePort()));
  await using inspector = await inspect(running);
  const { port } = running;
  const requests = requestsOf(shape.query, port);
  const expected = await askOnce(port, requests[0] ?? Buffer.alloc(0));
  const load = { port, requests, connections: 32, expected };
  await fire({ ...load, seconds: warmUpSeconds });
  await inspector.post('Profiler.enable');
  await inspector.post('Profiler.setSamplingInterval', { interval: 500 });
  await inspector.post('Profiler.start');
  await fire({ ...load, seconds: profileSeconds });
  const { profile } = await inspector.post<{ profile: Profile }>('Profiler.stop');
  const file = `bankql-${name}.cpuprofile`;
  await writeFile(file, JSON.stringify(profile));
  return `${file} has the profile. The most expensive functions, by their own share of the time that was not idle:\n\n${table(['function', '%'], expensiveFunctions(profile))}`;
}
