import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { search, startWorkers } from './search.ts';
import { brokenOverPostgres, brokenVariants, sound, soundOverPostgres } from './variants.ts';

/** `npm run check:simulation` runs more seeds, and all broken variants. */

function worker() {
  const workers = startWorkers(1);
  onTestFinished(async () => {
    for (const started of workers) await started.terminate();
  });
  return workers;
}

test('some seeds break no invariant, and payments are accepted, refused and left unknown in them', async () => {
  const { seed, seeds, counts } = await search(worker(), sound.name, 1, 40);
  expect({ seed, seeds }).toEqual({ seed: null, seeds: 40 });
  for (const code of ['DONE', 'OUTCOME_UNKNOWN', 'IDEMPOTENCY_IN_PROGRESS', 'STATE_UNAVAILABLE'])
    expect(counts[`told: ${code}`]).toBeGreaterThan(10);
  expect(counts['requests that the bank received']).toBeGreaterThan(40);
});

test("over PostgreSQL's own client some seeds break no invariant, and a store that is not asked to confirm is found out", async () => {
  const workers = worker();
  const { seed, counts } = await search(workers, soundOverPostgres.name, 1, 20);
  expect(seed).toBeNull();
  for (const code of ['DONE', 'STATE_UNAVAILABLE']) expect(counts[`told: ${code}`]).toBeGreaterThan(0);
  const broken = brokenOverPostgres.find(({ name }) => name.startsWith('sent without a confirmed record'));
  expect((await search(workers, broken?.name ?? '', 1, 20)).seed).not.toBeNull();
});

test('a seed leaves the same trace every time, whatever ran before it', async () => {
  const used = worker();
  await search(used, sound.name, 1, 10);
  const again = await search(used, sound.name, 11, 10);
  const fresh = await search(worker(), sound.name, 11, 10);
  expect(again).toEqual(fresh);
  expect((await search(used, sound.name, 21, 10)).traceHash).not.toBe(fresh.traceHash);
});

test('a broken variant is found out, and its seed tells the shortest schedule, every time the same', async () => {
  const [variant] = brokenVariants.filter(({ name }) => name === 'replay not checked');
  const { seed } = await search(worker(), variant?.name ?? '', 1, 100);
  expect(seed).not.toBeNull();
  const tell = () =>
    promisify(execFile)(process.execPath, [
      join(import.meta.dirname, '../long/check-simulation.ts'),
      ...['--seed', String(seed), '--variant', variant?.name ?? ''],
    ]).then(
      () => 'no violation',
      ({ code, stdout }) => `${code}\n${stdout}`,
    );
  const [told, toldAgain] = [await tell(), await tell()];
  expect(toldAgain).toBe(told);
  // The exit code of a violation.
  expect(told.startsWith('1\n')).toBe(true);
  expect(told).toContain('(at most one POST for a key while the store keeps its records)');
  // Nothing has to go wrong for it: the payment is asked for once more when all is well.
  expect(told).toContain('what departs from the usual course (0 of ');
  expect(told.match(/the bank receives/g)?.length).toBeGreaterThan(1);
});
