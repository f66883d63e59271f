import type { Body } from '../contract/record.ts';
import {
  getTransaction,
  putTransactions,
  type Transaction,
  transaction,
  transactionMetadata,
} from '../contract/transaction.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import type { TransactionIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import { bankIdOr, type Defaults, viewIdOr } from './context.ts';
import { toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import {
  bankIdInput,
  changesInput,
  updatedViewInput,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';
import { transactionNode, transactionVersion } from './transaction.ts';

const transactionIdDescription = "The transaction's id at the bank.";
const metadataTypeDescription =
  "The bank's name for the kind of metadata, such as `comments`: the path segment `{TYPE}`.";

const PutTransactionMetadataInput = builder.inputType('PutTransactionMetadataInput', {
  description: 'The transaction to put, and where.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    accountId: t.id({ required: true, description: "The account's id at the bank." }),
    viewId: t.id({
      description: 'The view of the account; the configured one by default.',
    }),
    transactionId: t.id({ required: true, description: transactionIdDescription }),
    metadataType: t.string({ required: true, description: metadataTypeDescription }),
    transaction: wholeRecordInput(t, transaction, putTransactions),
  }),
});

const AnnotateTransactionInput = builder.inputType('AnnotateTransactionInput', {
  description: 'The transaction to annotate, and how.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    accountId: t.id({ required: true, description: 'The account through which the transaction is read.' }),
    viewId: updatedViewInput(t),
    transactionId: t.id({ required: true, description: transactionIdDescription }),
    metadataType: t.string({
      description: `${metadataTypeDescription} If left out: the one member that \`changes\` names.`,
    }),
    approvedByIpAddress: t.string({
      description:
        'The IP address from which it was approved. REST `details.approved_by_ip_address`, which the bank requires: used only where the transaction has none.',
    }),
    ...changesInput(t, transactionMetadata),
  }),
});

type Input = typeof PutTransactionMetadataInput.$inferInput | typeof AnnotateTransactionInput.$inferInput;

/** Errors: BAD_USER_INPUT. */
const idsOf = ({ bankId, accountId, viewId, transactionId }: Input, defaults: Defaults): TransactionIds => ({
  bankId: bankIdOr(defaults, bankId),
  accountId: restId('accountId', accountId),
  viewId: viewIdOr(defaults, viewId),
  transactionId: restId('transactionId', transactionId),
});

const calls = { read: getTransaction, write: putTransactions };

builder.mutationField('putTransactionMetadata', (t) =>
  t.field({
    type: writtenPayload('PutTransactionMetadataPayload', transactionNode, calls),
    nullable: true,
    description:
      'Writes a transaction with its metadata. Replaces the whole record: what is left out is lost. To change a part of it use `annotateTransaction`. REST: putTransactions.',
    args: {
      input: t.arg({
        type: PutTransactionMetadataInput,
        required: true,
        description: 'The transaction, and where to put it.',
      }),
    },
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const path = { ...ids, TYPE: restId('metadataType', input.metadataType) };
      const body = toBody(transaction, input.transaction);
      const { answer, trackId } = await session.write(putTransactions, path, body);
      return { ids, record: answer, trackId };
    },
  }),
);

builder.mutationField('annotateTransaction', (t) =>
  t.field({
    type: writtenPayload('AnnotateTransactionPayload', transactionNode, calls),
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
    resolve: async (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      const { metadataType, approvedByIpAddress } = input;
      const changes: MetadataChanges = toChanges(transactionMetadata, input.changes);
      const written = await updateRecord(context, {
        ...calls,
        shape: transaction,
        ids: { ...ids, TYPE: metadataTypeOf(metadataType, changes) },
        input,
        load: (fresh) => transactionNode.read(ids, fresh),
        versionOf: transactionVersion,
        changes: (read) => ({
          details: approvalOf(read, approvedByIpAddress),
          metadata: metadataChanges(read, changes),
        }),
      });
      return { ids, ...written };
    },
  }),
);

/** The members of the metadata have the same names in REST. */
type MetadataChanges = Changes<Body<typeof transactionMetadata>>;
const members = ['comments', 'narrative', 'tags', 'where'] as const satisfies (keyof MetadataChanges)[];

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

/** The bank requires the address from which a transaction was approved: the given one, if the record has none. */
const approvalOf = ({ details }: Transaction, given: string | null | undefined) =>
  details?.approved_by_ip_address == null && given != null ? { approved_by_ip_address: given } : undefined;

/** The changes of the metadata; null if no metadata would be left. `comments` is required with any other member. */
function metadataChanges({ metadata }: Transaction, changes: MetadataChanges): MetadataChanges | null {
  const left = members.filter(
    (name) => (changes[name] === undefined ? metadata?.[name] : changes[name]) != null,
  );
  if (left.length === 0) return null;
  return left.includes('comments') ? changes : { ...changes, comments: '' };
}
