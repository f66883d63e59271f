import { z } from 'zod';
import { validateId } from '../../bank/ids.ts';
import type { Transaction } from '../../contract/transaction.ts';
import type { TransactionIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { defineNodeType, type NodeRef } from '../node-type.ts';
import { validateViewIds, viewKey } from '../view-ids.ts';

export type TransactionNode = NodeRef<TransactionIds, Transaction>;

/** Transactions by account, view and transaction id. Read through getTransaction. */
export const transactionNode = defineNodeType({
  name: 'Transaction',
  key: z.tuple([...viewKey, z.string()]),
  toKey: ({ bankId, accountId, viewId, transactionId }: TransactionNode) =>
    [bankId, accountId, viewId, transactionId] as const,
  toIds: ([bankId, accountId, viewId, transactionId]): TransactionIds => ({
    ...validateViewIds(bankId, accountId, viewId),
    transactionId: validateId('transactionId', transactionId),
  }),
  read: (ids, { session }) => session.loaders.transaction.load(ids),
});

export const TransactionObject = builder.objectRef<TransactionNode>('Transaction');
