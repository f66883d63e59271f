import fc from 'fast-check';
import { expect, test } from 'vitest';
import { add, checkDigits, compare, negate } from '../../src/sandbox/decimal.ts';

const decimal = fc.tuple(fc.bigInt(-(10n ** 40n), 10n ** 40n), fc.nat(18)).map(([units, scale]) => {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}`;
});

test.each([
  ['0.1', '0.2', '0.3'],
  ['12000.10', '1', '12001.10'],
  ['9007199254740993', '0.25', '9007199254740993.25'],
  ['0.05', '-0.10', '-0.05'],
  ['1e3', '1', '1001'],
  ['15e-1', '0', '1.5'],
  ['-1', '1.00', '0.00'],
])('%s and %s make %s', (left, right, sum) => {
  expect(add(left, right)).toBe(sum);
});

test('what is added can be taken away again', () => {
  fc.assert(
    fc.property(decimal, decimal, (left, right) => {
      expect(compare(add(add(left, right), negate(right)), left)).toBe(0);
      expect(add(left, right)).toBe(add(right, left));
    }),
  );
});

test('order is that of the values, not of the texts', () => {
  expect(compare('10', '9.99')).toBeGreaterThan(0);
  expect(compare('1.10', '1.1')).toBe(0);
  expect(compare('-2', '1')).toBeLessThan(0);
  fc.assert(
    fc.property(decimal, decimal, (left, right) => compare(left, right) + compare(right, left) === 0),
  );
});

test('more digits than the bank keeps are refused before they are reckoned with', () => {
  const most = `${'9'.repeat(30)}.${'9'.repeat(18)}`;
  for (const fits of ['0', most, '1e29', '1e-18', '-1.5']) expect(() => checkDigits('a', fits)).not.toThrow();
  for (const unfit of [`1${most}`, `${most}1`, '1e30', '1e-19', '1e999999999', '0e-999999999']) {
    expect(() => checkDigits('value.amount', unfit)).toThrow('value.amount');
  }
});

test('a text that is no decimal is not reckoned with', () => {
  for (const text of ['', 'NaN', '1,5', '.5', '0x1']) expect(() => add(text, '1')).toThrow('is no decimal');
});
