import { expect, test } from 'vitest';
import { explore, faults } from './interleavings.ts';

/** The client of one process pays twice, and the client of the other once. The lease of the first attempt may end. */
const limits = { asks: [2, 1], ticks: 3 } as const;

test('in every order of the steps of two processes, a store and a bank, one payment is executed, and every answer to a client stays true', () => {
  const { violation, path, worlds, states, messages } = explore(limits);
  expect({ violation, path }).toEqual({ violation: null, path: [] });
  expect(worlds).toBeGreaterThan(100_000);
  expect([...states].sort()).toEqual(['DONE', 'FREE', 'LEASE_OVER', 'PENDING', 'REJECTED', 'UNKNOWN']);
  expect([...messages].sort()).toEqual(['begun', 'done', 'rejected', 'unknown']);
});

test.each(Object.entries(faults))('finds out that %s', (_, fault) => {
  const inFewWorlds = explore({ asks: [1, 1], ticks: 3 }, fault).violation;
  expect(inFewWorlds ?? explore(limits, fault).violation).not.toBeNull();
});
