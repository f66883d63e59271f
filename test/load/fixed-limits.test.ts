import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { valueBytes } from '../../src/load/capacity.ts';
import { type LimitName, limitRows, limits, limitsOf } from '../../src/load/fixed-limits.ts';

const megabyte = 1024 * 1024;
const inHeap = ['documentBytes', 'publicCacheBytes', 'unwrittenLogBytes'] as const satisfies LimitName[];
const outside = ['arrivingBankBytes', 'unreadBytes', 'arrivingBytes'] as const satisfies LimitName[];
/** The limits for a heap of this size, in megabytes. */
const inMegabytes = (heap: number) => {
  const these = limitsOf(heap * megabyte);
  const bytes = [...inHeap, ...outside].map((name) => [name, these[name] / megabyte]);
  return { ...Object.fromEntries(bytes), built: (these.builtValues * valueBytes) / megabyte };
};

test('a usual heap is enough for all limits, and only answers that are being built use more of a larger one', () => {
  const most = {
    documentBytes: 64,
    publicCacheBytes: 32,
    unwrittenLogBytes: 32,
    arrivingBankBytes: 256,
    unreadBytes: 256,
    arrivingBytes: 64,
  };
  expect(inMegabytes(2048)).toEqual({ ...most, built: 512 });
  expect(inMegabytes(65_536)).toEqual({ ...most, built: 4096 });
  expect(limitsOf(2048 * megabyte)).toMatchObject({ requests: 256, sockets: 16_384 });
});

test('the limits that depend on a small heap use less than half of it together', () => {
  const small = inMegabytes(192);
  expect(small).toEqual({
    documentBytes: 12,
    publicCacheBytes: 6,
    unwrittenLogBytes: 3,
    arrivingBankBytes: 24,
    unreadBytes: 24,
    arrivingBytes: 12,
    built: 48,
  });
  // Bytes that come from the network or wait for it are outside of the heap.
  expect(small.documentBytes + small.publicCacheBytes + small.unwrittenLogBytes + small.built).toBeLessThan(
    192 / 2,
  );
  expect(limitsOf(192 * megabyte)).toMatchObject({ requests: 192, sockets: 1536 });
});

test('they are in force, and a test may have others', () => {
  expect(limits).toEqual(limitsOf(getHeapStatistics().heap_size_limit));
  const of = (config: ReturnType<typeof readConfig>) => ({
    depth: config.server.documentLimits.depth,
    unread: config.server.capacity.totals.unread,
    body: config.bankLimits.maxBodyBytes,
  });
  expect(of(readConfig({}))).toEqual({ depth: 15, unread: limits.unreadBytes, body: 8 * megabyte });
  expect(of(readConfig({}, { ...limits, queryDepth: 3, unreadBytes: 7 }))).toMatchObject({
    depth: 3,
    unread: 7,
  });
});

test('each is printed with its unit, and with its part of the heap', () => {
  const rows = new Map(
    limitRows(limitsOf(192 * megabyte)).map(({ name, value, rule }) => [name, [value, rule]]),
  );
  expect(rows.get('queryTokens')).toEqual(['2000', '2000']);
  expect(rows.get('requestBytes')).toEqual(['100 kB', '100 kB']);
  expect(rows.get('operationMs')).toEqual(['20 s', '20 s']);
  expect(rows.get('breakerShare')).toEqual(['50 %', '50 %']);
  expect(rows.get('unreadBytes')).toEqual(['24 MB', '1/8 of the heap, at most 256 MB']);
  expect(rows.get('requests')).toEqual(['192', 'one for each 1 MB of the heap, at most 256']);
});

test('a process with a small heap keeps less', () => {
  const module = join(import.meta.dirname, '../../src/load/fixed-limits.ts');
  const small = execFileSync(process.execPath, [
    '--max-old-space-size=100',
    '--max-semi-space-size=8',
    '--input-type=module',
    '--eval',
    `import { limits } from ${JSON.stringify(module)}; console.log(limits.documentBytes)`,
  ]);
  expect(Number(small)).toBeLessThan(9 * megabyte);
  expect(Number(small)).toBeGreaterThan(6 * megabyte);
});
