import { z } from 'zod';
import { get, operation, query } from './operation.ts';
import { type Answer, boolean, id, part, resource, text } from './resource.ts';

const holder = resource('AccountHolder', "The holder of a counterparty's account.", {
  isAlias: boolean('is_alias', 'Whether the name is an alias.', { required: 'answers' }),
  name: text('name', "The holder's name."),
});

/** A counterparty of an account, as seen through one of its views (model OtherAccountDef). */
export const otherAccount = resource(
  'OtherAccount',
  'A counterparty of an account, as seen through one of its views. REST: getOtherAccounts, or postOtherAccounts.',
  {
    bankName: text('bank', "The counterparty's bank, by its name or code.", { required: 'answers' }),
    holder: part('holder', 'Who holds the account.', holder),
    iban: text('IBAN', 'The international account number.'),
    otherAccountId: id('id', "The counterparty's id at the bank.", { isOwnId: true }),
    kind: text(
      'kind',
      'What kind of counterparty it is. The specification lists no values; the sandbox has `employer`, `landlord`, `shop`, `travel`, `insurance`, `utility`, `culture`, `person` and `cash machine`.',
      {
        also: {
          name: 'kindCode',
          enum: 'CounterpartyKind',
          values: [
            'employer',
            'landlord',
            'shop',
            'travel',
            'insurance',
            'utility',
            'culture',
            'person',
            'cash machine',
          ],
        },
      },
    ),
    number: text('number', "The account's number at its bank."),
    swiftBic: text('swift_bic', "The BIC of the counterparty's bank."),
  },
);
export type OtherAccount = Answer<typeof otherAccount>;

/** The query body of postOtherAccounts. */
export const otherAccountQuery = z.strictObject({ IBAN: z.string(), id: z.string().optional() });
export type OtherAccountQuery = z.infer<typeof otherAccountQuery>;

const otherAccounts = {
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/other_accounts',
  auth: 'required',
  audience: 'caller',
  resource: 'other account',
  envelope: 'otherAccounts',
  answer: otherAccount.answer,
} as const;

export const getOtherAccounts = operation({ id: 'getOtherAccounts', ...get, ...otherAccounts });

export const postOtherAccounts = operation({
  id: 'postOtherAccounts',
  ...query,
  ...otherAccounts,
  body: otherAccountQuery,
});
