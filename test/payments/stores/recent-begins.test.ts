import { expect, test } from 'vitest';
import { createRecentBegins } from '../../../src/payments/stores/recent-begins.ts';

const begin = (id: string, createdAt: number) => ({ id, trackId: `t-${createdAt}`, createdAt });

test('keeps the latest 4,096 beginnings, oldest first', () => {
  const recent = createRecentBegins();
  for (let n = 0; n < 5_000; n++) recent.add(begin(`p-${n}`, n));
  const kept = recent.list();
  expect(kept).toHaveLength(4_096);
  expect([kept.at(0)?.id, kept.at(-1)?.id]).toEqual(['p-904', 'p-4999']);
});

test('knows of an id its latest beginning, unless that was rolled back', () => {
  const recent = createRecentBegins();
  for (const [n, id] of ['a', 'b', 'a'].entries()) recent.add(begin(id, n));
  expect(recent.list()).toEqual([begin('b', 1), begin('a', 2)]);
  recent.delete('a');
  expect(recent.list()).toEqual([begin('b', 1)]);
});
