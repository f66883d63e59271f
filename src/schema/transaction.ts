import { unwrap } from '../bank/answer.ts';
import { validateBankId } from '../bank/ids.ts';
import { namedObject } from '../contract/interpretations.ts';
import { otherAccount } from '../contract/other-account.ts';
import { getTransaction, transaction } from '../contract/transaction.ts';
import type { TransactionIds } from '../loaders/loaders.ts';
import { accountNode, accountOf } from './account.ts';
import { bankFields } from './bank.ts';
import { builder } from './builder.ts';
import { otherAccountNode } from './other-account.ts';
import { implementNode } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { link, recordOf } from './plugin/link.ts';
import { defineNodeType, identifiedBy, idFromPath, noteOtherId } from './plugin/node.ts';
import { versionField } from './record-version.ts';

/** Transactions by account, view and transaction id. Read through getTransaction. */
export const transactionNode = defineNodeType({
  name: 'Transaction',
  ...identifiedBy('bankId', 'accountId', 'viewId', 'transactionId'),
  read: (ids: TransactionIds, { session }) => session.loaders.transaction.load(ids),
  onRead({ transactionId }, record, { session }) {
    noteOtherId(session, getTransaction, transactionId, record.id, record);
  },
});

implementNode(transactionNode, transaction, (t) => ({
  ...bankFields(t, 'transaction'),
  accountId: t.exposeID('accountId', idFromPath('The account through which it was read, from the path.')),
  viewId: t.exposeID('viewId', idFromPath('The view through which it is seen, from the path.')),
  transactionId: t.exposeID('transactionId', idFromPath('The transaction id, from the path.')),
  account: link(t, accountNode, {
    description: 'The account through which it was read. REST: getAccountsScope.',
    ids: accountOf,
  }),
  version: t.string(versionField(transaction)),
  thisAccount: link(t, accountNode, {
    description: 'The account that `thisAccountId` names, through the same view. REST: getAccountsScope.',
    fromRecord: true,
    ids: (node) => {
      const record = recordOf(node);
      const accountId = unwrap(record.this_account);
      if (!accountId) return null;
      const bankId = namedObject(record, 'this_account')?.bank_id;
      return {
        bankId: typeof bankId === 'string' ? validateBankId('a bank', bankId) : node.bankId,
        accountId: validateBankId('an account', accountId),
        viewId: node.viewId,
      };
    },
  }),
  otherAccount: link(t, otherAccountNode, {
    description:
      "The counterparty that `otherAccountId` names. REST: getOtherAccounts, unless the bank's answer contains the whole counterparty.",
    fromRecord: true,
    ids: (node) => {
      const otherAccountId = unwrap(recordOf(node).other_account);
      if (!otherAccountId) return null;
      // Some banks write the whole counterparty instead of its id.
      const { data: record } = otherAccount.safeParse(namedObject(recordOf(node), 'other_account'));
      return { ...accountOf(node), otherAccountId, record };
    },
  }),
}));

builder.objectField(accountNode.object, 'transaction', (t) =>
  link(t, transactionNode, {
    description: 'One transaction of the account. REST: getTransaction.',
    args: { transactionId: t.arg.id({ required: true, description: "The transaction's id at the bank." }) },
    ids: (account, { transactionId }) => ({
      ...accountOf(account),
      transactionId: restId('transactionId', transactionId),
    }),
  }),
);
