import { z } from 'zod';
import {
  money,
  moneyBody,
  optional,
  references,
  text,
  textOrArray,
  texts,
  textsOrText,
} from './common-schemas.ts';
import { operation } from './operation.ts';

/** An account as putAccountID answers it (model AccountDef). */
export const account = z.object({
  balance: optional(money),
  bank_id: optional(textOrArray),
  IBAN: optional(text),
  id: optional(text),
  label: optional(text),
  number: optional(text),
  owners: optional(references),
  swift_bic: optional(text),
  type: optional(textsOrText),
  views_available: optional(references),
});
export type Account = z.infer<typeof account>;

/** An entry of the account list, which has to hold a balance. */
export const accountItem = account.extend({ balance: money });

export const accountBody = z.strictObject({
  balance: moneyBody,
  bank_id: text.optional(),
  IBAN: text.optional(),
  id: text.optional(),
  label: text.optional(),
  number: text.optional(),
  owners: texts.optional(),
  swift_bic: text.optional(),
  type: texts.optional(),
  views_available: texts.optional(),
});
export type AccountBody = z.infer<typeof accountBody>;

/** `{scope}` is `permissions` or `views`. */
export const getAccountsScope = operation({
  id: 'getAccountsScope',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/{scope}',
  tracked: false,
  auth: 'optional',
  kind: 'read',
  audience: 'caller',
  body: null,
  resource: 'account',
  envelope: 'accounts',
  answer: accountItem,
});

export const putAccountID = operation({
  id: 'putAccountID',
  method: 'PUT',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}',
  tracked: true,
  auth: 'required',
  kind: 'write',
  audience: 'caller',
  body: accountBody,
  resource: 'account',
  envelope: null,
  answer: account,
});
