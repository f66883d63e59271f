import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  boolean,
  decimal,
  idList,
  reference,
  references,
  text,
  textOrArray,
  textsOrText,
} from '../../src/contract/common-schemas.ts';
import { metaOf } from '../../src/contract/record.ts';

const means = (schema: Parameters<typeof metaOf>[0], value: unknown) => metaOf(schema).interpret?.(value);

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

  test('is none where another number, or nothing, is written', () => {
    const texts = '1,234.50 1.234,50 1,234.56 . -. ..5 .5.5 5. + - +-5 --5 0x10 00e NaN'.split(' ');
    for (const written of [...texts, ' 5', '5 ', '5 EUR', `+${'9'.repeat(1001)}`])
      expect([written, means(decimal, written)]).toEqual([written, undefined]);
    expect(means(decimal, '')).toBeNull();
  });

  test.each([
    ['.64', '0.64'],
    ['-.640', '-0.640'],
    ['+.64', '0.64'],
    ['.64e-1', '0.64e-1'],
  ])('may have no digit before the point: %s is %s', (written, meaning) => {
    expect(means(decimal, written)).toBe(meaning);
  });
});

test.each([
  [boolean, 'true', true],
  [boolean, 'false', false],
  [boolean, 'Y', undefined],
  [boolean, 'TRUE', undefined],
  [boolean, '1', undefined],
  [boolean, '', undefined],
  [boolean, 1, undefined],
  [text, 12345, '12345'],
  [text, Number.MAX_SAFE_INTEGER, '9007199254740991'],
  [text, Number.MAX_SAFE_INTEGER + 1, undefined],
  [text, 1.5, undefined],
  [text, true, undefined],
  [textOrArray, ['t'], 't'],
  [textOrArray, [], null],
  [textOrArray, [null], null],
  [textOrArray, ['t', 'u'], undefined],
  [textOrArray, [7], '7'],
  [textOrArray, 7, '7'],
  [textOrArray, [7, 8], undefined],
  [textOrArray, [true], undefined],
  [textOrArray, { id: 't' }, undefined],
  [textsOrText, 't', ['t']],
  [textsOrText, 7, ['7']],
  [textsOrText, true, undefined],
  [reference, { id: 'i', account_id: 'a' }, 'i'],
  [reference, { account_id: 'a' }, 'a'],
  [reference, { id: 7, account_id: 'a' }, 'a'],
  [reference, { id: 7 }, '7'],
  [reference, { id: true, account_id: 8 }, '8'],
  [reference, { id: 1.5 }, undefined],
  [reference, 7, '7'],
  [reference, ['i'], undefined],
  [references, 'i', ['i']],
  [references, { id: 'i' }, ['i']],
  [references, 7, ['7']],
  [references, {}, undefined],
  [idList, ['a', { id: 'b' }], 'a,b'],
  [idList, ' ["a","b"]', 'a,b'],
  [idList, '[]', null],
  [idList, '["a"', undefined],
  [idList, '[1,2]', '1,2'],
  [idList, 7, '7'],
  [idList, [1.5], undefined],
  [idList, { id: 7 }, undefined],
  [idList, ['a b'], undefined],
  [idList, ['a,b'], undefined],
  [idList, [''], undefined],
])('%# %j means %j', (schema, value, meaning) => {
  expect(means(schema, value)).toEqual(meaning);
});
