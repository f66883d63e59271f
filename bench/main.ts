import { progress } from '../test/long/progress.ts';
import { openBench } from './bench.ts';
import { endAll } from './load/process.ts';
import { readOptions } from './options.ts';
import { reportOf, writeReport } from './report/write.ts';
import { compareWithBefore } from './sections/before.ts';
import { profile } from './sections/profile.ts';
import { measureAll } from './sections/results.ts';

/** The bench: see README.md. */

process.on('exit', endAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

if (process.platform !== 'linux')
  throw new Error('the bench reads processor time from /proc: it needs Linux');
const options = readOptions(process.argv.slice(2));
const started = performance.now();
await using bench = await openBench(options);
const alone =
  options.before !== null
    ? compareWithBefore(bench, options.before)
    : options.profile !== null
      ? profile(bench, options.profile)
      : null;
if (alone !== null) {
  process.stdout.write(`${await alone}\n`);
  process.exit();
}
const results = await measureAll(bench);
progress(null);
const report = reportOf(bench, results, (performance.now() - started) / 60_000);
process.stdout.write(`${report.page}\n${report.details}\n`);
if (options.write) await writeReport(report);

const failed = [results.a, results.b]
  .flatMap((section) => section ?? [])
  .filter(({ failure, contender }) => failure?.what === 'failed' || (failure !== null && contender.isExact));
if (failed.length > 0) {
  process.stderr.write(`${failed.length} comparisons failed: see above.\n`);
  process.exitCode = 1;
}
