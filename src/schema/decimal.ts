import { GraphQLError, Kind } from 'graphql';
import { builder } from './builder.ts';

/** More digits than any amount needs, but bounded. */
const maxLength = 1000;
const digits = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** As the bank sent it: a JSON number, possibly with an exponent (contract/common-schemas.ts bounds it). */
const jsonNumber = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const refuse = (message: string) => new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });

function read(text: string): string {
  if (text.length <= maxLength && digits.test(text)) return text;
  throw refuse(
    'A Decimal is written as digits with an optional sign and fraction, for example "1234.50": no exponent, no plus sign, no leading zeros, no white space.',
  );
}

/** A JSON number in plain decimal notation: "1.5e3" becomes "1500". No digit is rounded or dropped. */
export function plainDecimal(text: string): string {
  if (digits.test(text)) return text;
  const parts = jsonNumber.exec(text);
  if (parts === null) throw new Error('A Decimal of the bank is no number');
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const all = `${whole}${fraction}`;
  const point = whole.length + Number(exponent);
  const left = (point > 0 ? all.slice(0, point).padEnd(point, '0') : '').replace(/^0+(?=\d)/, '') || '0';
  const right = point >= all.length ? '' : all.slice(Math.max(point, 0)).padStart(all.length - point, '0');
  return `${sign}${left}${right === '' ? '' : `.${right}`}`;
}

builder.scalarType('Decimal', {
  description:
    'An exact decimal number as a string, for example "1234.50": no digit is rounded, whatever its size.\nAs an input it is a string, or a number literal in the query\'s text; a number in JSON variables is refused, because its digits may already be lost.',
  // What it has besides, a plus sign and leading zeros, no Decimal here has.
  specifiedByURL: 'https://www.w3.org/TR/xmlschema11-2/#decimal',
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
