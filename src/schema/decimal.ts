import { GraphQLError, Kind } from 'graphql';
import { builder } from './builder.ts';

/** More digits than any amount needs; a bound all the same. */
const longest = 1000;
const digits = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** What the bank wrote: a JSON number, which may have an exponent. */
const jsonNumber = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;

const refuse = (message: string) => new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });

function read(text: string): string {
  if (text.length <= longest && digits.test(text)) return text;
  throw refuse(
    'A Decimal is written as digits with an optional sign and fraction, for example "1234.50": no exponent, no plus sign, no leading zeros, no white space.',
  );
}

/**
 * A JSON number's text as plain digits: "1.5e3" is "1500". Digits are moved, none is rounded or dropped.
 * Errors: GraphQLError BANK_BAD_RESPONSE where it is no number, or one with more than a thousand digits.
 */
export function plainDecimal(text: string): string {
  if (text.length <= longest && digits.test(text)) return text;
  const parts = jsonNumber.exec(text);
  const exponent = Number(parts?.[4] ?? 0);
  if (parts === null || text.length > longest || Math.abs(exponent) > longest) {
    throw new GraphQLError("The bank's answer holds an amount that is no decimal number.", {
      extensions: { code: 'BANK_BAD_RESPONSE' },
    });
  }
  const [, sign = '', whole = '', fraction = ''] = parts;
  const all = `${whole}${fraction}`;
  const point = whole.length + exponent;
  const left = (point > 0 ? all.slice(0, point).padEnd(point, '0') : '').replace(/^0+(?=\d)/, '') || '0';
  const right = point >= all.length ? '' : all.slice(Math.max(point, 0)).padStart(all.length - point, '0');
  return `${sign}${left}${right === '' ? '' : `.${right}`}`;
}

builder.scalarType('Decimal', {
  description:
    'An exact decimal number as a string, for example "1234.50": no digit is rounded, whatever its size.\nAs an input it is a string, or a number literal in the query\'s text; a number in JSON variables is refused, because its digits may already be lost.',
  serialize: (value) => plainDecimal(String(value)),
  parseValue: (value) => {
    if (typeof value === 'string') return read(value);
    if (typeof value === 'number') {
      throw refuse(
        'A Decimal in JSON variables has to be a string, for example "1234.50": the digits of a JSON number may already be lost.',
      );
    }
    throw refuse('A Decimal has to be a string, for example "1234.50".');
  },
  parseLiteral: (node) => {
    if (node.kind === Kind.STRING || node.kind === Kind.INT || node.kind === Kind.FLOAT)
      return read(node.value);
    throw refuse('A Decimal has to be a string or a number, for example "1234.50".');
  },
});

/** Whether a decimal is more than zero. */
export const isPositive = (decimal: string): boolean => !decimal.startsWith('-') && /[1-9]/.test(decimal);
