import { z } from 'zod';
import { sound } from '../bank/answer.ts';
import { checkBankId, checkId } from '../bank/path.ts';
import { putTransactions, type Transaction, type TransactionBody } from '../contract/transaction.ts';
import type { TransactionIds } from '../loaders/loaders.ts';
import { inTransaction } from '../loaders/rest-ids.ts';
import { AccountRef, accountLink } from './account.ts';
import { builder } from './builder.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { known } from './field-facts.ts';
import { createLink, fromPath, type Linked, linkFromIds, linkFromRecord, recordOf } from './link.ts';
import { OtherAccountRef, otherAccountLink } from './other-account.ts';
import {
  detailsBody,
  metadataBody,
  TransactionDetailsInput,
  TransactionDetailsRef,
  TransactionMetadataInput,
  TransactionMetadataRef,
} from './transaction-details.ts';
import { optionally, present } from './values.ts';
import { checkView, viewKey } from './view.ts';
import { writing } from './write.ts';

export type TransactionNode = Linked<TransactionIds, Transaction>;

/** Transactions by account, view and transaction id. Read through getTransaction. */
export const transactionLink = createLink({
  name: 'Transaction',
  key: z.tuple([...viewKey, z.string()]),
  toKey: ({ bankId, accountId, viewId, transactionId }: TransactionNode) =>
    [bankId, accountId, viewId, transactionId] as const,
  toIds: ([bankId, accountId, viewId, transactionId]): TransactionIds => ({
    ...checkView(bankId, accountId, viewId),
    transactionId: checkId('transactionId', transactionId),
  }),
  read: (ids, { reader }) => reader.loaders.transaction.load(ids),
});

export const TransactionRef = builder.objectRef<TransactionNode>('Transaction');
TransactionRef.implement({
  description: 'A transaction of an account, as seen through one of its views. REST: getTransaction.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(transactionLink.idField),
    bankId: t.exposeID('bankId', fromPath("The bank's code, from the path.")),
    accountId: t.exposeID('accountId', fromPath('The account through which it was read, from the path.')),
    viewId: t.exposeID('viewId', fromPath('The view through which it is seen, from the path.')),
    transactionId: t.exposeID('transactionId', fromPath('The transaction id, from the path.')),
    account: t.field({
      type: AccountRef,
      nullable: true,
      description: 'The account through which it was read. REST: getAccountsScope.',
      ...linkFromIds(
        () => accountLink,
        ({ bankId, accountId, viewId }: TransactionNode) => ({ bankId, accountId, viewId }),
      ),
    }),
    uuid: t.string({
      nullable: true,
      description: 'REST `uuid`.',
      resolve: (transaction) => recordOf(transaction).uuid,
    }),
    details: t.field({
      type: TransactionDetailsRef,
      nullable: true,
      description: 'REST `details`.',
      resolve: (transaction) => recordOf(transaction).details,
    }),
    metadata: t.field({
      type: TransactionMetadataRef,
      nullable: true,
      description: 'REST `metadata`.',
      resolve: (transaction) => recordOf(transaction).metadata,
    }),
    thisAccountId: t.string({
      nullable: true,
      description: 'REST `this_account`.',
      resolve: (transaction) => recordOf(transaction).this_account,
    }),
    thisAccount: t.field({
      type: AccountRef,
      nullable: true,
      description:
        'The account that `thisAccountId` names, at the same bank and through the same view. REST: getAccountsScope.',
      ...linkFromRecord(
        () => accountLink,
        (transaction: TransactionNode) => {
          const accountId = sound(recordOf(transaction).this_account);
          if (!accountId) return null;
          return {
            bankId: transaction.bankId,
            accountId: checkBankId('an account', accountId),
            viewId: transaction.viewId,
          };
        },
      ),
    }),
    otherAccountId: t.string({
      nullable: true,
      description: 'REST `other_account`.',
      resolve: (transaction) => recordOf(transaction).other_account,
    }),
    otherAccount: t.field({
      type: OtherAccountRef,
      nullable: true,
      description:
        'The counterparty that `otherAccountId` names, found among those of the account. REST: getOtherAccounts.',
      ...linkFromRecord(
        () => otherAccountLink,
        (transaction: TransactionNode) => {
          const otherAccountId = sound(recordOf(transaction).other_account);
          if (!otherAccountId) return null;
          const { bankId, accountId, viewId } = transaction;
          return { bankId, accountId, viewId, otherAccountId, index: 0, query: null };
        },
      ),
    }),
  }),
});

const TransactionInput = builder.inputType('TransactionInput', {
  description: 'What putTransactions sends. What is left out is not sent.',
  fields: (t) => ({
    details: t.field({ type: TransactionDetailsInput, required: true, description: 'REST `details`.' }),
    id: t.id({ description: 'REST `id`.' }),
    metadata: t.field({ type: TransactionMetadataInput, description: 'REST `metadata`.' }),
    otherAccountId: t.string({ description: 'REST `other_account`.' }),
    thisAccountId: t.string({ description: 'REST `this_account`.' }),
    uuid: t.string({ description: 'REST `uuid`.' }),
  }),
});

const transactionBody = (input: typeof TransactionInput.$inferInput): TransactionBody =>
  present({
    details: detailsBody(input.details),
    id: input.id,
    metadata: optionally(input.metadata, metadataBody),
    other_account: input.otherAccountId,
    this_account: input.thisAccountId,
    uuid: input.uuid,
  });

const PutTransactionMetadataInput = builder.inputType('PutTransactionMetadataInput', {
  description: "The transaction to put, and where. `metadataType` is the path's {TYPE}.",
  fields: (t) => ({
    bankId: t.id({ description: "The path's bank; the configured one where left out." }),
    accountId: t.id({ required: true, description: "The path's account." }),
    viewId: t.id({ description: "The path's view; the configured default view where left out." }),
    transactionId: t.id({ required: true, description: "The path's transaction." }),
    metadataType: t.string({ required: true, description: "The path's {TYPE}." }),
    transaction: t.field({ type: TransactionInput, required: true, description: 'The request body.' }),
  }),
});

const PutTransactionMetadataPayload = builder
  .objectRef<{ transaction: TransactionNode; trackId: string }>('PutTransactionMetadataPayload')
  .implement({
    description: "The bank's answer to putTransactions.",
    fields: (t) => ({
      transaction: t.expose('transaction', {
        type: TransactionRef,
        nullable: true,
        description: 'The transaction as the bank answered it.',
        extensions: known(({ transaction }: { transaction: TransactionNode }) => transaction),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putTransactionMetadata', (t) =>
  t.field({
    type: PutTransactionMetadataPayload,
    nullable: true,
    description: 'REST: putTransactions.',
    args: {
      input: t.arg({
        type: PutTransactionMetadataInput,
        required: true,
        description: 'What to put, and where.',
      }),
    },
    ...writing(
      putTransactions,
      ({ input }: { input: typeof PutTransactionMetadataInput.$inferInput }, defaults) => {
        const transaction = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: checkId('accountId', input.accountId),
          viewId: viewIdOr(defaults, input.viewId),
          transactionId: checkId('transactionId', input.transactionId),
        };
        return {
          transaction,
          ids: { ...inTransaction(transaction), TYPE: checkId('metadataType', input.metadataType) },
          body: transactionBody(input.transaction),
        };
      },
      ({ transaction }, record) => ({ transaction: { ...transaction, record } }),
    ),
  }),
);
