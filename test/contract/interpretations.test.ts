import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decimal,
  idList,
  reference,
  references,
  textOrArray,
  textsOrText,
} from '../../src/contract/common-schemas.ts';
import { interpretationOf } from '../../src/contract/interpretations.ts';

const means = (schema: Parameters<typeof interpretationOf>[0], value: unknown) =>
  interpretationOf(schema)?.(value);

describe('an amount', () => {
  test('keeps every digit, whatever zeros and sign stand before it', () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,30})(\.\d{1,20})?$/);
    const before = fc.tuple(fc.constantFrom('', '+', '-'), fc.stringMatching(/^0{0,5}$/));
    fc.assert(
      fc.property(digits, before, (number, [sign, zeros]) => {
        const plain = `${sign === '-' ? '-' : ''}${number}`;
        const written = `${sign}${zeros}${number}`;
        expect(means(decimal, written)).toBe(written === plain ? undefined : plain);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    '1,234.50',
    '1.234,50',
    ' 5',
    '5 ',
    '.5',
    '5.',
    '+',
    '-',
    '+-5',
    '--5',
    '0x10',
    '00e',
    'NaN',
    '5 EUR',
  ])('is not %j', (written) => expect(means(decimal, written)).toBeUndefined());

  test('has at most a thousand digits', () => expect(means(decimal, `+${'9'.repeat(1001)}`)).toBeUndefined());
  test('is none where it is empty', () => expect(means(decimal, '')).toBeNull());
});

test.each([
  [textOrArray, ['t'], 't'],
  [textOrArray, [], null],
  [textOrArray, [null], null],
  [textOrArray, ['t', 'u'], undefined],
  [textOrArray, [7], undefined],
  [textOrArray, { id: 't' }, undefined],
  [textsOrText, 't', ['t']],
  [textsOrText, 7, undefined],
  [reference, { id: 'i', account_id: 'a' }, 'i'],
  [reference, { account_id: 'a' }, 'a'],
  [reference, { id: 7, account_id: 'a' }, 'a'],
  [reference, { id: 7 }, undefined],
  [reference, ['i'], undefined],
  [references, 'i', ['i']],
  [references, { id: 'i' }, ['i']],
  [references, {}, undefined],
  [idList, ['a', { id: 'b' }], 'a,b'],
  [idList, ' ["a","b"]', 'a,b'],
  [idList, '[]', null],
  [idList, '["a"', undefined],
  [idList, '[1]', undefined],
  [idList, ['a b'], undefined],
  [idList, ['a,b'], undefined],
  [idList, [''], undefined],
])('%# %j means %j', (schema, value, meaning) => {
  expect(means(schema, value)).toEqual(meaning);
});
