import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { memoryOf } from '../../bench/load/kernel.ts';
import { type LoadOptions, startLoad } from './memory/load.ts';
import { startTarget } from './memory/target.ts';

const watchMs = 50;

/**
 * Watches a process' resident memory, and ends it as the kernel would once it was more than so many megabytes. What was
 * resident between two looks is not missed, since the kernel notes the most. It is stricter than a container's limit, from
 * which the kernel takes back the pages of Node's program before it ends a process.
 */
function watchMemory(pid: number, megabytes: number) {
  let resident = memoryOf(pid);
  let isKilled = false;
  const timer = setInterval(() => {
    const seen = orElse(() => memoryOf(pid), resident);
    // Of one that has just ended there is no number.
    if (seen.most > 0) resident = seen;
    if (isKilled || resident.most <= megabytes) return;
    isKilled = true;
    process.kill(pid, 'SIGKILL');
  }, watchMs);
  return {
    /** In megabytes: now, and at most since the start. */
    resident: () => resident,
    isKilled: () => isKilled,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** How many files and sockets a process has open; none, where it has ended. */
const descriptorsOf = (pid: number): number => orElse(() => readdirSync(`/proc/${pid}/fd`), []).length;

/** What V8's heap has in use, in megabytes, garbage that was not collected yet among it. */
async function usedHeap(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^bankql_nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]) / 1024 ** 2;
}

/** A process that has ended has no more entries in /proc. */
function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/**
 * `node test/long/check-small-memory.ts [--seconds N] [--megabytes N] [--unique PERCENT] [--connections N]
 * [--load SHARE]`: bankql as a process, asked the bench's Q4, some with texts that nobody sent before, by 64 connections as fast as it answers, or with
 * `--load 0.7` at 70 % of the rate that it reaches so. With `--megabytes` it has the heap of a container of that size, and is killed
 * once more is resident. Exit code 1 where it was, where an answer is neither good nor 503, where what its heap keeps grows
 * after the first third, or where descriptors stay open.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    megabytes: { type: 'string' },
    unique: { type: 'string', default: '10' },
    connections: { type: 'string', default: '64' },
    load: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const megabytes = values.megabytes === undefined ? null : Number(values.megabytes);
const connections = Number(values.connections);
const uniquePercent = Number(values.unique);
const share = values.load === undefined ? null : Number(values.load);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (![seconds, megabytes ?? 1, uniquePercent, connections, share ?? 1].every((number) => number > 0)) {
  say('Give --seconds, --megabytes, --unique, --connections and --load as numbers above 0.');
  process.exit(2);
}

/** More texts than the document cache has room for in any heap, so that it is full before anything is measured. */
const warmUpTexts = 1000;
const saturationSeconds = 10;
const lineEveryMs = 15_000;
/** How much more the heap may keep at the end than after a third, in megabytes: what is under way differs by that much. */
const mostGrowth = 7;
/** Connections of callers, of the bank's pools for reads and writes, and what Node has open besides. */
const mostDescriptors = connections + 2 * 64 + 64;

await using target = await startTarget(megabytes);
const { pid } = target;
using memory = watchMemory(pid, megabytes ?? Number.POSITIVE_INFINITY);

let startedAt = performance.now();
let nextLineAt = startedAt + lineEveryMs;

/** Waits, and says every 15 seconds how things stand. */
async function watchFor(forSeconds: number, load: ReturnType<typeof startLoad>): Promise<void> {
  const until = performance.now() + forSeconds * 1000;
  while (performance.now() < until && !target.hasEnded()) {
    await delay(Math.min(500, until - performance.now()));
    if (performance.now() < nextLineAt) continue;
    nextLineAt += lineEveryMs;
    const { now, most } = memory.resident();
    const heap = await usedHeap(target.metricsUrl).catch(() => Number.NaN);
    const at = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(5);
    say(
      `${at} s  ${now.toFixed(0)} MB resident, at most ${most.toFixed(0)}; heap ${heap.toFixed(0)} MB; ${descriptorsOf(pid)} descriptors; ${JSON.stringify(load.outcomes())}`,
    );
  }
}

/** Loads it for so long; how many answers were good each second. */
async function rateOver(forSeconds: number, options: Pick<LoadOptions, 'uniquePercent' | 'perSecond'>) {
  const load = startLoad({ url: target.url, connections, ...options });
  await watchFor(forSeconds, load);
  await load.stop();
  return (load.outcomes()['200'] ?? 0) / forSeconds;
}

say(
  `at rest: ${memory.resident().now.toFixed(0)} MB resident, ${descriptorsOf(pid)} descriptors; then ${warmUpTexts} texts`,
);
const warmUp = startLoad({ url: target.url, connections, uniquePercent: 100, perSecond: null });
while (!target.hasEnded() && warmUp.sent() < warmUpTexts) await watchFor(0.5, warmUp);
await warmUp.stop();
const full = share === null ? null : await rateOver(saturationSeconds, { uniquePercent, perSecond: null });
const perSecond = share === null || full === null ? null : share * full;
say(
  perSecond === null
    ? `${connections} connections as fast as it answers, for ${seconds} s`
    : `${perSecond.toFixed(0)} requests a second, of ${full?.toFixed(0)} that it answers at most, for ${seconds} s`,
);

startedAt = performance.now();
nextLineAt = startedAt + lineEveryMs;
const load = startLoad({ url: target.url, connections, uniquePercent, perSecond });
await watchFor(seconds / 3, load);
const descriptorsBefore = descriptorsOf(pid);
const before = await target.liveHeap().catch(() => Number.NaN);
const measuredFrom = performance.now();
if (!target.hasEnded())
  say(`after a third: the heap keeps ${before.toFixed(1)} MB, ${descriptorsBefore} descriptors`);
await watchFor((seconds * 2) / 3, load);
const after = await target.liveHeap().catch(() => Number.NaN);
const minutes = (performance.now() - measuredFrom) / 60_000;
const descriptorsAfter = descriptorsOf(pid);
const { most } = memory.resident();
const isKilled = memory.isKilled();
const hasEnded = target.hasEnded();
await load.stop();

const outcomes = load.outcomes();
const wrong = Object.keys(outcomes).filter((outcome) => outcome !== '200' && outcome !== '503 OVERLOADED');
const growth = after - before;
if (!hasEnded)
  say(
    `at the end: the heap keeps ${after.toFixed(1)} MB (${(growth / minutes).toFixed(2)} MB a minute), ${descriptorsAfter} descriptors, at most ${most.toFixed(0)} MB resident`,
  );
say(JSON.stringify(outcomes));
const faults = [
  ...(isKilled ? [`it was killed: more than ${megabytes} MB were resident`] : []),
  ...(hasEnded && !isKilled ? [`it ended: ${target.output().slice(-2000)}`] : []),
  ...(hasEnded || wrong.length === 0 ? [] : [`answers that are neither good nor 503: ${wrong.join(', ')}`]),
  ...(growth > mostGrowth ? [`the heap keeps ${growth.toFixed(1)} MB more than after a third`] : []),
  ...(descriptorsAfter > mostDescriptors ? [`${descriptorsAfter} descriptors are open`] : []),
];
for (const fault of faults) say(`FAILED: ${fault}`);
say(`verdict: ${faults.length === 0 ? 'good' : 'failed'}`);
process.exitCode = faults.length === 0 ? 0 : 1;
