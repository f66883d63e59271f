import { amount, keyValue, money, nameBox } from '../contract/shared-parts.ts';
import { inputType, objectType, toBody } from './fields.ts';

export const MoneyObject = objectType(money);
export const KeyValueObject = objectType(keyValue);
export const NameBoxObject = objectType(nameBox);
export const MoneyInput = inputType(money);
export const AmountInput = inputType(amount);
export const KeyValueInput = inputType(keyValue);
export const NameBoxInput = inputType(nameBox);

/** Converts a change in an update's input to one of the body: undefined keeps a member, null clears it. */
export const mapChange = <Input, Result>(
  change: Input | null | undefined,
  toBody: (change: Input) => Result,
): Result | null | undefined => (change === undefined ? undefined : change === null ? null : toBody(change));

export const moneyBody = (input: typeof MoneyInput.$inferInput) => toBody(money, input);
export const amountBody = (input: typeof AmountInput.$inferInput) => toBody(amount, input);
export const keyValueBody = (input: typeof KeyValueInput.$inferInput) => toBody(keyValue, input);

export { mapOptional, omitNullish } from './fields.ts';
