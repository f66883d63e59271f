import { z } from 'zod';
import { sound } from '../bank/answer.ts';
import { checkBankId, checkId } from '../bank/path.ts';
import {
  putTransactions,
  type Transaction,
  type TransactionBody,
  type TransactionDetails,
  type TransactionMetadata,
} from '../contract/transaction.ts';
import type { TransactionIds } from '../loaders/loaders.ts';
import { AccountRef, accountLink } from './account.ts';
import { builder } from './builder.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { createLink, fromIds, type Linked, linkFromIds, linkFromRecord, recordOf } from './link.ts';
import { OtherAccountRef, otherAccountLink } from './other-account.ts';
import { AmountInput, amountBody, MoneyRef, optionally, present } from './values.ts';
import { checkView, viewKey } from './view.ts';

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

const TransactionDetailsRef = builder.objectRef<TransactionDetails>('TransactionDetails').implement({
  description: 'REST `details` of a transaction.',
  fields: (t) => ({
    approvedByIpAddress: t.exposeString('approved_by_ip_address', {
      nullable: true,
      description: 'REST `approved_by_ip_address`.',
    }),
    approvedByUserId: t.exposeString('approved_by_user_id', {
      nullable: true,
      description: 'REST `approved_by_user_id`.',
    }),
    cancelledByIpAddress: t.exposeString('cancelled_by_ip_address', {
      nullable: true,
      description: 'REST `cancelled_by_ip_address`.',
    }),
    cancelledByUserId: t.exposeString('cancelled_by_user_id', {
      nullable: true,
      description: 'REST `cancelled_by_user_id`.',
    }),
    completed: t.exposeString('completed', {
      nullable: true,
      description: 'REST `completed`, as the bank wrote it.',
    }),
    description: t.exposeString('description', { nullable: true, description: 'REST `description`.' }),
    newBalance: t.expose('new_balance', {
      type: MoneyRef,
      nullable: true,
      description: 'REST `new_balance`.',
    }),
    pausedByIpAddress: t.exposeString('paused_by_ip_address', {
      nullable: true,
      description: 'REST `paused_by_ip_address`.',
    }),
    pausedByUserId: t.exposeString('paused_by_user_id', {
      nullable: true,
      description: 'REST `paused_by_user_id`.',
    }),
    posted: t.exposeString('posted', { nullable: true, description: 'REST `posted`, as the bank wrote it.' }),
    postedByIpAddress: t.exposeString('posted_by_ip_address', {
      nullable: true,
      description: 'REST `posted_by_ip_address`.',
    }),
    postedByUserId: t.exposeString('posted_by_user_id', {
      nullable: true,
      description: 'REST `posted_by_user_id`.',
    }),
    status: t.exposeString('status', { nullable: true, description: 'REST `status`, a free text.' }),
    type: t.exposeString('type', { nullable: true, description: 'REST `type`, a free text.' }),
    value: t.expose('value', { type: MoneyRef, nullable: true, description: 'REST `value`.' }),
  }),
});

const TransactionMetadataRef = builder.objectRef<TransactionMetadata>('TransactionMetadata').implement({
  description: 'REST `metadata` of a transaction.',
  fields: (t) => ({
    comments: t.exposeString('comments', { nullable: true, description: 'REST `comments`.' }),
    narrative: t.exposeString('narrative', { nullable: true, description: 'REST `narrative`.' }),
    tags: t.exposeString('tags', { nullable: true, description: 'REST `tags`.' }),
    where: t.exposeString('where', { nullable: true, description: 'REST `where`.' }),
  }),
});

export const TransactionRef = builder.objectRef<TransactionNode>('Transaction');
builder.node(TransactionRef, {
  description: 'A transaction of an account, as seen through one of its views. REST: getTransaction.',
  id: { resolve: transactionLink.keyOf, extensions: fromIds },
  fields: (t) => ({
    bankId: t.exposeID('bankId', {
      nullable: false,
      description: "The bank's code, from the path.",
      extensions: fromIds,
    }),
    accountId: t.exposeID('accountId', {
      nullable: false,
      description: 'The account through which it was read, from the path.',
      extensions: fromIds,
    }),
    viewId: t.exposeID('viewId', {
      nullable: false,
      description: 'The view through which it is seen, from the path.',
      extensions: fromIds,
    }),
    transactionId: t.exposeID('transactionId', {
      nullable: false,
      description: 'The transaction id, from the path.',
      extensions: fromIds,
    }),
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

const TransactionDetailsInput = builder.inputType('TransactionDetailsInput', {
  description: 'REST `details` of a transaction. What is left out is not sent.',
  fields: (t) => ({
    approvedByIpAddress: t.string({ required: true, description: 'REST `approved_by_ip_address`.' }),
    approvedByUserId: t.string({ description: 'REST `approved_by_user_id`.' }),
    cancelledByIpAddress: t.string({ description: 'REST `cancelled_by_ip_address`.' }),
    cancelledByUserId: t.string({ description: 'REST `cancelled_by_user_id`.' }),
    completed: t.string({ description: 'REST `completed`.' }),
    description: t.string({ description: 'REST `description`.' }),
    newBalance: t.field({ type: AmountInput, description: 'REST `new_balance`.' }),
    pausedByIpAddress: t.string({ description: 'REST `paused_by_ip_address`.' }),
    pausedByUserId: t.string({ description: 'REST `paused_by_user_id`.' }),
    posted: t.string({ description: 'REST `posted`.' }),
    postedByIpAddress: t.string({ description: 'REST `posted_by_ip_address`.' }),
    postedByUserId: t.string({ description: 'REST `posted_by_user_id`.' }),
    status: t.string({ description: 'REST `status`.' }),
    type: t.string({ description: 'REST `type`.' }),
    value: t.field({ type: AmountInput, description: 'REST `value`.' }),
  }),
});

const TransactionMetadataInput = builder.inputType('TransactionMetadataInput', {
  description: 'REST `metadata` of a transaction. What is left out is not sent.',
  fields: (t) => ({
    comments: t.string({ required: true, description: 'REST `comments`.' }),
    narrative: t.string({ description: 'REST `narrative`.' }),
    tags: t.string({ description: 'REST `tags`.' }),
    where: t.string({ description: 'REST `where`.' }),
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

const detailsBody = (input: typeof TransactionDetailsInput.$inferInput): TransactionBody['details'] =>
  present({
    approved_by_ip_address: input.approvedByIpAddress,
    approved_by_user_id: input.approvedByUserId,
    cancelled_by_ip_address: input.cancelledByIpAddress,
    cancelled_by_user_id: input.cancelledByUserId,
    completed: input.completed,
    description: input.description,
    new_balance: optionally(input.newBalance, amountBody),
    paused_by_ip_address: input.pausedByIpAddress,
    paused_by_user_id: input.pausedByUserId,
    posted: input.posted,
    posted_by_ip_address: input.postedByIpAddress,
    posted_by_user_id: input.postedByUserId,
    status: input.status,
    type: input.type,
    value: optionally(input.value, amountBody),
  });

const transactionBody = (input: typeof TransactionInput.$inferInput): TransactionBody =>
  present({
    details: detailsBody(input.details),
    id: input.id,
    metadata: optionally(input.metadata, (metadata) => present({ ...metadata })),
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
    resolve: async (_root, { input }, { reader, defaults }) => {
      const ids: TransactionIds = {
        bankId: bankIdOr(defaults, input.bankId),
        accountId: checkId('accountId', input.accountId),
        viewId: viewIdOr(defaults, input.viewId),
        transactionId: checkId('transactionId', input.transactionId),
      };
      const { answer, trackId } = await reader.write(
        putTransactions,
        {
          BANK_ID: ids.bankId,
          ACCOUNT_ID: ids.accountId,
          VIEW_ID: ids.viewId,
          TRANSACTION_ID: ids.transactionId,
          TYPE: checkId('metadataType', input.metadataType),
        },
        transactionBody(input.transaction),
      );
      return { transaction: { ...ids, record: answer }, trackId };
    },
  }),
);
