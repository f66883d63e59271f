import { parseArgs } from 'node:util';
import { postgresStates, type StateKind, sharedStates } from '../support/payment-states.ts';
import { judge } from './payment-history/checker.ts';
import { runHistory } from './payment-history/run.ts';
import { makePlan } from './payment-history/workload.ts';
import { counted, progress } from './progress.ts';

/**
 * `npm run check:payments -- [--operations N] [--store sqlite|postgres|standby|all] [--seed N]`: sends payments with random
 * clients, faults and crashes, and then checks that no payment was sent twice and no answer was false. Exit code 1 if a check
 * fails.
 */
const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '5000' },
    store: { type: 'string', default: 'all' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const operations = Number(values.operations);
const seed = Number(values.seed);
const stores: Readonly<Record<string, readonly StateKind[]>> = {
  sqlite: sharedStates.filter(({ name }) => name === 'SQLite'),
  postgres: postgresStates.filter(({ name }) => !name.includes('standby')),
  standby: postgresStates.filter(({ name }) => name.includes('standby')),
};
const kinds = values.store === 'all' ? Object.values(stores).flat() : (stores[values.store] ?? []);
const say = (line: string) => process.stdout.write(`${line}\n`);

if (!Number.isInteger(operations) || operations < 1 || !Number.isInteger(seed) || kinds.length === 0) {
  say(
    'Give --operations and --seed as whole numbers, and --store as sqlite, postgres, standby (if PostgreSQL is installed) or all.',
  );
  process.exit(2);
}
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => interrupted.abort(new Error(`${signal}: stopped`)));

const plan = makePlan(seed, operations, { waitMs: 200, pauseMs: 3000 });
let violated = 0;

async function checkHistory(kind: StateKind): Promise<void> {
  say(`${kind.name}: ${operations} operations, seed ${seed}`);
  const history = await runHistory(plan, kind, interrupted.signal, (asked) =>
    progress(`${kind.name}: operation ${counted(asked)} of ${counted(operations)}`),
  );
  const { counts, violations } = judge(history);
  for (const [what, times] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
    say(`  ${String(times).padStart(6)}  ${what}`);
  say(`  ${String(violations.length).padStart(6)}  VIOLATIONS, in ${history.seconds} s`);
  for (const violation of violations.slice(0, 50)) say(`          ${violation}`);
  violated += violations.length;
}

try {
  for (const kind of kinds) await checkHistory(kind);
} catch (error) {
  if (!interrupted.signal.aborted) throw error;
  say('Interrupted; all that was started has ended.');
  process.exit(130);
}
process.exit(violated > 0 ? 1 : 0);
