import { execFileSync } from 'node:child_process';
import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { valueBytes } from '../../src/capacity.ts';
import { readConfig } from '../../src/config/config.ts';
import { inForce } from '../../src/config/environment.ts';
import { memoryBounds, memoryBoundsOf } from '../../src/config/memory-bounds.ts';

const megabyte = 1024 * 1024;
/** All but the number of requests, in megabytes. */
const inMegabytes = (heap: number) => {
  const { requests, ...bytes } = memoryBoundsOf(heap * megabyte);
  return Object.fromEntries(Object.entries(bytes).map(([name, each]) => [name, each / megabyte]));
};

test('a usual heap has room for all, and only the answers being built take more of a larger one', () => {
  const most = {
    documents: 64,
    publicAnswers: 32,
    arrivingAnswers: 256,
    automaticTexts: 16,
    unwrittenLines: 32,
    unreadAnswers: 256,
    arrivingRequests: 64,
  };
  expect(inMegabytes(2048)).toEqual({ ...most, builtAnswers: 512 });
  expect(inMegabytes(65_536)).toEqual({ ...most, builtAnswers: 4096 });
  expect(memoryBoundsOf(2048 * megabyte).requests).toBe(256);
});

test('a small heap is shared out: all that is kept in it, when it is full, is less than half', () => {
  expect(inMegabytes(192)).toEqual({
    documents: 12,
    publicAnswers: 6,
    arrivingAnswers: 24,
    automaticTexts: 3,
    unwrittenLines: 3,
    unreadAnswers: 24,
    arrivingRequests: 12,
    builtAnswers: 48,
  });
  // Bytes that come from the network or wait for it are outside of the heap.
  const { unreadAnswers: _, arrivingRequests: __, arrivingAnswers: ___, ...inHeap } = inMegabytes(192);
  const total = Object.values(inHeap).reduce((sum, each) => sum + each, 0);
  expect(total).toBeLessThan(192 / 2);
  expect(memoryBoundsOf(192 * megabyte).requests).toBe(192);
});

test('what a variable says stands, whatever the heap', () => {
  const given = readConfig({ LIMIT_UNREAD_BYTES: String(2 ** 33), MAX_IN_FLIGHT: '5000' });
  const { totals } = given.server.capacity;
  expect([totals.unread, totals.requests]).toEqual([2 ** 33, 5000]);
  expect(memoryBounds).toEqual(memoryBoundsOf(getHeapStatistics().heap_size_limit));
  expect(readConfig({})).toMatchObject({
    memoryBounds,
    server: {
      capacity: {
        totals: {
          requests: memoryBounds.requests,
          arriving: memoryBounds.arrivingRequests,
          values: Math.floor(memoryBounds.builtAnswers / valueBytes),
          unread: memoryBounds.unreadAnswers,
        },
      },
    },
    bankLimits: {
      publicCacheBytes: memoryBounds.publicAnswers,
      arrivingBytes: memoryBounds.arrivingAnswers,
    },
  });
});

test('config show says what is in force on this machine, and why', () => {
  const line = inForce({}, new Map())
    .split('\n')
    .find((each) => each.startsWith('LIMIT_UNREAD_BYTES='));
  expect(line).toMatch(
    new RegExp(
      `^LIMIT_UNREAD_BYTES=${memoryBounds.unreadAnswers} +# default: 268435456, or an eighth of the heap if that is less$`,
    ),
  );
});

test('a process with a small heap keeps less', () => {
  const bounds = join(import.meta.dirname, '../../src/config/memory-bounds.ts');
  const small = execFileSync(process.execPath, [
    '--max-old-space-size=100',
    '--max-semi-space-size=8',
    '--input-type=module',
    '--eval',
    `import { memoryBounds } from ${JSON.stringify(bounds)}; console.log(memoryBounds.documents)`,
  ]);
  expect(Number(small)).toBeLessThan(9 * megabyte);
  expect(Number(small)).toBeGreaterThan(6 * megabyte);
});
