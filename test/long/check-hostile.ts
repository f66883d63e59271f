import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { reply, startFaultyBank } from '../support/faulty-bank.ts';
import { startProcess } from '../support/process.ts';
import { searchAccepted } from './accepted-search.ts';
import { pinApart } from './cores.ts';
import type { Attack } from './hostile-attacker.ts';
import { tryCallers } from './hostile-callers.ts';
import { createSender, type Hostile, hostileRequests } from './hostile-requests.ts';
import { progress } from './progress.ts';

/**
 * `node test/long/check-hostile.ts [--seconds N] [--rate N] [--attacks N] [--seed N]`: runs bankql on a core of its own, if
 * there is taskset, and the bank, an attacker and a good caller on another.
 *
 * It measures how long each hostile request takes to be refused, and how long a good caller (`--rate` reads a second) waits
 * during `--attacks` hostile requests a second. It also prints the wait during an attack without pauses, without a verdict.
 * Then it searches for the most expensive accepted requests (accepted-search.ts), for four times `--seconds`, and tests what
 * callers within the limits do to others (hostile-callers.ts). `--seed` repeats the random choices of a run.
 *
 * Exit code 1 if a refusal takes too long or is another answer, if the good caller waits too long or is refused, if the process
 * dies or grows too large, or if an accepted request is too expensive; 3 if the machine is too busy for a verdict.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '15' },
    rate: { type: 'string', default: '50' },
    attacks: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);
const attacks = Number(values.attacks);
const seed = Number(values.seed);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0) || !(rate > 0) || !(attacks > 0) || !Number.isInteger(seed)) {
  say('Give --seconds, --rate and --attacks as numbers above 0, --seed as a whole one.');
  process.exit(2);
}

/** The maximum of the median time of a refusal, in milliseconds. */
const longestRefusalMs = 20;
/** The maximum of a good caller's 99th percentile, as a multiple of its value without an attack. */
const mostTimes = 2;
/**
 * The 99th percentile, in milliseconds, up to which a slowdown is accepted whatever its factor. Otherwise, one refusal of
 * 10 ms in front of a request of 4 ms would fail the check.
 */
const unfeltMs = 50;
/** The maximum share of a core that other processes may use. With more, the check would measure them, and not bankql. */
const mostOfOthers = 0.1;

/** Answers at once. */
await using bank = await startFaultyBank(reply(200, '{"email":"somebody@bank.example"}'));
await using bankql = await startProcess({
  BANK_BASE_URL: bank.url,
  BANK_ID: 'BANK',
  STATE_URL: 'memory:',
  LOG_LEVEL: 'fatal',
});
const end = () => void bankql.stop('SIGKILL').then(() => process.exit(130));
process.once('SIGINT', end).once('SIGTERM', end);
say(`bankql and the rest: ${pinApart(bankql.child.pid ?? 0, process.pid)}`);
const mallory = createSender(bankql.url, 'mallory');
const alice = createSender(bankql.url, 'alice');

/**
 * Sends a hostile request. Repeats it if bankql cannot answer, because an earlier request may have overloaded bankql or closed
 * the connection.
 */
async function attackInPeace(hostile: Hostile) {
  for (let attempt = 1; ; attempt++) {
    const outcome = await mallory.send(hostile);
    if ((outcome.status !== 503 && outcome.status !== 0) || attempt === 20) return outcome;
    await delay(150);
  }
}

/** Seconds of processor time so far: of bankql, of this process, and of all processes; NaN without /proc. */
function computed() {
  const read = (file: string, skip: RegExp, fields: readonly number[]) => {
    try {
      const words = readFileSync(file, 'utf8').replace(skip, '').split(/\s+/);
      return fields.reduce((sum, field) => sum + Number(words[field]), 0) / 100;
    } catch {
      return Number.NaN;
    }
  };
  const process = (id: number | string | undefined) => read(`/proc/${id}/stat`, /^.*\) /s, [11, 12]);
  // User, nice, system, interrupts, and the time that the host took.
  const all = read('/proc/stat', /^cpu +/, [0, 1, 2, 5, 6, 7]);
  return { bankql: process(bankql.child.pid), self: process('self'), all };
}

/** Sends a good caller's reads at a fixed rate. Returns their durations, and the number without an answer. */
async function goodCaller() {
  const waits: Promise<number>[] = [];
  const lag = monitorEventLoopDelay({ resolution: 1 });
  lag.enable();
  let refused = 0;
  const before = computed();
  const beginning = performance.now();
  while (performance.now() - beginning < seconds * 1000) {
    const due = beginning + (waits.length * 1000) / rate;
    progress(`good caller: ${Math.floor((due - beginning) / 1000)} of ${seconds} s`);
    await delay(Math.max(0, due - performance.now()));
    const query = `{ bank { customer(customerId: "c${waits.length}") { email } } }`;
    waits.push(
      alice.send({ body: JSON.stringify({ query }) }).then(({ text }) => {
        if (!text.startsWith('{"data":{"bank":{"customer":{"email"')) refused++;
        return performance.now() - due;
      }),
    );
  }
  const all = await Promise.all(waits);
  lag.disable();
  const elapsed = (performance.now() - beginning) / 1000;
  const after = computed();
  const share = (after.bankql - before.bankql) / elapsed;
  const others = (after.all - before.all - (after.self - before.self)) / elapsed - share;
  const percent = (number: number) => `${(number * 100).toFixed(0)} %`;
  const described =
    `bankql computed ${percent(share)} of the time, others ${percent(others)}; ` +
    `the good caller was late itself by ${(lag.percentile(99) / 1e6).toFixed(1)} ms (p99)`;
  return { elapsed, others, described, p50: at(0.5, all), p99: at(0.99, all), asked: waits.length, refused };
}

const at = (share: number, numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(share * (numbers.length - 1))] ?? Number.NaN;
const failures: string[] = [];

await goodCaller();
const alone = await goodCaller();

say('refused                                    status   bytes  median ms    max ms');
for (const [nth, hostile] of hostileRequests.entries()) {
  progress(`${hostile.what}: hostile request ${nth + 1} of ${hostileRequests.length}`);
  const before = bank.requests.length;
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
  if (bank.requests.length > before) failures.push(`${hostile.what}: reached the bank`);
}

/** Measures the good caller during an attack. The attack runs in a thread of its own, so that its work does not count. */
async function besides(perSecond: number | null) {
  const workerData: Attack = { url: bankql.url, perSecond };
  const attacker = new Worker(new URL('./hostile-attacker.ts', import.meta.url), { workerData });
  const felt = await goodCaller();
  attacker.postMessage('end');
  const [made] = await once(attacker, 'message');
  const times = felt.p99 / alone.p99;
  say(
    `  besides ${perSecond === null ? 'attacks without a pause' : `${perSecond} attacks a second`} (${made} in ${felt.elapsed.toFixed(1)} s): ` +
      `p50 ${felt.p50.toFixed(1)} ms, p99 ${felt.p99.toFixed(1)} ms, ${times.toFixed(1)} times; ${felt.refused} of ${felt.asked} not answered; ${felt.described}`,
  );
  return { ...felt, times };
}
say(`good caller, ${rate} a second`);
say(`  alone: p50 ${alone.p50.toFixed(1)} ms, p99 ${alone.p99.toFixed(1)} ms; ${alone.described}`);
await besides(null);
await delay(1000);
const measured = await besides(attacks);
const isQuiet = !(Math.max(alone.others, measured.others) > mostOfOthers);
if (isQuiet && measured.times > mostTimes && measured.p99 > unfeltMs)
  failures.push(`the good caller: p99 is ${measured.times.toFixed(1)} times what it is alone`);
if (measured.refused > 0) failures.push(`the good caller: ${measured.refused} not answered`);
await Promise.all([mallory.close(), alice.close()]);
await bankql.stop();
failures.push(...(await searchAccepted({ seconds: 4 * seconds, seed, say })));
failures.push(...(await tryCallers(say)));
progress(null);
for (const failure of failures) say(`failed: ${failure}`);
process.off('SIGINT', end).off('SIGTERM', end);
const verdict = failures.length > 0 ? 'failed' : isQuiet ? 'good' : 'none, the machine is not quiet enough';
say(`verdict: ${verdict}`);
process.exitCode = failures.length > 0 ? 1 : isQuiet ? 0 : 3;
