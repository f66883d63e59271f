import { unwrap } from '../bank/answer.ts';
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
    otherAccount: t.link(OtherAccount, {
      description: 'The counterparty that `otherAccountId` names.',
      fromRecord: true,
      ids: (node) => {
        const { record } = node;
        const otherAccountId = unwrap(record.other_account);
        if (!otherAccountId) return null;
        // Some banks send the whole counterparty instead of its id.
        const { data } = otherAccount.safeParse(namedObject(record, 'other_account'));
        return { ...Account.pathOf(node), otherAccountId, record: data };
      },
    }),
  }),
});

builder.objectField(Account, 'transaction', (t) =>
  t.link(Transaction, {
    description: 'One transaction of the account.',
    args: { transactionId: t.arg.id({ required: true, description: "The transaction's id at the bank." }) },
  }),
);
