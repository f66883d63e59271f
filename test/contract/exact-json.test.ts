import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exactNumber, parseExactJson, writeExactJson } from '../../src/contract/exact-json.ts';

const runs = { seed: 20_251_120, numRuns: 500 };

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });

/** Any JSON number as text: long, small, with trailing zeros, with an exponent. */
const jsonNumber = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: digits(1, 30).map((text) => text.replace(/^0+(?=\d)/, '')),
    fraction: fc.oneof(
      fc.constant(''),
      digits(1, 20).map((text) => `.${text}`),
    ),
    exponent: fc.oneof(
      fc.constant(''),
      fc
        .tuple(fc.constantFrom('e', 'E', 'e+', 'e-', 'E+'), digits(1, 3))
        .map(([mark, text]) => `${mark}${text}`),
    ),
  })
  .map(({ sign, whole, fraction, exponent }) => `${sign}${whole}${fraction}${exponent}`);

const blank = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 3 });

describe('amounts keep every digit', () => {
  test('for random numbers, from text to text', () => {
    fc.assert(
      fc.property(jsonNumber, (amount) => {
        const text = `{"currency":"EUR","amount":${amount}}`;
        const parsed = parseExactJson(text);
        expect(parsed).toEqual({ currency: 'EUR', amount });
        expect(writeExactJson(parsed)).toBe(text);
      }),
      runs,
    );
  });

  test('for random numbers deep in objects and lists, with any white space, however the key is spelt', () => {
    const key = fc
      .tuple(...[...'amount'].map((letter) => fc.tuple(fc.constant(letter), fc.boolean(), fc.boolean())))
      .map((letters) =>
        letters.map(([letter, escaped, upper]) => (escaped ? unicodeEscape(letter, upper) : letter)),
      )
      .map((letters) => letters.join(''));
    fc.assert(
      fc.property(jsonNumber, jsonNumber, key, blank, blank, blank, (one, two, name, a, b, c) => {
        const text = `[${a}{${b}"list":[{${c}"${name}"${a}:${b}${one}${c}}],"value":{"x":null,${a}"amount"${b}:${c}${two}${a}}}]`;
        expect(parseExactJson(text)).toEqual([{ list: [{ amount: one }], value: { x: null, amount: two } }]);
      }),
      runs,
    );
  });

  test('for numbers that JSON.parse would change', () => {
    const long = '123456789012345678901234567890.123456789012345678901234567890e+9999';
    for (const amount of `9007199254740993 1.10 0.1000000000000000055511 -0 0.00 1e400 -1E-400 ${long}`.split(
      ' ',
    )) {
      expect(parseExactJson(`{"amount":${amount}}`)).toEqual({ amount });
      expect(parseExactJson(`{"\\u0061mount":${amount}}`)).toEqual({ amount });
      expect(writeExactJson({ amount })).toBe(`{"amount":${amount}}`);
    }
  });

  test('where a text holds several, and with the last one where a key stands twice, as JSON.parse does', () => {
    const text = '{"amount":1.0,"a":{"amount":2.0},"b":[{"amount":3.0},{"amount":4.0}],"amount":5.0}';
    const b = [{ amount: '3.0' }, { amount: '4.0' }];
    expect(parseExactJson(text)).toEqual({ amount: '5.0', a: { amount: '2.0' }, b });
  });
});

describe('nothing else is touched', () => {
  test.each([
    ['other numbers', '{"latitude":35.1264,"amounts":1.10,"Amount":1.10,"the amount":1.10}'],
    ['an amount that is no number', '{"amount":"1.10"}'],
    ['an amount that is null', '{"amount":null}'],
    ['an amount that is a list or an object', '{"amount":[1.10,{"x":1.10}]}'],
    ['a string that looks like an amount', String.raw`{"text":"{\"amount\":1.10}"}`],
    ['a string with escaped quotes and white space', String.raw`{"text":", \"amount\" : 1.10 ,"}`],
    ['a string that ends where a key could start', String.raw`{"text":"{","\\":"\\\"amount\":1.10,"}`],
    ['a key that holds the word', String.raw`{"\"amount\":1,":1.10,"x":"\u0061"}`],
    ['a key that ends in the word', String.raw`{"\"amount":1.10,"x,\"amount":1.10,"x \"amount" : 1.10}`],
    ['a value that is the word', '{"key":"amount","value":1.10,"list":["amount",1.10]}'],
    ['a bare value', '1.10'],
    ['an escaped letter elsewhere', String.raw`{"na\u006de":1.10,"list":[1.10,true,null,"\u0061"]}`],
  ])('%s', (_, text) => {
    expect(parseExactJson(text)).toEqual(JSON.parse(text));
  });

  test('in random values without an amount', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseExactJson(text)).toEqual(JSON.parse(text));
      }),
      runs,
    );
  });

  test('and leaves an own key __proto__ what it is: a key', () => {
    const parsed = parseExactJson('{"__proto__":{"amount":1.10}}');
    expect(Object.entries(parsed ?? {})).toEqual([['__proto__', { amount: '1.10' }]]);
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  });
});

test('invalid JSON stays invalid', () => {
  const values = '01 +1 .5 1. 1e 0x10 1_000 NaN Infinity 1.10" 1.10, \u00a01.10'.split(' ');
  const texts = [
    ...values.map((value) => `{"amount":${value}}`),
    '{"amount":1.10',
    '{"a":1 "amount":1.10}',
    '{"a":"x,"amount":1.10}',
    '{"a":"{"amount":1.10,"}',
    '{amount:1.10}',
    "{'amount':1.10}",
    '["amount":1.10]',
    '{"amount" 1.10}',
    '{\u00a0"amount":1.10}',
    '\ufeff{"amount":1.10}',
    '{"\\u0061mount":01}',
    '',
  ];
  for (const text of texts) expect(() => parseExactJson(text), text).toThrow(SyntaxError);
});

test('a text that is cut off, or contains a part twice, is read as JSON.parse reads it', () => {
  const text = '{"a":", \\"amount\\":1,","amount":1.10,"b":[{ "amount" : -2.50e3 }],"c":"x"}';
  fc.assert(
    fc.property(fc.nat(text.length), fc.nat(text.length), (from, to) => {
      const broken = text.slice(0, from) + text.slice(to);
      expect(outcome(() => parseExactJson(broken))).toEqual(outcome(() => withExactAmounts(broken)));
    }),
    runs,
  );
});

test('an amount that is no JSON number is not written', () => {
  const texts = '+1 .5 1. 007 0x10 NaN 1,00 １ {} 1,"x":2 true null "1" 1"'.split(' ');
  for (const amount of [...texts, '', ' ', '1 ', ' 1'])
    expect(() => writeExactJson({ value: { amount } }), amount).toThrow(SyntaxError);
});

test('what bears another name, or looks like an amount, is written as it is', () => {
  const note = '{"amount":"1"},"amount":"2"';
  expect(writeExactJson({ note, list: [note, '1'], latitude: 1.5, none: undefined, amount: '1.10' })).toBe(
    `{"note":${JSON.stringify(note)},"list":[${JSON.stringify(note)},"1"],"latitude":1.5,"amount":1.10}`,
  );
});

describe('with keepDigits', () => {
  const parse = (text: string) => Object(parseExactJson(text, undefined, true));

  test('numbers are numbers, and leave with the digits that they came with', () => {
    fc.assert(
      fc.property(jsonNumber, (number) => {
        const parsed = parse(`{"amount":${number},"latitude":${number},"in":{"text":"${number}"}}`);
        expect(parsed.amount).toBe(number);
        expect(parsed.latitude).toBe(Number(number));
        expect(JSON.stringify({ latitude: exactNumber(parsed, 'latitude') })).toBe(`{"latitude":${number}}`);
      }),
      { ...runs, numRuns: 100 },
    );
  });

  test('so does a number that stood in a string, once it is taken for the number that it means', () => {
    const parsed = parse('{"latitude":"1.0000000000000000001"}');
    expect(exactNumber(parsed, 'latitude')).toBe('1.0000000000000000001');
    parsed.latitude = 1;
    expect(JSON.stringify(exactNumber(parsed, 'latitude'))).toBe('1.0000000000000000001');
  });

  test('a number that was put in its place leaves as itself', () => {
    const parsed = parse('{"latitude":1.50}');
    parsed.latitude = 2.5;
    expect(exactNumber(parsed, 'latitude')).toBe(2.5);
    expect(exactNumber({ latitude: 1.5 }, 'latitude')).toBe(1.5);
  });
});

const unicodeEscape = (letter: string, upper: boolean) => {
  const hex = letter.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${upper ? hex.toUpperCase() : hex}`;
};

/** The slow definition of exact parsing, for comparison: every number is read from its own source text. */
const withExactAmounts = (text: string) =>
  JSON.parse(text, (key, value, { source }) =>
    key === 'amount' && typeof value === 'number' ? source : value,
  );

const outcome = (parse: () => unknown) => {
  try {
    return { value: parse() };
  } catch (error) {
    return { error: error instanceof SyntaxError };
  }
};
