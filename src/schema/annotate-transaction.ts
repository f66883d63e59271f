import { putTransactions, type Transaction, type TransactionMetadata } from '../contract/transaction.ts';
import { badUserInput } from '../errors.ts';
import { inTransaction } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { restId } from './global-id.ts';
import { TransactionObject, transactionNode } from './node-lookups/transaction.ts';
import { transactionVersion } from './transaction.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';

const TransactionMetadataChanges = builder.inputType('TransactionMetadataChanges', {
  description: "Changes of a transaction's metadata: what is left out keeps its value, null clears it.",
  fields: (t) => ({
    comments: t.string({
      description:
        'What the customer notes about it. REST `comments`. The bank requires it beside other metadata: where there is none, an empty text is sent with those.',
    }),
    narrative: t.string({ description: 'A longer text about it. REST `narrative`.' }),
    tags: t.string({ description: 'Words to find it by. REST `tags`.' }),
    where: t.string({ description: 'Where it took place. REST `where`.' }),
  }),
});

const members = ['comments', 'narrative', 'tags', 'where'] as const;
type Changes = Readonly<Partial<TransactionMetadata>>;

/** The changes of the metadata; null if no metadata would be left. `comments` is required beside any other member. */
function metadataChanges(current: Changes, changes: Changes) {
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
function metadataTypeOf(given: string | null | undefined, changes: Changes): string {
  if (given != null) return restId('metadataType', given);
  const [only, ...others] = members.filter((name) => changes[name] !== undefined);
  if (only !== undefined && others.length === 0) return only;
  throw badUserInput('metadataType is needed where `changes` does not name exactly one member.');
}

const AnnotateTransactionInput = builder.inputType('AnnotateTransactionInput', {
  description: 'The transaction to annotate, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    accountId: t.id({ required: true, description: 'The account through which the transaction is read.' }),
    viewId: t.id({ description: updateDescriptions.viewId }),
    transactionId: t.id({ required: true, description: 'The transaction.' }),
    metadataType: t.string({
      description:
        "The bank's name for the kind of metadata, which the specification does not list: the path's {TYPE}. Where left out, the one member that `changes` names: `comments`, `narrative`, `tags` or `where`.",
    }),
    approvedByIpAddress: t.string({
      description:
        'The IP address from which it was approved. REST `details.approved_by_ip_address`, which the bank requires: used only where the transaction has none.',
    }),
    changes: t.field({
      type: TransactionMetadataChanges,
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
