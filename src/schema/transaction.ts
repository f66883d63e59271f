import { z } from 'zod';
import { validateBankId, validateId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { namedObject } from '../contract/interpretations.ts';
import type { ChangesInput } from '../contract/resource.ts';
import {
  putTransactions,
  type Transaction,
  type TransactionMetadata,
  transaction,
  transactionMetadata,
} from '../contract/transaction.ts';
import { badUserInput } from '../errors.ts';
import type { TransactionIds } from '../loaders/loaders.ts';
import { inTransaction } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { startPrefetch } from './field-extensions.ts';
import { changesType, inputType, recordFields, toBody } from './fields.ts';
import { restId } from './global-id.ts';
import {
  answeredByIdsWithPrefetch,
  defineNodeType,
  idFromPath,
  type NodeRef,
  nodeFromIds,
  nodeFromRecord,
  recordOf,
  validateViewIds,
  viewKey,
} from './node.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import { loadRequests, requestOf, TransactionRequestObject } from './transaction-request.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';
import { writeField, writtenNode } from './write-field.ts';

export type TransactionNode = NodeRef<TransactionIds, Transaction>;

/** Transactions by account, view and transaction id. Read through getTransaction. */
export const transactionNode = defineNodeType({
  name: 'Transaction',
  entityKey: ['bankId', 'accountId', 'viewId', 'transactionId'],
  key: z.tuple([...viewKey, z.string()]),
  toKey: ({ bankId, accountId, viewId, transactionId }: TransactionNode) =>
    [bankId, accountId, viewId, transactionId] as const,
  toIds: ([bankId, accountId, viewId, transactionId]): TransactionIds => ({
    ...validateViewIds(bankId, accountId, viewId),
    transactionId: validateId('transactionId', transactionId),
  }),
  read: (ids, { session }) => session.loaders.transaction.load(ids),
});

export const TransactionObject = transactionNode.object;

/** The version of a transaction as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const transactionVersion = (record: Transaction): string => recordVersion(transaction.answer, record);

TransactionObject.implement({
  description: transaction.description,
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    ...recordFields(t, transaction),
    id: t.id(transactionNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    accountId: t.exposeID('accountId', idFromPath('The account through which it was read, from the path.')),
    viewId: t.exposeID('viewId', idFromPath('The view through which it is seen, from the path.')),
    transactionId: t.exposeID('transactionId', idFromPath('The transaction id, from the path.')),
    account: t.field({
      nullable: true,
      description: 'The account through which it was read. REST: getAccountsScope.',
      ...nodeFromIds('Account', ({ bankId, accountId, viewId }: TransactionNode) => ({
        bankId,
        accountId,
        viewId,
      })),
    }),
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (node) => transactionVersion(recordOf(node)),
    }),
    bank: t.field({
      nullable: false,
      description: 'The bank through which the transaction is read. Costs no REST call.',
      ...nodeFromIds('Bank', ({ bankId }: TransactionNode) => ({ bankId })),
    }),
    request: t.field({
      type: TransactionRequestObject,
      nullable: true,
      description:
        'The request that led to it: the first of the account whose `transactionIds` names it; null where none does. REST: getTransactionsRequest.',
      extensions: answeredByIdsWithPrefetch(
        (node: TransactionNode, _args: object, context) => loadRequests(node, context),
        (node: TransactionNode, _args: object, context) => {
          startPrefetch(() => loadRequests(node, context));
          return null;
        },
      ),
      resolve: (node, _args, context) => requestOf(node, context),
    }),
    thisAccount: t.field({
      nullable: true,
      description:
        'The account that `thisAccountId` names, through the same view, and at the same bank unless the record names another. REST: getAccountsScope.',
      ...nodeFromRecord('Account', (node: TransactionNode) => {
        const record = recordOf(node);
        const accountId = unwrap(record.this_account);
        if (!accountId) return null;
        const bankId = namedObject(record, 'this_account')?.bank_id;
        return {
          bankId: typeof bankId === 'string' ? validateBankId('a bank', bankId) : node.bankId,
          accountId: validateBankId('an account', accountId),
          viewId: node.viewId,
        };
      }),
    }),
    otherAccount: t.field({
      nullable: true,
      description:
        'The counterparty that `otherAccountId` names, found among those of the account. REST: getOtherAccounts.',
      ...nodeFromRecord('OtherAccount', (node: TransactionNode) => {
        const otherAccountId = unwrap(recordOf(node).other_account);
        if (!otherAccountId) return null;
        const { bankId, accountId, viewId } = node;
        return { bankId, accountId, viewId, otherAccountId, index: 0, query: null };
      }),
    }),
  }),
});

const metadataTypes =
  "The bank's name for the kind of metadata, the path's {TYPE}. The specification lists no values; the sandbox accepts `comments`, `narrative`, `tags` and `where`.";

const PutTransactionMetadataInput = builder.inputType('PutTransactionMetadataInput', {
  description: 'The transaction to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    accountId: t.id({ required: true, description: 'The account.' }),
    viewId: t.id({ description: 'The view; the configured default view where left out.' }),
    transactionId: t.id({ required: true, description: 'The transaction.' }),
    metadataType: t.string({ required: true, description: metadataTypes }),
    transaction: t.field({
      type: inputType(
        transaction,
        'A whole transaction, as putTransactions sends it. What is left out is not sent, and lost.',
      ),
      required: true,
      description: 'The request body.',
    }),
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
        const ids = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: restId('accountId', input.accountId),
          viewId: viewIdOr(defaults, input.viewId),
          transactionId: restId('transactionId', input.transactionId),
        };
        return {
          node: ids,
          ids: { ...inTransaction(ids), TYPE: restId('metadataType', input.metadataType) },
          body: toBody(transaction, input.transaction),
        };
      },
      ({ node }, record) => ({ transaction: { ...node, record } }),
    ),
  }),
);

/** Its members have the same names in REST. */
type MetadataChanges = ChangesInput<typeof transactionMetadata.fields>;
const members = ['comments', 'narrative', 'tags', 'where'] as const satisfies (keyof MetadataChanges)[];

/** The changes of the metadata; null if no metadata would be left. `comments` is required beside any other member. */
function metadataChanges(current: Partial<TransactionMetadata>, changes: MetadataChanges) {
  const left = members.filter(
    (name) => (changes[name] === undefined ? current[name] : changes[name]) != null,
  );
  if (left.length === 0) return null;
  return left.includes('comments') ? changes : { ...changes, comments: '' };
}

/**
 * The path's {TYPE}: the given one, or the name of the one changed member.
 * Errors: BAD_USER_INPUT if several members are changed.
 */
function metadataTypeOf(given: string | null | undefined, changes: MetadataChanges): string {
  if (given != null) return restId('metadataType', given);
  const [only, ...others] = members.filter((name) => changes[name] !== undefined);
  if (only !== undefined && others.length === 0) return only;
  throw badUserInput(
    'metadataType is needed where `changes` does not name exactly one member.',
    'metadataType',
  );
}

const AnnotateTransactionInput = builder.inputType('AnnotateTransactionInput', {
  description: 'The transaction to annotate, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    accountId: t.id({ required: true, description: 'The account through which the transaction is read.' }),
    viewId: t.id({ description: updateDescriptions.viewId }),
    transactionId: t.id({ required: true, description: 'The transaction.' }),
    metadataType: t.string({
      description: `${metadataTypes} If left out: the one member that \`changes\` names.`,
    }),
    approvedByIpAddress: t.string({
      description:
        'The IP address from which it was approved. REST `details.approved_by_ip_address`, which the bank requires: used only where the transaction has none.',
    }),
    changes: t.field({
      type: changesType(transactionMetadata),
      required: true,
      description: updateDescriptions.changes,
    }),
    ifVersion: t.string({ description: updateDescriptions.ifVersion }),
  }),
});

/** The changes that apply to a transaction as it was read. */
const transactionChanges = (
  { details, metadata }: Transaction,
  { changes, approvedByIpAddress }: typeof AnnotateTransactionInput.$inferInput,
) => ({
  details:
    details?.approved_by_ip_address == null && approvedByIpAddress != null
      ? { approved_by_ip_address: approvedByIpAddress }
      : undefined,
  metadata: metadataChanges(metadata ?? {}, changes),
});

const AnnotateTransactionPayload = updatePayload('AnnotateTransactionPayload', {
  field: 'transaction',
  nodeType: () => transactionNode,
  type: TransactionObject,
});

builder.mutationField('annotateTransaction', (t) =>
  t.field({
    type: AnnotateTransactionPayload,
    nullable: true,
    description:
      "Changes a transaction's metadata (comments, narrative, tags, where) and keeps all else. REST: getTransaction, then putTransactions.",
    args: {
      input: t.arg({
        type: AnnotateTransactionInput,
        required: true,
        description: 'What to change, and how.',
      }),
    },
    ...updateField(
      {
        operation: putTransactions,
        payload: 'AnnotateTransactionPayload',
        nodeType: () => transactionNode,
        versionOf: transactionVersion,
      },
      ({ input }: { input: typeof AnnotateTransactionInput.$inferInput }, defaults) => {
        const node = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: restId('accountId', input.accountId),
          viewId: viewIdOr(defaults, input.viewId),
          transactionId: restId('transactionId', input.transactionId),
        };
        return {
          node,
          ids: { ...inTransaction(node), TYPE: metadataTypeOf(input.metadataType, input.changes) },
          record: [node.bankId, node.accountId, node.transactionId],
          ifVersion: input.ifVersion,
          changes: (record) => transactionChanges(record, input),
        };
      },
    ),
  }),
);
