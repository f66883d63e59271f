import { counterpartyIn, getTransaction, transaction } from '../contract/transaction.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import { OtherAccount } from './other-account.ts';

/** Transactions by account, view and transaction id. Fields: contract/transaction.ts. */
export const Transaction = builder.bankRef(transaction, {
  key: [Account, 'transactionId'],
  plural: 'known transactions',
  read: getTransaction,
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
      ids: ({ record }) => ({ otherAccountId: record.other_account, record: counterpartyIn(record) }),
    }),
  }),
});

builder.objectField(Account, 'transaction', (t) =>
  t.link(Transaction, {
    description: 'One transaction of the account.',
    args: { transactionId: t.arg.id({ required: true, description: "The transaction's id at the bank." }) },
  }),
);
