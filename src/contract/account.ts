import type { z } from 'zod';
import { id, references, text, textOrArray, textsOrText } from './common-schemas.ts';
import { isNothing } from './interpretations.ts';
import { get, operation, put } from './operation.ts';
import { type Body, bodyOf, record } from './record.ts';
import { money } from './shared-parts.ts';

/** An account in the answer of putAccountID (model AccountDef). */
export const account = record('Account', 'An account through one of its views.', {
  balance: money.nullish().meta({
    description: 'The balance of the account.',
    requiredInBodies: true,
    notes: { changes: '; it cannot be cleared' },
  }),
  bank_id: textOrArray.nullish().meta({
    name: 'bankIds',
    description: 'The banks of the account.',
    isOnlyEntry: true,
    holdsIds: true,
    notes: { answer: ', as a list', input: ': one entry' },
  }),
  IBAN: text.nullish().meta({ name: 'iban', description: 'The international account number.' }),
  id: id.nullish().meta({ name: 'accountId', description: "The account's id at the bank." }),
  label: text.nullish().describe('A name for the account, such as "Everyday".'),
  number: text.nullish().describe("The account's number at the bank."),
  owners: references.nullish().meta({
    name: 'ownerIds',
    description: 'The ids of the owners.',
    holdsIds: true,
    notes: { answer: ', as the bank wrote them' },
  }),
  swift_bic: text.nullish().describe("The bank's BIC."),
  type: textsOrText.nullish().meta({
    name: 'types',
    description: 'The kinds of the account, such as `current`.',
  }),
  views_available: references
    .nullish()
    .meta({ description: 'Its views, such as `owner` and `public`.', holdsIds: true }),
});
export type Account = z.infer<typeof account>;
export type AccountBody = Body<typeof account>;

/**
 * An entry of the account list. Here the specification requires a balance. bankql reads an empty one as null, as in a single
 * account.
 */
const accountItem = account.extend({
  balance: money.meta({ interpret: (value) => (isNothing(value) ? null : undefined) }),
});

const accounts = { audience: 'caller', resource: 'account' } as const;

/** `{scope}` is `permissions` or `views`. */
export const getAccountsScope = operation({
  id: 'getAccountsScope',
  ...get,
  ...accounts,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/{scope}',
  auth: 'optional',
  envelope: 'accounts',
  answer: accountItem,
});

export const putAccountID = operation({
  id: 'putAccountID',
  ...put,
  ...accounts,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}',
  body: bodyOf(account),
  envelope: null,
  answer: account,
});
