import { expect, test } from 'vitest';
import { confirmingStandbys, unconfirmed } from '../../../../src/payments/stores/postgres/session.ts';

test.each([
  ['', 0],
  [' ', 0],
  ['*', 1],
  ['a, b', 1],
  ['2 (a, b, c)', 2],
  ['FIRST 3 (a, b, c)', 3],
  ['any 2(*)', 2],
  ['"2 (a"', 1],
])('synchronous_standby_names = %j has %d confirm', (names, count) => {
  expect(confirmingStandbys(names)).toBe(count);
});

test.each([
  ['on', '', 0, null],
  ['local', '', 0, null],
  ['remote_write', '*', 1, null],
  ['off', '*', 0, /synchronous_commit is off/],
  ['local', '*', 0, /no standby confirms/],
  ['on', '', 1, /is empty, and STATE_WAIT_REPLICAS is 1/],
  ['on', 'FIRST 1 (a, b)', 2, /has 1 confirm a payment, and STATE_WAIT_REPLICAS is 2/],
] as const)(
  'synchronous_commit = %s with "%s" for %d replicas',
  (synchronousCommit, standbyNames, replicas, reason) => {
    const found = unconfirmed({ synchronousCommit, standbyNames }, replicas);
    if (reason === null) expect(found).toBeNull();
    else expect(found).toMatch(reason);
  },
);
