import type { AmountBody, KeyValue, Money, MoneyBody, NameBox } from '../contract/common-schemas.ts';
import { builder } from './builder.ts';

/** The small values that several records share, and their inputs. */

export const MoneyObject = builder.objectRef<Money>('Money');
MoneyObject.implement({
  description: 'An amount in a currency.',
  fields: (t) => ({
    currency: t.exposeString('currency', {
      nullable: true,
      description: 'The currency, such as EUR. REST `currency`, as the bank wrote it.',
    }),
    amount: t.expose('amount', {
      type: 'Decimal',
      nullable: true,
      description: 'How much it is. REST `amount`, with all its digits.',
    }),
  }),
});

export const KeyValueObject = builder.objectRef<KeyValue>('KeyValue');
KeyValueObject.implement({
  description: 'A value with a name of its own (REST model StringValues).',
  fields: (t) => ({
    key: t.exposeString('key', {
      nullable: true,
      description: 'What the value is called, such as `date_of_birth`. REST `key`.',
    }),
    value: t.exposeString('string', { nullable: true, description: 'The value. REST `string`.' }),
  }),
});

export const NameBoxObject = builder.objectRef<NameBox>('NameBox');
NameBoxObject.implement({
  description: 'A name on its own (REST model FaceImage).',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: 'The name. REST `name`.' }),
  }),
});

export const MoneyInput = builder.inputType('MoneyInput', {
  description: 'An amount in a currency.',
  fields: (t) => ({
    currency: t.string({ description: 'The currency, such as EUR. REST `currency`.' }),
    amount: t.field({
      type: 'Decimal',
      description: 'How much it is. REST `amount`; sent with exactly these digits.',
    }),
  }),
});

export const AmountInput = builder.inputType('AmountInput', {
  description: 'Money whose amount REST requires.',
  fields: (t) => ({
    currency: t.string({ description: 'The currency, such as EUR. REST `currency`.' }),
    amount: t.field({
      type: 'Decimal',
      required: true,
      description: 'How much it is. REST `amount`; sent with exactly these digits.',
    }),
  }),
});

export const KeyValueInput = builder.inputType('KeyValueInput', {
  description: 'A value with a name of its own (REST model StringValues).',
  fields: (t) => ({
    key: t.string({
      required: true,
      description: 'What the value is called, such as `date_of_birth`. REST `key`.',
    }),
    value: t.string({ description: 'The value. REST `string`.' }),
  }),
});

export const NameBoxInput = builder.inputType('NameBoxInput', {
  description: 'A name on its own (REST model FaceImage).',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name. REST `name`.' }),
  }),
});

/** The members of an input that are present: an explicit null counts as absent. */
export const omitNullish = <T extends object>(input: T) =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], null>;
  };

/** Converts an optional input to a part of a body; undefined if it is left out. */
export const mapOptional = <Input, Result>(
  input: Input | null | undefined,
  toBody: (input: Input) => Result,
): Result | undefined => (input === null || input === undefined ? undefined : toBody(input));

/** Converts a change in an update's input to one of the body: undefined keeps a member, null clears it. */
export const mapChange = <Input, Result>(
  change: Input | null | undefined,
  toBody: (change: Input) => Result,
): Result | null | undefined => (change === undefined ? undefined : change === null ? null : toBody(change));

export const moneyBody = ({ currency, amount }: typeof MoneyInput.$inferInput): MoneyBody =>
  omitNullish({ currency, amount });

export const amountBody = ({ currency, amount }: typeof AmountInput.$inferInput): AmountBody =>
  omitNullish({ currency, amount });

export const keyValueBody = ({ key, value }: typeof KeyValueInput.$inferInput) =>
  omitNullish({ key, string: value });
