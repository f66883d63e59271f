import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { startProcess } from '../support/process.ts';
import { createSender, type Hostile, hostileRequests } from './hostile-requests.ts';
import { startOutageBank } from './outage-bank.ts';

/**
 * `node test/long/check-hostile.ts [--seconds N] [--rate N]`: bankql in its own process, over a bank that answers at
 * once. How long each hostile request takes to be refused, and what a good caller feels of all of them, one after the
 * other without a pause. Exit code 1 where a refusal takes too long, one is answered otherwise, or the good caller
 * waits too long.
 */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '15' }, rate: { type: 'string', default: '50' } },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0) || !(rate > 0)) {
  say('Give --seconds and --rate as numbers above 0.');
  process.exit(2);
}

/** The median of a refusal, in milliseconds. */
const longestRefusalMs = 20;
/** What a good caller's 99th percentile may be: so many times what it is alone, or so many milliseconds more. */
const mostTimes = 2;
const mostMoreMs = 20;

await using bank = await startOutageBank();
await using bankql = await startProcess({
  BANK_BASE_URL: bank.url,
  BANK_ID: 'BANK',
  STATE_URL: 'memory:',
  LOG_LEVEL: 'fatal',
});
const end = () => void bankql.stop('SIGKILL').then(() => process.exit(130));
process.once('SIGINT', end).once('SIGTERM', end);
const mallory = createSender(bankql.url, 'mallory');
const alice = createSender(bankql.url, 'alice');

/** The attack when bankql has time for it: the one before may have left it with too much to do, or cost the connection. */
async function attackInPeace(hostile: Hostile) {
  for (let attempt = 1; ; attempt++) {
    const outcome = await mallory.send(hostile);
    if ((outcome.status !== 503 && outcome.status !== 0) || attempt === 20) return outcome;
    await delay(150);
  }
}

/** A good caller's reads, so many a second whatever comes back: how long they took, and how many were not answered. */
async function goodCaller() {
  const waits: Promise<number>[] = [];
  let refused = 0;
  const beginning = performance.now();
  while (performance.now() - beginning < seconds * 1000) {
    const due = beginning + (waits.length * 1000) / rate;
    await delay(Math.max(0, due - performance.now()));
    const query = `{ bank { customer(customerId: "c${waits.length}") { email } } }`;
    waits.push(
      alice.send({ body: JSON.stringify({ query }) }).then(({ text }) => {
        if (!text.startsWith('{"data":{"bank":{"customer":{"email"')) refused++;
        return performance.now() - due;
      }),
    );
  }
  return { p99: at(0.99, await Promise.all(waits)), asked: waits.length, refused };
}

const at = (share: number, numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(share * (numbers.length - 1))] ?? Number.NaN;
const failures: string[] = [];

await goodCaller();
const alone = await goodCaller();

say('refused                                    status   bytes  median ms    max ms');
for (const hostile of hostileRequests) {
  const before = bank.arrived();
  const rounds: Awaited<ReturnType<typeof mallory.send>>[] = [];
  for (let round = 0; round < 20; round++) rounds.push(await attackInPeace(hostile));
  const times = rounds.map(({ milliseconds }) => milliseconds);
  const [{ status, text } = { status: 0, text: '' }] = rounds;
  const median = at(0.5, times);
  say(
    `${hostile.what.padEnd(42)} ${String(status).padStart(6)} ${String(text.length).padStart(7)} ` +
      `${median.toFixed(1).padStart(10)} ${at(1, times).toFixed(1).padStart(9)}`,
  );
  if (median > longestRefusalMs) failures.push(`${hostile.what}: ${median.toFixed(1)} ms`);
  if (status === 0 || status >= 500 || !text.includes('"errors"'))
    failures.push(`${hostile.what}: answered with ${status}`);
  if (bank.arrived() > before) failures.push(`${hostile.what}: reached the bank`);
}

// In a thread of its own: what the attacker has to do himself must not make the good caller look slow.
const attacker = new Worker(new URL('./hostile-attacker.ts', import.meta.url), { workerData: bankql.url });
const besides = await goodCaller();
attacker.postMessage('end');
const [attacks] = await once(attacker, 'message');
say(
  `good caller, ${rate} a second: p99 ${alone.p99.toFixed(1)} ms alone, ${besides.p99.toFixed(1)} ms besides ` +
    `${attacks} attacks in ${seconds} s; ${besides.refused} of ${besides.asked} not answered`,
);
if (besides.p99 > Math.max(alone.p99 * mostTimes, alone.p99 + mostMoreMs))
  failures.push(`the good caller: p99 ${besides.p99.toFixed(1)} ms`);
if (besides.refused > 0) failures.push(`the good caller: ${besides.refused} not answered`);
for (const failure of failures) say(`failed: ${failure}`);
await Promise.all([mallory.close(), alice.close()]);
process.off('SIGINT', end).off('SIGTERM', end);
process.exitCode = failures.length === 0 ? 0 : 1;
