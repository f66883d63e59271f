import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PaymentStore } from '../../src/payments/store.ts';
import { openStore } from '../../src/payments/stores/open-store.ts';
import { done, pending } from '../payments/stores/store-conformance.ts';
import { durable as durablePostgres, hasPostgres, startPostgres, startStandby } from '../support/postgres.ts';
import { progress } from './progress.ts';

/**
 * `npm run check:stores [seconds]`: how many payments a second each store takes, with 1 and with 32 callers at once. A payment is
 * what bankql does with the store for one: `begin`, and `finish`. The servers are of this machine, and keep what they are told.
 */
const seconds = Number(process.argv[2] ?? 5);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0)) {
  say('Give the seconds for each measurement as a number.');
  process.exit(2);
}

await using made = new AsyncDisposableStack();

interface Measured {
  readonly name: string;
  readonly url: () => Promise<string>;
  readonly waitReplicas?: number;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'bankql-stores-'));
  made.defer(() => rm(path, { recursive: true }));
  return path;
}

const confirming = { ...durablePostgres, synchronous_standby_names: '*' };

async function clusterUrl(): Promise<string> {
  const primary = made.use(await startPostgres(durablePostgres));
  made.use(await startStandby(primary, confirming));
  await primary.kill();
  await primary.restart(confirming);
  return primary.url;
}

const stores: readonly Measured[] = [
  { name: 'memory', url: async () => 'memory:' },
  { name: 'SQLite', url: async () => `sqlite:${join(await folder(), 'state.db')}` },
  ...(hasPostgres
    ? [
        { name: 'PostgreSQL', url: async () => made.use(await startPostgres(durablePostgres)).url },
        { name: 'PostgreSQL, a standby confirms', url: clusterUrl, waitReplicas: 1 },
      ]
    : []),
];

/** Payments a second, and how long the slowest hundredth of them took at least, in milliseconds. */
async function measure(store: PaymentStore, callers: number): Promise<{ rate: number; slow: number }> {
  const times: number[] = [];
  let refused = 0;
  const began = performance.now();
  const end = began + seconds * 1000;
  const pay = async () => {
    while (performance.now() < end) {
      const [id, trackId, now, start] = [randomUUID(), randomUUID(), Date.now(), performance.now()];
      const record = pending({ id, trackId, createdAt: now, updatedAt: now, leaseUntil: now + 60_000 });
      const isBegun = await store.begin(record, 60_000).then(
        (found) => found === null,
        () => false,
      );
      if (isBegun) await store.end({ id, trackId, outcome: done }).catch(() => refused++);
      else refused++;
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: callers }, pay));
  const took = (performance.now() - began) / 1000;
  times.sort((a, b) => a - b);
  if (refused > 0) say(`  (${refused} of ${times.length} were refused or not ended)`);
  return { rate: (times.length - refused) / took, slow: times[Math.floor(times.length * 0.99)] ?? 0 };
}

say('| store | payments/s, 1 caller | p99 | payments/s, 32 callers | p99 |');
say('| --- | ---: | ---: | ---: | ---: |');
for (const [nth, { name, url }] of stores.entries()) {
  progress(`${name}, store ${nth + 1} of ${stores.length}`);
  const store = await openStore(await url(), { retentionMs: 86_400_000, create: true });
  await measure(store, 4);
  const cells: string[] = [];
  for (const callers of [1, 32]) {
    progress(`${name}, store ${nth + 1} of ${stores.length}: ${callers} callers`);
    const { rate, slow } = await measure(store, callers);
    cells.push(rate.toFixed(0), `${slow.toFixed(1)} ms`);
  }
  await store.close();
  say(`| ${name} | ${cells.join(' | ')} |`);
}
progress(null);
