import { z } from 'zod';
import { optional, text } from './common-schemas.ts';
import { operation } from './operation.ts';

/** A counterparty of an account, as seen through one of its views (model OtherAccountDef). */
export const otherAccount = z.object({
  bank: text,
  holder: optional(z.object({ is_alias: z.boolean(), name: optional(text) })),
  IBAN: optional(text),
  id: optional(text),
  kind: optional(text),
  number: optional(text),
  swift_bic: optional(text),
});
export type OtherAccount = z.infer<typeof otherAccount>;

/** The query body of postOtherAccounts. */
export const otherAccountQuery = z.strictObject({ IBAN: text, id: text.optional() });
export type OtherAccountQuery = z.infer<typeof otherAccountQuery>;

export const getOtherAccounts = operation({
  id: 'getOtherAccounts',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/other_accounts',
  tracked: false,
  auth: 'required',
  kind: 'read',
  audience: 'caller',
  body: null,
  resource: 'other account',
  envelope: 'otherAccounts',
  answer: otherAccount,
});

export const postOtherAccounts = operation({
  id: 'postOtherAccounts',
  method: 'POST',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/other_accounts',
  tracked: true,
  auth: 'required',
  kind: 'read',
  audience: 'caller',
  body: otherAccountQuery,
  resource: 'other account',
  envelope: 'otherAccounts',
  answer: otherAccount,
});
