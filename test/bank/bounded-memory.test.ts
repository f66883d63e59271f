import { expect, test } from 'vitest';
import { AnswerCache } from '../../src/bank/shared-reads.ts';
import { createTestClient } from '../support/bank-client.ts';
import { readNewPaths, startForgetfulBank } from '../support/many-paths.ts';
import { keptMegabytes } from '../support/memory.ts';

/** How much more may be kept after 12,500 more paths, in megabytes, once the caches are full: 170 bytes for each. */
const mostGrowth = 2;

test('32,000 paths, each of another caller, leave no more than the caches may hold', async () => {
  await using bank = await startForgetfulBank();
  // No call may be refused because the machine is slow.
  const patient = { timeoutMs: 120_000, waitMs: 120_000, slowCallMs: 120_000, breakerThreshold: 0 };
  const cacheBytes = 8 * 1024 * 1024;
  await using client = createTestClient(bank.url, {
    publicCacheTtlMs: 600_000,
    publicCacheBytes: cacheBytes,
    parsedCacheBytes: cacheBytes,
    connections: 32,
    ...patient,
  });
  await readNewPaths(client, 0, 1000);
  const empty = await keptMegabytes();
  await readNewPaths(client, 1000, 18_500);
  const full = await keptMegabytes();
  await readNewPaths(client, 19_500, 12_500);
  expect((await keptMegabytes()) - full).toBeLessThan(mostGrowth);
  // 8 MB of answers, and as much of public ones.
  expect(full - empty).toBeLessThan(18);
  expect(bank.arrived()).toBe(32_000);
});

test('public answers are bounded by what they take, however short they are', () => {
  const cache = new AnswerCache<object>(60_000, 100_000);
  const keys = Array.from({ length: 10_000 }, (_, index) => `key ${index}`);
  for (const key of keys) cache.set(key, {}, 0);
  const kept = keys.filter((key) => cache.get(key));
  expect(kept.length).toBeGreaterThan(100);
  expect(kept.length).toBeLessThan(200);
  expect(kept.at(-1)).toBe(keys.at(-1));
});
