import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../test/support/loopback.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { askOnce, fire } from '../load/fire.ts';
import { requestsOf } from '../load/requests.ts';
import type { Running } from '../measure.ts';
import { number, table } from '../report/markdown.ts';
import { q3, type Shape, shapes } from '../shapes.ts';
import { type Inspector, inspect, inspectable } from './inspector.ts';

/** Where a query's processor time goes, function by function, and how many calls to bankql's functions it makes. */

const warmUpSeconds = 3;
const profileSeconds = 5;
/** Requests whose calls are counted, one at a time. */
const countedRequests = 20;
const listed = 10;

const root = join(import.meta.dirname, '../..');
const sources = pathToFileURL(join(root, 'src/')).href;

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
  const titles = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || 'anonymous'}${url === '' ? '' : ` ${url.replace(pathToFileURL(`${root}/`).href, '')}:${lineNumber + 1}`}`,
    ]),
  );
  const times = new Map<string, number>();
  let total = 0;
  for (const [index, id] of samples.entries()) {
    // Before the first sample, the profiler was starting.
    if (index === 0) continue;
    const title = titles.get(id) ?? '';
    if (title === '(idle)' || title === '(program)') continue;
    const took = timeDeltas[index] ?? 0;
    total += took;
    times.set(title, (times.get(title) ?? 0) + took);
  }
  return [...times]
    .sort(([, one], [, other]) => other - one)
    .slice(0, listed)
    .map(([title, time]) => ({ title, share: time / total }));
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

/** How many functions of src/ one request calls. The top-level code of a module does not count. */
async function callsToOwnFunctions(
  { post }: Inspector,
  { port }: Running,
  { query }: Shape,
): Promise<number> {
  const requests = requestsOf(query, port);
  const ask = async () => {
    for (const request of requests.slice(0, countedRequests)) await askOnce(port, request);
  };
  await ask();
  await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await ask();
  const { result } = await post<Coverage>('Profiler.takePreciseCoverage');
  await post('Profiler.stopPreciseCoverage');
  const calls = result
    .filter(({ url }) => url.startsWith(sources))
    .flatMap(({ functions }) => functions.flatMap(({ ranges: [range] }) => range ?? []))
    .reduce((sum, { startOffset, count }) => sum + (startOffset === 0 ? 0 : count), 0);
  return calls / countedRequests;
}

/** Writes a CPU profile of a query under load; the table of its most expensive functions, and the calls. */
export async function profile(bench: Bench, name: string): Promise<string> {
  const shape = shapes.find((each) => each.name === name);
  if (shape === undefined) throw new Error(`there is no ${name}`);
  bench.bank.reset();
  await using running = await bench.open(bankql, inspectable(await freePort()));
  await using inspector = await inspect(running);
  const { post } = inspector;
  await post('Profiler.enable');
  const [request = Buffer.alloc(0)] = requestsOf(shape.query, running.port, 1);
  const { body: expected } = await askOnce(running.port, request);
  const load = {
    port: running.port,
    requests: requestsOf(shape.query, running.port),
    connections: 32,
    expected,
  };
  await fire({ ...load, seconds: warmUpSeconds });
  await post('Profiler.setSamplingInterval', { interval: 500 });
  await post('Profiler.start');
  await fire({ ...load, seconds: profileSeconds });
  const { profile } = await post<{ profile: Profile }>('Profiler.stop');
  const file = `bankql-${name}.cpuprofile`;
  await writeFile(file, JSON.stringify(profile));
  const calls = await callsToOwnFunctions(inspector, running, shape);
  const base = await callsToOwnFunctions(inspector, running, q3);
  const perCall =
    shape.calls === 0
      ? ''
      : `, ${number((calls - base) / shape.calls)} for each of its ${shape.calls} REST calls beyond the ${number(base)} of { __typename }`;
  return [
    `${file} has the profile. The most expensive functions, by their own share of the time that was not idle:`,
    table(
      ['function', '%'],
      expensiveFunctions(profile).map(({ title, share }) => [title, (100 * share).toFixed(1)]),
    ),
    `One request makes ${number(calls)} calls to bankql's own functions${perCall}.`,
  ].join('\n\n');
}
