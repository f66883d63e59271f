import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf, centsOf } from '../../src/sandbox/money.ts';

const euros = (text: string) => centsOf('value.amount', text, 'EUR');

test.each([
  ['12000.10', 'EUR', 1_200_010n, '12000.10'],
  ['1', 'EUR', 100n, '1.00'],
  ['-0.05', 'EUR', -5n, '-0.05'],
  ['1.50e2', 'EUR', 15_000n, '150.00'],
  ['100e-2', 'EUR', 100n, '1.00'],
  ['1.1000', 'EUR', 110n, '1.10'],
  ['384000', 'JPY', 384_000n, '384000'],
  ['1.005', 'KWD', 1005n, '1.005'],
  ['9007199254740993.25', 'EUR', 900_719_925_474_099_325n, '9007199254740993.25'],
])('%s %s is exactly that many of its smallest unit', (text, currency, cents, written) => {
  expect(centsOf('a', text, currency)).toBe(cents);
  expect(amountOf(cents, currency)).toBe(written);
});

test('an amount finer than its currency is refused', () => {
  expect(() => euros('1.005')).toThrow('Invalid amount');
  expect(() => centsOf('a', '0.5', 'JPY')).toThrow('Invalid amount');
});

test('every amount of cents is read as it was written', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), (cents) => {
      expect(euros(amountOf(cents, 'EUR'))).toBe(cents);
    }),
  );
});

test('more digits than the bank keeps are refused before a number is made of them', () => {
  for (const fits of ['0', `${'9'.repeat(30)}.99`, '1e29', '-1.5']) expect(() => euros(fits)).not.toThrow();
  for (const unfit of [
    `1${'9'.repeat(30)}`,
    '1e30',
    '1e-19',
    '1e999999999',
    '0e-999999999',
    `${'0.'}${'0'.repeat(900)}e890`,
  ])
    expect(() => euros(unfit)).toThrow('value.amount');
});
