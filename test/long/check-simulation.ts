import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { search, startWorkers } from '../simulation/search.ts';
import { shrink, simulate } from '../simulation/simulate.ts';
import {
  brokenOverPostgres,
  brokenVariants,
  sound,
  soundOverPostgres,
  type Variant,
  variantOf,
} from '../simulation/variants.ts';
import { counted, progress } from './progress.ts';

/**
 * `npm run check:simulation -- [--seeds N] [--from N] [--no-variants]`: payments in a simulated world, a seed at a time (a twentieth of
 * them over bankql's own client of PostgreSQL as well), and each broken variant until it is found out. `--seed N [--variant NAME]
 * [--full]` runs one seed and tells what happened in it: the shortest schedule if it breaks an invariant, all of it with `--full`.
 * Exit code 1 if an invariant does not hold, or a variant is not found out. See docs/payment-protocol.md.
 */
const { values } = parseArgs({
  allowNegative: true,
  options: {
    seeds: { type: 'string', default: '20000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    variant: { type: 'string', default: sound.name },
    variants: { type: 'boolean', default: true },
    full: { type: 'boolean', default: false },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const numbers = [values.seeds, values.from, values.seed ?? '1'].map(Number);
const [seeds = 0, from = 0, one = 0] = numbers;

if (!numbers.every((number) => Number.isSafeInteger(number) && number > 0)) {
  say('Give --seeds, --from and --seed as whole numbers above zero.');
  process.exit(2);
}

/** Seeds within which a broken variant has to be found out. */
const maxVariantSeeds = 1000;
const workers = values.seed === undefined ? startWorkers(availableParallelism()) : [];

async function tell(seed: number, variant: Variant): Promise<boolean> {
  const run = await simulate(seed, { variant, keepsLines: true });
  const isBroken = run.violations.length > 0;
  const told = isBroken && !values.full ? await shrink(seed, run, { variant }) : run;
  say(`seed ${seed}, ${variant.name}: trace ${run.traceHash}`);
  say(`  what departs from the usual course (${told.departures.length} of ${run.departures.length}):`);
  for (const departure of told.departures) say(`    ${departure}`);
  say('  what happens:');
  for (const line of told.lines) say(`    ${line}`);
  say(`  VIOLATIONS: ${told.violations.length}`);
  for (const { text } of told.violations) say(`    ${text}`);
  return isBroken;
}

const showSeeds = (name: string, count: number) => (run: number) =>
  progress(`${name}: seed ${counted(run)} of ${counted(count)}`);

async function checkSound(variant: Variant, count: number): Promise<boolean> {
  const started = performance.now();
  const {
    seed,
    seeds: run,
    counts,
    traceHash,
  } = await search(workers, variant.name, from, count, showSeeds(variant.name, count));
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  say(`${variant.name}: ${run} seeds from ${from} in ${seconds} s, trace ${traceHash}`);
  for (const [what, times] of Object.entries(counts).sort()) say(`  ${String(times).padStart(8)}  ${what}`);
  say(`  ${String(Number(seed !== null)).padStart(8)}  VIOLATIONS`);
  return seed === null || !(await tell(seed, variant));
}

async function checkVariant({ name }: Variant): Promise<boolean> {
  const { seed, seeds: run } = await search(
    workers,
    name,
    1,
    maxVariantSeeds,
    showSeeds(name, maxVariantSeeds),
  );
  say(seed === null ? `  NOT FOUND in ${run} seeds: ${name}` : `  found at seed ${seed}: ${name}`);
  return seed !== null;
}

if (values.seed !== undefined) process.exit((await tell(one, variantOf(values.variant))) ? 1 : 0);
let holds = await checkSound(sound, seeds);
holds = (await checkSound(soundOverPostgres, Math.ceil(seeds / 20))) && holds;
if (values.variants) {
  say('Variants that are broken on purpose:');
  for (const variant of [...brokenVariants, ...brokenOverPostgres])
    holds = (await checkVariant(variant)) && holds;
}
process.exit(holds ? 0 : 1);
