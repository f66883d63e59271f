import { unwrap } from '../bank/answer.ts';
import { validateBankId } from '../bank/ids.ts';
import { namedObject } from '../contract/interpretations.ts';
import { otherAccount } from '../contract/other-account.ts';
import { getTransaction, transaction } from '../contract/transaction.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import { OtherAccount } from './other-account.ts';

/** Transactions by account, view and transaction id. */
export const Transaction = builder.bankRef(transaction, {
  key: [Account, 'transactionId'],
  read: { operation: getTransaction, load: (ids, { session }) => session.loaders.transaction.load(ids) },
});

builder.bankNode(Transaction, {
  through: 'through which it was read',
  fields: (t) => ({
    transactionId: t.exposeID('transactionId', {
      nullable: false,
      description: 'The transaction id, from the path.',
    }),
    thisAccount: t.link(Account, {
      description: 'The account that `thisAccountId` names, through the same view. REST: getAccountsScope.',
      fromRecord: true,
      ids: (node) => {
        const { record } = node;
        const accountId = unwrap(record.this_account);
        if (!accountId) return null;
        const bankId = namedObject(record, 'this_account')?.bank_id;
        return {
          bankId:
            typeof bankId === 'string' && bankId !== '' ? validateBankId('a bank', bankId) : node.bankId,
          accountId: validateBankId('an account', accountId),
          viewId: node.viewId,
        };
      },
    }),
    otherAccount: t.link(OtherAccount, {
      description:
        "The counterparty that `otherAccountId` names. REST: getOtherAccounts, unless the bank's answer contains the whole counterparty.",
      fromRecord: true,
      ids: (node) => {
        const { record } = node;
        const otherAccountId = unwrap(record.other_account);
        if (!otherAccountId) return null;
        // Some banks write the whole counterparty instead of its id.
        const { data } = otherAccount.safeParse(namedObject(record, 'other_account'));
        return { ...Account.pathOf(node), otherAccountId, record: data };
      },
    }),
  }),
});

builder.objectField(Account, 'transaction', (t) =>
  t.link(Transaction, {
    description: 'One transaction of the account. REST: getTransaction.',
    args: { transactionId: t.arg.id({ required: true, description: "The transaction's id at the bank." }) },
  }),
);
