import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import bundle from '../support/bundle.ts';
import { hasNginx, replicas } from '../support/nginx.ts';
import { hasPostgres } from '../support/postgres.ts';
import { progress, waitSeconds } from './progress.ts';
import { type Asked, good, outcomeOf, startLoad, tally } from './rolling/load.ts';
import { startTopology, type Topology } from './rolling/topology.ts';

/**
 * `node test/long/check-rolling.ts [--restarts N] [--rate N] [--outage-seconds N]`: runs nginx, two replicas and a PostgreSQL
 * with the settings of ops/compose, under `--rate` requests a second, of which one in ten is a payment. First it restarts the
 * replicas in turn: every answer must be good, and every payment must be at the bank once. Then it ends a replica, and the
 * PostgreSQL, with SIGKILL: it prints the outcomes, and no payment may be at the bank twice. Exit code 1 if one of these fails.
 */
const { values } = parseArgs({
  options: {
    restarts: { type: 'string', default: '10' },
    rate: { type: 'string', default: '200' },
    'outage-seconds': { type: 'string', default: '10' },
  },
});
const [restarts, rate, outageSeconds] = [
  Number(values.restarts),
  Number(values.rate),
  Number(values['outage-seconds']),
];
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(restarts > 0) || !(rate > 0) || !(outageSeconds > 0)) {
  say('Give --restarts, --rate and --outage-seconds as numbers above 0.');
  process.exit(2);
}
if (!hasNginx || !hasPostgres) {
  say('skipped: nginx and PostgreSQL are not both installed here');
  process.exit(0);
}

const problems: string[] = [];
const check = (isSo: boolean, problem: string) => {
  if (!isSo) problems.push(problem);
};

const paymentsOf = (asked: readonly Asked[]) =>
  asked.flatMap(({ key, outcome }) => (key === null ? [] : [{ key, outcome }]));

async function rollingRestarts({ url, bank, roll }: Topology): Promise<void> {
  const load = startLoad(url, rate, 'rolling');
  const startedAt = performance.now();
  for (let nth = 1; nth <= restarts; nth++) {
    progress(`restart ${nth} of ${restarts}`);
    for (const replica of replicas) await roll(replica);
    say(`  restart ${nth}: ${JSON.stringify(tally(load.asked.filter(({ outcome }) => outcome !== null)))}`);
  }
  await load.stop();
  const payments = paymentsOf(load.asked);
  const once = payments.filter(({ key }) => bank.of(key).length === 1).length;
  const seconds = (performance.now() - startedAt) / 1000;
  say(`  ${load.asked.length} requests in ${seconds.toFixed(0)} s: ${JSON.stringify(tally(load.asked))}`);
  say(`  ${payments.length} payments, ${once} of them at the bank once`);
  const bad = load.asked.filter(({ outcome }) => outcome !== good).length;
  check(bad === 0, `${bad} answers during rolling restarts were not good`);
  check(once === payments.length, 'a payment was not at the bank once');
}

/** Causes a failure under load, repairs it, and settles open payments by repeating them with the same keys. */
async function outage(
  { url, bank }: Topology,
  name: string,
  harm: () => Promise<void>,
  undo: () => Promise<void>,
): Promise<void> {
  const load = startLoad(url, rate, name);
  await delay(2000);
  const harmedAt = performance.now();
  await harm();
  await waitSeconds(outageSeconds, `without the ${name}`);
  await undo();
  const undoneAt = performance.now();
  await waitSeconds(outageSeconds, `with the ${name} again`);
  await load.stop();
  const during = load.asked.filter(({ startedAt }) => startedAt >= harmedAt && startedAt < undoneAt);
  const after = load.asked.filter(({ startedAt }) => startedAt >= undoneAt);
  const lastBad = load.asked.findLast(({ outcome }) => outcome !== good);
  say(`  during: ${JSON.stringify(tally(during))}`);
  say(`  after:  ${JSON.stringify(tally(after))}`);
  if (lastBad !== undefined && lastBad.startedAt >= undoneAt)
    say(`  all good from ${((lastBad.startedAt - undoneAt) / 1000).toFixed(1)} s after it was undone`);

  const open = paymentsOf(load.asked).filter(({ outcome }) => outcome !== good);
  const settled = await Promise.all(open.map(async ({ key }) => settle(url, key)));
  say(`  ${open.length} payments asked for again under their keys: ${JSON.stringify(count(settled))}`);
  for (const { key, outcome } of paymentsOf(load.asked)) {
    const times = bank.of(key).length;
    check(times <= 1, `${key} was at the bank ${times} times`);
    if (outcome === good)
      check(times === 1, `${key} was told to be paid, and was at the bank ${times} times`);
  }
}

/** Repeats a request until the outcome of the payment is known, as a client does. */
async function settle(url: string, key: string): Promise<string> {
  for (const end = performance.now() + 60_000; ; await delay(500)) {
    const outcome = await outcomeOf(url, key);
    if (outcome === good || outcome.includes('UNKNOWN') || performance.now() > end) return outcome;
  }
}

const count = (words: readonly string[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(words, (word) => word)).map(([word, all = []]) => [word, all.length]),
  );

// The timeouts are those of the tests, so that no payment fails because a slow machine makes the store slow.
await bundle();
await using topology = await startTopology();
const end = () => void topology[Symbol.asyncDispose]().then(() => process.exit(130));
process.once('SIGINT', end).once('SIGTERM', end);
say(`${rate} requests a second, one in ten a payment`);
say(`${restarts} rolling restarts of both replicas:`);
await rollingRestarts(topology);
say('SIGKILL of a replica:');
await outage(
  topology,
  'replica',
  () => topology.kill('bankql-1'),
  () => topology.start('bankql-1'),
);
say('SIGKILL of the PostgreSQL:');
await outage(
  topology,
  'postgres',
  () => topology.postgres.kill(),
  () => topology.postgres.restart(),
);
progress(null);
for (const problem of problems.slice(0, 20)) say(`FAILED: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
