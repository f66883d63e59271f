import { parseArgs } from 'node:util';
import { searchAccepted } from './accepted-search.ts';
import { tryCallers } from './hostile-callers.ts';
import { progress } from './progress.ts';

/**
 * `npm run check:hostile [-- --seconds N --seed N]`: a search of N seconds for the dearest requests that are accepted, and what
 * callers within the limits do to others. Exit code 1 if an accepted request is too dear, if a good caller is refused or waits
 * too long, or if the process dies or grows too large. `--seed` repeats the random choices of a run.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const seconds = Number(values.seconds);
const seed = Number(values.seed);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0) || !Number.isInteger(seed)) {
  say('Give --seconds as a number above 0, --seed as a whole one.');
  process.exit(2);
}
const failures = [...(await searchAccepted({ seconds, seed, say })), ...(await tryCallers(say))];
progress(null);
for (const failure of failures) say(`failed: ${failure}`);
say(`verdict: ${failures.length > 0 ? 'failed' : 'good'}`);
process.exitCode = failures.length > 0 ? 1 : 0;
