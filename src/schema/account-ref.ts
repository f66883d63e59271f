import { unwrap } from '../bank/answer.ts';
import { validateBankId } from '../bank/ids.ts';
import { accountRef } from '../contract/shared-parts.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import { findCounterparty, OtherAccount } from './other-account.ts';

/** An account to which another record refers. Missing ids are those of that record. */
export const AccountRef = builder.bankPart(accountRef);

builder.objectFields(AccountRef, (t) => ({
  account: t.link(Account, {
    description: 'The account; null if the record names none.',
    args: {
      viewId: t.arg.id({
        description: "The view for reading the account; the record's by default.",
      }),
    },
    ids: ({ record, bankId, viewId }, { viewId: otherViewId }, { defaults }) => {
      const accountId = unwrap(record.account_id);
      if (!accountId) return null;
      return {
        bankId: validateBankId('a bank', unwrap(record.bank_id) || bankId),
        accountId: validateBankId('an account', accountId),
        viewId: otherViewId ?? viewId ?? defaults.viewId,
      };
    },
  }),
  counterparty: t.field({
    type: OtherAccount,
    description: 'The payee as a counterparty of the payer; null if it is none.',
    resolve: ({ record, bankId, accountId: payerId, viewId }, _args, { bankql }) => {
      const accountId = unwrap(record.account_id);
      if (!accountId || !payerId) return null;
      const payer = { bankId, accountId: payerId, viewId: viewId ?? bankql.defaults.viewId };
      return findCounterparty(payer, accountId, bankql);
    },
  }),
}));
