import { GraphQLError, Kind, type ValueNode } from 'graphql';
import { maxDecimalLength, plainDecimal, plainNumber } from '../contract/decimal.ts';
import { builder } from './builder.ts';
import { dateTimeForms, parseDateTime } from './date-time.ts';

/** The scalars: exact decimals, and points in time next to the bank's texts. */

/** The error for an invalid value. `node`: the literal with the value, whose position the error contains. */
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
  // The linked specification also allows a plus sign and leading zeros, which bankql never sends.
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
