import { GraphQLError, Kind, type ValueNode } from 'graphql';
import { currencyDecimals } from '../contract/currency.ts';
import { maxDecimalLength, numberParts, plainDecimal, plainNumber } from '../contract/decimal.ts';
import type { Money } from '../contract/shared-parts.ts';
import { builder } from './builder.ts';
import { dateTimeForms, parseDateTime } from './date-time.ts';

/** The scalars: exact decimals, and types that say more than the bank's texts, which stay available. */

/** A refusal of a value; `node` is a literal, whose place the error names. */
const refuse = (message: string, node?: ValueNode) =>
  new GraphQLError(message, { nodes: node ?? null, extensions: { code: 'BAD_USER_INPUT' } });

function read(text: string, node?: ValueNode): string {
  if (text.length <= maxDecimalLength && plainNumber.test(text)) return text;
  throw refuse(
    'A Decimal is written as digits with an optional sign and fraction, for example "1234.50": no exponent, no plus sign, no leading zeros, no white space.',
    node,
  );
}

builder.scalarType('Decimal', {
  description:
    'An exact decimal number as a string, for example "1234.50": no digit is rounded, whatever its size.\nAs an input it is a string, or a number literal in the query\'s text; a number in JSON variables is refused, because its digits may already be lost.',
  // It also allows a plus sign and leading zeros, which no Decimal here has.
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
      return read(node.value, node);
    throw refuse('A Decimal has to be a string or a number, for example "1234.50".', node);
  },
});

/** Whether a decimal is more than zero. */
export const isPositive = (decimal: string): boolean => !decimal.startsWith('-') && /[1-9]/.test(decimal);

function readDateTime(value: unknown, node?: ValueNode): Date {
  const date = typeof value === 'string' ? parseDateTime(value) : null;
  if (date !== null) return date;
  throw refuse('A DateTime is a text such as "2026-11-22T10:30:00Z"; its description lists all forms.', node);
}

builder.scalarType('DateTime', {
  description: `A point in time, in UTC, such as "2026-11-22T10:30:00.000Z" (RFC 3339). ${dateTimeForms} In an argument, that is an error; if the bank writes it, the field is null and the drift is counted.`,
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
  serialize: (date) => date.toISOString(),
  parseValue: (value) => readDateTime(value),
  parseLiteral: (node) => readDateTime(node.kind === Kind.STRING ? node.value : null, node),
});

const isCurrencyCode = (text: unknown): text is string => typeof text === 'string' && /^[A-Z]{3}$/.test(text);

builder.scalarType('CurrencyCode', {
  description: 'The code of a currency by ISO 4217, such as "EUR".',
  specifiedByURL: 'https://www.iso.org/iso-4217-currency-codes.html',
  serialize: String,
  parseValue: (value) => {
    if (isCurrencyCode(value)) return value;
    throw refuse('A CurrencyCode has three capital letters, such as "EUR".');
  },
});

/** The code of a currency as the bank wrote it; null if it is not one. */
export function currencyCodeOf(currency: unknown): string | null {
  const code = typeof currency === 'string' ? currency.trim().toUpperCase() : null;
  return isCurrencyCode(code) ? code : null;
}

const maxInt = 2n ** 31n - 1n;

/** An amount as a count of the currency's smallest unit; null if it is not one, or more than an Int holds. */
export function minorUnitsOf({ amount, currency }: Money): number | null {
  const code = currencyCodeOf(currency);
  const decimals = code === null ? null : currencyDecimals(code);
  if (decimals === null || typeof amount !== 'string') return null;
  const [, sign = '', whole = '', fraction = ''] = numberParts.exec(plainDecimal(amount)) ?? [];
  if (whole === '' || /[1-9]/.test(fraction.slice(decimals))) return null;
  const units = BigInt(`${whole}${fraction.slice(0, decimals).padEnd(decimals, '0')}`);
  if (units > maxInt) return null;
  return units === 0n ? 0 : Number(`${sign}${units}`);
}
