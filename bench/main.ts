import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBench } from './bench.ts';
import { endAll } from './load/process.ts';
import { readOptions } from './options.ts';
import { pageOf } from './report/page.ts';
import { compareWithBefore } from './sections/before.ts';
import { type Measured, measureGrowth, measurePeers, reasonOf } from './sections/interleave.ts';
import { type MemoryResult, measureMemory } from './sections/memory.ts';
import { profile } from './sections/profile.ts';
import { measureStart, type StartResult } from './sections/start.ts';

/** Runs the bench: see README.md. */

/** The results of the sections, without those that were left out or failed. */
export type Results = { a?: Measured[]; b?: Measured[]; c?: MemoryResult; d?: StartResult };

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
  const results: Results = {};
  const all = { a: measurePeers, b: measureGrowth, c: measureMemory, d: measureStart };
  for (const [name, section] of Object.entries(all)) {
    if (!options.sections.has(name)) continue;
    bench.say(`section ${name}`);
    try {
      Object.assign(results, { [name]: await section(bench) });
    } catch (error) {
      // The results of the other sections are still useful.
      bench.say(`  section ${name} failed: ${reasonOf(error)}`);
      process.exitCode = 1;
    }
  }
  const page = pageOf(bench, results, (performance.now() - started) / 60_000);
  process.stdout.write(`${page}\n${JSON.stringify(results.c ?? {})}\n`);
  if (options.write) writeFileSync(join(import.meta.dirname, '../docs/performance.md'), page);
  const { a = [], b = [] } = results;
  if ([...a, ...b].some(({ failure }) => failure !== null)) process.exitCode = 1;
}
process.exit();
