import { expect, test } from 'vitest';
import { passwordsOf } from '../../../src/payments/stores/store-address.ts';

/** User and password, as an address has them. */
const who = 'me:p%2F%40';

test.each([`postgres://${who}@a,b/pay`, `postgresql://${who}@a/pay?sslmode=require`])(
  'knows the password of %s, as it is written and as it is sent',
  (url) => {
    expect(passwordsOf(url)).toEqual(expect.arrayContaining(['p%2F%40', 'p/@']));
  },
);

test.each(['memory:', 'sqlite:x', 'postgres://me@a,b/pay'])('%s has none', (url) => {
  expect(passwordsOf(url)).toEqual([]);
});

test('of an address that cannot be used the written one is known', () => {
  expect(passwordsOf(`postgres://${who}@a`)).toEqual(['p%2F%40']);
});
