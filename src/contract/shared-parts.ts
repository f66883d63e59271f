import type { z } from 'zod';
import { decimal, id, text } from './common-schemas.ts';
import { type Body, record } from './record.ts';

/** Notes for a text that GraphQL shows as the bank wrote it. */
export const asWritten = { answer: ', as the bank wrote it' } as const;

/**
 * A date as the bank wrote it. The GraphQL type also has a field `name`, which shows it as a DateTime. `dateOf`: the operation
 * that reads the date; drift is counted for it.
 */
export const dateText = (description: string, name: string, dateOf: string) =>
  text.nullish().meta({ description, notes: asWritten, also: { name, dateOf } });

/** Objects that several records contain: "Shared structures" of the specification. */
const currency = text.nullish().meta({ description: 'The currency, such as EUR.', notes: asWritten });
const howMuch = {
  description: 'The amount.',
  notes: {
    answer: ', with all its digits',
    input: '; sent with exactly these digits',
    changes: '; sent with exactly these digits',
  },
} as const;

export type Money = z.infer<typeof money>;
export type MoneyBody = Body<typeof money>;
export const money = record(
  'Money',
  'An amount in a currency.',
  { currency, amount: decimal.nullish().meta(howMuch) },
  {
    keepsOrder: true,
    changes: { name: 'BalanceChanges', description: 'Changes of a balance: a field without a value stays.' },
  },
);

/** Money whose amount is required: `value` and `new_balance` of a transaction's details. */
export const amount = record(
  'Money',
  'An amount in a currency.',
  { currency, amount: decimal.meta(howMuch) },
  { keepsOrder: true, input: { name: 'AmountInput', description: 'An amount in a currency.' } },
);

export const keyValue = record('KeyValue', 'A value with a name of its own.', {
  key: text.describe('The name of the value, such as `date_of_birth`.'),
  string: text.nullish().meta({ name: 'value', description: 'The value.' }),
});

export const nameBox = record('NameBox', 'A name on its own.', {
  name: text.describe('The name.'),
});

/** An account to which another record refers. */
export type AccountRef = z.infer<typeof accountRef>;
export type AccountRefBody = Body<typeof accountRef>;
const named = { holdsIds: true, notes: { answer: ', as the record has it' } } as const;
export const accountRef = record('AccountRef', 'An account named by another record.', {
  account_id: id.nullish().meta({ description: "The account's id at its bank.", ...named }),
  bank_id: id.nullish().meta({ description: "The bank's code.", ...named }),
});
