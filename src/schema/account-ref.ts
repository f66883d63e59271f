import { accountRef } from '../contract/shared-parts.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import { findCounterparty } from './counterparties.ts';
import { OtherAccount } from './other-account.ts';

/** An account to which another record refers. Ids that the reference lacks are those of that record. */
export const AccountRef = builder.bankPart(accountRef);

builder.objectFields(AccountRef, (t) => ({
  account: t.link(Account, {
    description: 'The account; null if the record names none.',
    args: {
      viewId: t.arg.id({
        description: "The view for reading the account; the record's by default.",
      }),
    },
    ids: ({ record, bankId }) => ({ bankId: record.bank_id || bankId, accountId: record.account_id }),
  }),
  counterparty: t.field({
    type: OtherAccount,
    description: "The payee in the payer's list of counterparties; null if the list does not have it.",
    resolve: (part, _args, { bankql }) => findCounterparty(part, bankql),
  }),
}));
