import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, openBench } from './bench.ts';
import { endAll } from './load/process.ts';
import { readOptions, type SectionName } from './options.ts';
import { pageOf } from './report/page.ts';
import { compareWithBefore } from './sections/before.ts';
import { measureGrowth, measurePeers, reasonOf } from './sections/interleave.ts';
import { measureMemory } from './sections/memory.ts';
import { profile } from './sections/profile.ts';
import { measureStart } from './sections/start.ts';

/** The bench: see README.md. */

const sections = { a: measurePeers, b: measureGrowth, c: measureMemory, d: measureStart };

/** The result of each section; undefined if it was left out, or failed. */
export type Results = {
  readonly [Name in SectionName]?: Awaited<ReturnType<(typeof sections)[Name]>> | undefined;
};

async function measure<Name extends SectionName>(bench: Bench, name: Name): Promise<Results[Name]> {
  if (!bench.options.sections.has(name)) return undefined;
  bench.say(`section ${name}`);
  try {
    return (await sections[name](bench)) as Results[Name];
  } catch (error) {
    bench.say(`  section ${name} failed: ${reasonOf(error)}`);
    // The others are worth having all the same.
    process.exitCode = 1;
    return undefined;
  }
}

process.on('exit', endAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

if (process.platform !== 'linux')
  throw new Error('the bench reads processor time from /proc: it needs Linux');
const options = readOptions(process.argv.slice(2));
const started = performance.now();
await using bench = await openBench(options);
if (options.before !== null) process.stdout.write(`${await compareWithBefore(bench, options.before)}\n`);
else if (options.profile !== null) process.stdout.write(`${await profile(bench, options.profile)}\n`);
else {
  const [a, b] = [await measure(bench, 'a'), await measure(bench, 'b')];
  const results: Results = { a, b, c: await measure(bench, 'c'), d: await measure(bench, 'd') };
  const page = pageOf(bench, results, (performance.now() - started) / 60_000);
  process.stdout.write(`${page}\n${JSON.stringify(results.c ?? {})}\n`);
  if (options.write) writeFileSync(join(import.meta.dirname, '../docs/performance.md'), page);
  if ([a, b].some((section) => section?.some(({ failure }) => failure !== null))) process.exitCode = 1;
}
process.exit();
