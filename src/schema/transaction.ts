import { validateBankId } from '../bank/ids.ts';
import { namedObject } from '../bank/interpret-record.ts';
import { unwrap } from '../bank/response.ts';
import {
  putTransactions,
  type Transaction,
  type TransactionBody,
  transaction as transactionShape,
} from '../contract/transaction.ts';
import { inTransaction } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { mapOptional, omitNullish } from './common-types.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { startPrefetch } from './field-extensions.ts';
import { notGlobalId, restId } from './global-id.ts';
import { idUnderEitherName, renamedTo } from './input-names.ts';
import { AccountObject, accountNode } from './node-lookups/account.ts';
import { BankObject, bankNode } from './node-lookups/bank.ts';
import { OtherAccountObject, otherAccountNode } from './node-lookups/other-account.ts';
import { type TransactionNode, TransactionObject, transactionNode } from './node-lookups/transaction.ts';
import { loadRequests, requestOf, TransactionRequestObject } from './node-lookups/transaction-request.ts';
import { answeredByIdsWithPrefetch, idFromPath, nodeFromIds, nodeFromRecord, recordOf } from './node-type.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import {
  detailsBody,
  metadataBody,
  TransactionDetailsInput,
  TransactionDetailsObject,
  TransactionMetadataInput,
  TransactionMetadataObject,
} from './transaction-details.ts';
import { writeField, writtenNode } from './write-field.ts';

/** The version of a transaction as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const transactionVersion = (record: Transaction): string => recordVersion(transactionShape, record);

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
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (transaction) => transactionVersion(recordOf(transaction)),
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
      description: 'The UUID of the transaction. REST `uuid`.',
      resolve: (transaction) => recordOf(transaction).uuid,
    }),
    details: t.field({
      type: TransactionDetailsObject,
      nullable: true,
      description: 'What was moved, when, and by whom. REST `details`.',
      resolve: (transaction) => recordOf(transaction).details,
    }),
    metadata: t.field({
      type: TransactionMetadataObject,
      nullable: true,
      description: 'What people note about it. REST `metadata`.',
      resolve: (transaction) => recordOf(transaction).metadata,
    }),
    thisAccountId: t.string({
      nullable: true,
      description: 'The id of the account whose transaction it is. REST `this_account`.',
      resolve: (transaction) => recordOf(transaction).this_account,
    }),
    thisAccount: t.field({
      type: AccountObject,
      nullable: true,
      description:
        'The account that `thisAccountId` names, through the same view, and at the same bank unless the record names another. REST: getAccountsScope.',
      ...nodeFromRecord(
        () => accountNode,
        (transaction: TransactionNode) => {
          const record = recordOf(transaction);
          const accountId = unwrap(record.this_account);
          if (!accountId) return null;
          const bankId = namedObject(record, 'this_account')?.bank_id;
          return {
            bankId: typeof bankId === 'string' ? validateBankId('a bank', bankId) : transaction.bankId,
            accountId: validateBankId('an account', accountId),
            viewId: transaction.viewId,
          };
        },
      ),
    }),
    otherAccountId: t.string({
      nullable: true,
      description: "The counterparty's id among those of the account. REST `other_account`.",
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
  description: 'A whole transaction, as putTransactions sends it. What is left out is not sent, and lost.',
  fields: (t) => ({
    details: t.field({
      type: TransactionDetailsInput,
      required: true,
      description: 'What was moved, when, and by whom. REST `details`.',
    }),
    transactionId: t.id({ description: "The transaction's id at the bank. REST `id`." }),
    id: t.id({
      description: "The transaction's id at the bank. REST `id`.",
      deprecationReason: renamedTo('transactionId'),
    }),
    metadata: t.field({
      type: TransactionMetadataInput,
      description: 'What people note about it. REST `metadata`.',
    }),
    otherAccountId: t.string({
      description: "The counterparty's id among those of the account. REST `other_account`.",
    }),
    thisAccountId: t.string({
      description: 'The id of the account whose transaction it is. REST `this_account`.',
    }),
    uuid: t.string({ description: 'The UUID of the transaction. REST `uuid`.' }),
  }),
});

const transactionBody = (input: typeof TransactionInput.$inferInput): TransactionBody =>
  omitNullish({
    details: detailsBody(input.details),
    id: idUnderEitherName('transactionId', input.transactionId, 'id', input.id),
    metadata: mapOptional(input.metadata, metadataBody),
    other_account: mapOptional(input.otherAccountId, (id) => notGlobalId('otherAccountId', id)),
    this_account: mapOptional(input.thisAccountId, (id) => notGlobalId('thisAccountId', id)),
    uuid: input.uuid,
  });

const PutTransactionMetadataInput = builder.inputType('PutTransactionMetadataInput', {
  description: "The transaction to put, and where. `metadataType` is the path's {TYPE}.",
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    accountId: t.id({ required: true, description: 'The account.' }),
    viewId: t.id({ description: 'The view; the configured default view where left out.' }),
    transactionId: t.id({ required: true, description: 'The transaction.' }),
    metadataType: t.string({ required: true, description: "The path's {TYPE}." }),
    transaction: t.field({ type: TransactionInput, required: true, description: 'The request body.' }),
  }),
});

const PutTransactionMetadataPayload = builder
  .objectRef<{ transaction: TransactionNode; trackId: string }>('PutTransactionMetadataPayload')
  .implement({
    description: "The bank's answer to putTransactions.",
    fields: (t) => ({
      transaction: t.field({
        type: TransactionObject,
        nullable: true,
        description:
          'The transaction as the bank answered it; read anew where the bank answered without it. REST then: getTransaction.',
        ...writtenNode(
          () => transactionNode,
          ({ transaction }: { transaction: TransactionNode }) => transaction,
        ),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putTransactionMetadata', (t) =>
  t.field({
    type: PutTransactionMetadataPayload,
    nullable: true,
    description:
      'Writes a transaction with its metadata. Replaces the whole record: what is left out is lost. To change a part of it use `annotateTransaction`. REST: putTransactions.',
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
          accountId: restId('accountId', input.accountId),
          viewId: viewIdOr(defaults, input.viewId),
          transactionId: restId('transactionId', input.transactionId),
        };
        return {
          transaction,
          ids: { ...inTransaction(transaction), TYPE: restId('metadataType', input.metadataType) },
          body: transactionBody(input.transaction),
        };
      },
      ({ transaction }, record) => ({ transaction: { ...transaction, record } }),
    ),
  }),
);
