import { expect, test } from 'vitest';
import { format } from '../../examples/web/src/amount.ts';

test.each([
  ['1250.50', 'EUR', '€1,250.50'],
  ['1250', 'EUR', '€1,250.00'],
  ['9007199254740993.25', 'EUR', '€9,007,199,254,740,993.25'],
  ['0.005', 'EUR', '€0.005'],
  ['-1250.25', 'JPY', '-JP¥1,250.25'],
  ['12.50', 'Taler', '12.50 Taler'],
])('the web bank shows all digits of %s %s', (amount, currency, shown) => {
  expect(format(amount, currency)).toBe(shown);
});

// How many decimals it has usually depends on the version of Node.
test('and those of a forint', () => {
  expect(format('1250.50', 'HUF').replace(/\s/, ' ')).toBe('HUF 1,250.50');
});
