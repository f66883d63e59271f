import { validateBankId, validateId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { putTransactions, type TransactionBody } from '../contract/transaction.ts';
import { inTransaction } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { mapOptional, omitNullish } from './common-types.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { knownObject, startPrefetch } from './field-extensions.ts';
import { answeredByIdsWithPrefetch, idFromPath, nodeFromIds, nodeFromRecord, recordOf } from './node-type.ts';
import { AccountObject, accountNode } from './node-types/account.ts';
import { BankObject, bankNode } from './node-types/bank.ts';
import { OtherAccountObject, otherAccountNode } from './node-types/other-account.ts';
import { type TransactionNode, TransactionObject, transactionNode } from './node-types/transaction.ts';
import { loadRequests, requestOf, TransactionRequestObject } from './node-types/transaction-request.ts';
import {
  detailsBody,
  metadataBody,
  TransactionDetailsInput,
  TransactionDetailsObject,
  TransactionMetadataInput,
  TransactionMetadataObject,
} from './transaction-details.ts';
import { writeField } from './write-field.ts';

TransactionObject.implement({
  description: 'A transaction of an account, as seen through one of its views. REST: getTransaction.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(transactionNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    accountId: t.exposeID('accountId', idFromPath('The account through which it was read, from the path.')),
    viewId: t.exposeID('viewId', idFromPath('The view through which it is seen, from the path.')),
    transactionId: t.exposeID('transactionId', idFromPath('The transaction id, from the path.')),
    account: t.field({
      type: AccountObject,
      nullable: true,
      description: 'The account through which it was read. REST: getAccountsScope.',
      ...nodeFromIds(
        () => accountNode,
        ({ bankId, accountId, viewId }: TransactionNode) => ({ bankId, accountId, viewId }),
      ),
    }),
    bank: t.field({
      type: BankObject,
      nullable: false,
      description: 'The bank through which the transaction is read. Costs no REST call.',
      ...nodeFromIds(
        () => bankNode,
        ({ bankId }: TransactionNode) => ({ bankId }),
      ),
    }),
    request: t.field({
      type: TransactionRequestObject,
      nullable: true,
      description:
        'The request that led to it: the first of the account whose `transactionIds` names it; null where none does. REST: getTransactionsRequest.',
      extensions: answeredByIdsWithPrefetch(
        (transaction: TransactionNode, _args: object, context) => loadRequests(transaction, context),
        (transaction: TransactionNode, _args: object, context) => {
          startPrefetch(() => loadRequests(transaction, context));
          return null;
        },
      ),
      resolve: (transaction, _args, context) => requestOf(transaction, context),
    }),
    uuid: t.string({
      nullable: true,
      description: 'REST `uuid`.',
      resolve: (transaction) => recordOf(transaction).uuid,
    }),
    details: t.field({
      type: TransactionDetailsObject,
      nullable: true,
      description: 'REST `details`.',
      resolve: (transaction) => recordOf(transaction).details,
    }),
    metadata: t.field({
      type: TransactionMetadataObject,
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
      type: AccountObject,
      nullable: true,
      description:
        'The account that `thisAccountId` names, at the same bank and through the same view. REST: getAccountsScope.',
      ...nodeFromRecord(
        () => accountNode,
        (transaction: TransactionNode) => {
          const accountId = unwrap(recordOf(transaction).this_account);
          if (!accountId) return null;
          return {
            bankId: transaction.bankId,
            accountId: validateBankId('an account', accountId),
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
      type: OtherAccountObject,
      nullable: true,
      description:
        'The counterparty that `otherAccountId` names, found among those of the account. REST: getOtherAccounts.',
      ...nodeFromRecord(
        () => otherAccountNode,
        (transaction: TransactionNode) => {
          const otherAccountId = unwrap(recordOf(transaction).other_account);
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
  omitNullish({
    details: detailsBody(input.details),
    id: input.id,
    metadata: mapOptional(input.metadata, metadataBody),
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
        type: TransactionObject,
        nullable: true,
        description: 'The transaction as the bank answered it.',
        extensions: knownObject(({ transaction }: { transaction: TransactionNode }) => transaction),
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
    ...writeField(
      putTransactions,
      ({ input }: { input: typeof PutTransactionMetadataInput.$inferInput }, defaults) => {
        const transaction = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: validateId('accountId', input.accountId),
          viewId: viewIdOr(defaults, input.viewId),
          transactionId: validateId('transactionId', input.transactionId),
        };
        return {
          transaction,
          ids: { ...inTransaction(transaction), TYPE: validateId('metadataType', input.metadataType) },
          body: transactionBody(input.transaction),
        };
      },
      ({ transaction }, record) => ({ transaction: { ...transaction, record } }),
    ),
  }),
);
