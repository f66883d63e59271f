import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../support/loopback.ts';
import { startProcess } from '../support/process.ts';
import { liveHeap } from './live-heap.ts';
import { type Outage, outages, startOutageBank } from './outage-bank.ts';
import { type Ask, startLoad } from './outage-load.ts';
import { progress, waitSeconds } from './progress.ts';

/**
 * `node test/long/check-outage.ts [--seconds N] [--rate N] [--kind closed|503|hang|all]`: bankql in its own process,
 * asked for so many reads a second while the bank goes away and comes back. Exit code 1 where the bank is asked more
 * than it may, where its breaker does not open, where it takes too long until reads are answered again, or where more
 * than a tenth of the memory stays in use.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    rate: { type: 'string', default: '100' },
    kind: { type: 'string', default: 'all' },
  },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);
const kinds = outages.filter((kind) => values.kind === 'all' || values.kind === kind);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0) || !(rate > 0) || kinds.length === 0) {
  say('Give --seconds and --rate as numbers above 0, and --kind as closed, 503, hang or all.');
  process.exit(2);
}

/** Calls at the bank for each that is asked for, while it is away. */
const mostCalls = 1.1;
/** From the bank's return to the first good answer. */
const longestRecoverySeconds = 35;
const warmUpMs = 5000;
/** The memory in use after the bank is back, to what it was before it went. */
const mostMemory = 1.1;

interface Measured {
  readonly kind: Outage;
  readonly offered: number;
  readonly atBank: number;
  readonly ratio: number;
  /** From the beginning of the outage to the first refusal of the open breaker; null where there was none. */
  readonly openedAfterMs: number | null;
  readonly refused: number;
  readonly p99Ms: number;
  /** Null: not in the time that it may take. */
  readonly recoverySeconds: number | null;
  /** What is in use once the garbage is collected. */
  readonly megabytes: readonly [before: number, after: number];
  readonly outcomes: Readonly<Record<string, number>>;
}

async function measure(kind: Outage): Promise<Measured> {
  await using bank = await startOutageBank();
  const metricsPort = await freePort();
  const inspectPort = await freePort();
  await using bankql = await startProcess({
    BANK_BASE_URL: bank.url,
    BANK_ID: 'BANK',
    STATE_URL: 'memory:',
    METRICS_PORT: String(metricsPort),
    // Each call that fails is a warning.
    LOG_LEVEL: 'error',
    NODE_OPTIONS: `--inspect=127.0.0.1:${inspectPort}`,
  });
  const end = () => void bankql.stop('SIGKILL').then(() => process.exit(130));
  process.once('SIGINT', end).once('SIGTERM', end);

  const load = startLoad(bankql.url, rate);
  await waitSeconds(warmUpMs / 1000, `before the outage (${kind})`);
  const heapBefore = await liveHeap(inspectPort);
  const before = await readMetrics(metricsPort);
  const arrivedBefore = bank.arrived();
  const wentAt = performance.now();
  await bank.goAway(kind);
  await waitSeconds(seconds, `the bank is away (${kind})`);
  const after = await readMetrics(metricsPort);
  const arrived = bank.arrived() - arrivedBefore;
  await bank.comeBack();
  progress(`the bank is back (${kind})`);
  const cameAt = performance.now();
  const recoverySeconds = await firstGood(load.asks, cameAt);
  await delay(3000);
  await load.stop();
  const heapAfter = await liveHeap(inspectPort);
  process.off('SIGINT', end).off('SIGTERM', end);

  const during = load.asks.filter(({ startedAt }) => startedAt >= wentAt && startedAt < cameAt);
  const openedAt = Math.min(
    ...during.map(({ outcome, endedAt }) => (outcome === 'refused' ? (endedAt ?? Infinity) : Infinity)),
  );
  // Those that were asked for before it opened waited for their first attempt.
  const refused = during.filter(({ outcome, startedAt }) => outcome === 'refused' && startedAt >= openedAt);
  // At a closed port nothing arrives: what counts is how often bankql tried.
  const atBank = kind === 'closed' ? after.calls - before.calls : arrived;
  const outcomes = Object.entries(Object.groupBy(during, ({ outcome }) => outcome ?? 'no end')).map(
    ([outcome, asks = []]) => [outcome, asks.length] as const,
  );
  return {
    kind,
    offered: during.length,
    atBank,
    ratio: atBank / during.length,
    openedAfterMs: Number.isFinite(openedAt) ? openedAt - wentAt : null,
    refused: refused.length,
    p99Ms: p99(refused),
    recoverySeconds,
    megabytes: [heapBefore, heapAfter],
    outcomes: Object.fromEntries(outcomes),
  };
}

/** Until the first read that was asked for after this moment is answered. */
async function firstGood(asks: readonly Ask[], since: number): Promise<number | null> {
  while (performance.now() - since < (longestRecoverySeconds + 5) * 1000) {
    const good = asks.find(({ startedAt, outcome }) => startedAt >= since && outcome === 'good');
    if (good?.endedAt) return (good.endedAt - since) / 1000;
    await delay(20);
  }
  return null;
}

function p99(asks: readonly Ask[]): number {
  const milliseconds = asks
    .flatMap(({ startedAt, endedAt }) => (endedAt === null ? [] : endedAt - startedAt))
    .toSorted((a, b) => a - b);
  return milliseconds[Math.floor(milliseconds.length * 0.99)] ?? Number.NaN;
}

/** How many calls left bankql so far. */
async function readMetrics(port: number) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const counts = text.matchAll(/^bankql_bank_call_seconds_count\{.*outcome="([^"]+)".*\} (\d+)/gm);
  let calls = 0;
  for (const [, outcome = '', count] of counts)
    if (outcome !== 'paused' && outcome !== 'overloaded') calls += Number(count);
  return { calls };
}

function faultsOf({ ratio, openedAfterMs, recoverySeconds, megabytes: [before, after] }: Measured): string[] {
  return [
    ...(ratio <= mostCalls ? [] : [`the bank was asked ${ratio.toFixed(2)} times for each read`]),
    ...(openedAfterMs === null ? ['the breaker did not open'] : []),
    ...(recoverySeconds !== null && recoverySeconds <= longestRecoverySeconds
      ? []
      : [`no good answer within ${longestRecoverySeconds} s of the bank's return`]),
    ...(after <= before * mostMemory
      ? []
      : [`${after.toFixed(1)} MB stay in use after ${before.toFixed(1)} MB`]),
  ];
}

const columns = [
  'bank is',
  'offered',
  'at bank',
  'ratio',
  'opens, s',
  'refused',
  'p99, ms',
  'good after, s',
  'heap, MB',
];
const rowOf = (measured: Measured): string[] => [
  measured.kind,
  String(measured.offered),
  String(measured.atBank),
  measured.ratio.toFixed(3),
  measured.openedAfterMs === null ? 'never' : (measured.openedAfterMs / 1000).toFixed(1),
  String(measured.refused),
  measured.p99Ms.toFixed(1),
  measured.recoverySeconds?.toFixed(1) ?? 'never',
  measured.megabytes.map((megabytes) => megabytes.toFixed(1)).join(' → '),
];
const line = (cells: readonly string[]) => cells.map((cell) => cell.padStart(13)).join('');

say(`${rate} reads a second; the bank is away for ${seconds} s`);
say(line(columns));
let failed = false;
for (const kind of kinds) {
  const measured = await measure(kind);
  say(line(rowOf(measured)));
  say(`${' '.repeat(13)}${JSON.stringify(measured.outcomes)}`);
  for (const fault of faultsOf(measured)) {
    failed = true;
    say(`${' '.repeat(13)}FAILED: ${fault}`);
  }
}
process.exit(failed ? 1 : 0);
