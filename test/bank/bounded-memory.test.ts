import { expect, test } from 'vitest';
import { createTestClient } from '../support/bank-client.ts';
import { readNewPaths, startForgetfulBank } from '../support/many-paths.ts';
import { keptMegabytes } from '../support/memory.ts';

/** How much more may be kept after 6,500 more paths, in megabytes, once the cache is full. */
const mostGrowth = 1.5;

test('14,000 paths, each of another caller, leave no more than the cache may hold', async () => {
  await using bank = await startForgetfulBank();
  // No call may be refused because the machine is slow.
  const patient = { timeoutMs: 120_000, waitMs: 120_000, slowCallMs: 120_000, breakerThreshold: 0 };
  const cacheBytes = 2 * 1024 * 1024;
  await using client = createTestClient(bank.url, {
    publicCacheTtlMs: 600_000,
    publicCacheBytes: cacheBytes,
    connections: 32,
    ...patient,
  });
  await readNewPaths(client, 0, 1000);
  const empty = await keptMegabytes();
  await readNewPaths(client, 1000, 6_500);
  const full = await keptMegabytes();
  await readNewPaths(client, 7_500, 6_500);
  expect((await keptMegabytes()) - full).toBeLessThan(mostGrowth);
  expect(full - empty).toBeLessThan(3);
  expect(bank.arrived()).toBe(14_000);
});
