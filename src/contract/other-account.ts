import { z } from 'zod';
import { boolean, id, text } from './common-schemas.ts';
import { get, operation, query } from './operation.ts';
import { record } from './record.ts';

const holder = record('AccountHolder', "The holder of a counterparty's account.", {
  is_alias: boolean.describe('Whether the name is an alias.'),
  name: text.nullish().describe("The holder's name."),
});

/** A counterparty of an account, as seen through one of its views (model OtherAccountDef). */
export const otherAccount = record('OtherAccount', 'A counterparty of an account.', {
  bank: text.meta({ name: 'bankName', description: "The counterparty's bank, by its name or code." }),
  holder: holder.nullish().describe('The holder of the account.'),
  IBAN: text.nullish().meta({ name: 'iban', description: 'The international account number.' }),
  id: id.nullish().meta({ name: 'otherAccountId', description: "The counterparty's id at the bank." }),
  kind: text.nullish().describe('The kind of counterparty, such as `shop`.'),
  number: text.nullish().describe("The account's number at its bank."),
  swift_bic: text.nullish().describe("The BIC of the counterparty's bank."),
});
export type OtherAccount = z.infer<typeof otherAccount>;

/** The query body of postOtherAccounts. */
const otherAccountQuery = z.strictObject({ IBAN: z.string(), id: z.string().optional() });
export type OtherAccountQuery = z.infer<typeof otherAccountQuery>;

const otherAccounts = {
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/other_accounts',
  auth: 'required',
  audience: 'caller',
  resource: 'other account',
  envelope: 'otherAccounts',
  answer: otherAccount,
} as const;

export const getOtherAccounts = operation({ id: 'getOtherAccounts', ...get, ...otherAccounts });

export const postOtherAccounts = operation({
  id: 'postOtherAccounts',
  ...query,
  ...otherAccounts,
  body: otherAccountQuery,
});
