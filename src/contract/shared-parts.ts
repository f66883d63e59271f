import { type Answer, type Body, decimal, id, resource, text } from './resource.ts';

/** The notes of a text that means more than a text. */
export const asWritten = { answer: ', as the bank wrote it' } as const;

/** Objects that several resources contain: "Shared structures" of the specification. */
const currency = text('currency', 'The currency, such as EUR.', { notes: asWritten });
const digits = {
  answer: ', with all its digits',
  input: '; sent with exactly these digits',
  changes: '; sent with exactly these digits',
} as const;

export type Money = Answer<typeof money>;
export type MoneyBody = Body<typeof money>;
export const money = resource(
  'Money',
  'An amount in a currency.',
  { currency, amount: decimal('amount', 'How much it is.', { notes: digits }) },
  {
    keepsOrder: true,
    changes: {
      name: 'BalanceChanges',
      description: 'Changes of a balance: a field that is left out keeps its value.',
    },
  },
);

/** Money whose amount is required: `value` and `new_balance` of a transaction's details. */
export const amount = resource(
  'Money',
  'An amount in a currency.',
  { currency, amount: decimal('amount', 'How much it is.', { required: 'both', notes: digits }) },
  { keepsOrder: true, input: { name: 'AmountInput', description: 'Money whose amount REST requires.' } },
);

export const keyValue = resource('KeyValue', 'A value with a name of its own (REST model StringValues).', {
  key: text('key', 'What the value is called, such as `date_of_birth`.', { required: 'both' }),
  value: text('string', 'The value.'),
});

export const nameBox = resource('NameBox', 'A name on its own (REST model FaceImage).', {
  name: text('name', 'The name.', { required: 'both' }),
});

/** An account as another record names it. */
export type AccountRef = Answer<typeof accountRef>;
export type AccountRefBody = Body<typeof accountRef>;
export const accountRef = resource(
  'AccountRef',
  'An account named by another record.',
  {
    accountId: id('account_id', "The account's id at its bank.", {
      holdsIds: true,
      notes: { answer: ', as the record has it' },
    }),
    bankId: id('bank_id', "The bank's code.", {
      holdsIds: true,
      notes: { answer: ', as the record has it' },
    }),
  },
  { input: { description: 'A reference to an account.' } },
);
