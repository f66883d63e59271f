import { expect, test } from 'vitest';
import { iban } from '../../src/sandbox/iban.ts';

test.each([
  ['CY', '002001280000001200527600', 'CY17002001280000001200527600'],
  ['DE', '370400440532013000', 'DE89370400440532013000'],
  ['GB', 'NWBK60161331926819', 'GB29NWBK60161331926819'],
])('the registry’s example of %s', (country, number, expected) => {
  expect(iban(country, number)).toBe(expected);
});
