import type { Body } from '../contract/record.ts';
import {
  getTransaction,
  putTransactions,
  type Transaction as TransactionRecord,
  transaction,
  transactionMetadata,
} from '../contract/transaction.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import type { TransactionIds } from '../loaders/loaders.ts';
import { builder, type InputFields } from './builder.ts';
import { bankIdOr, type Defaults, viewIdOr } from './context.ts';
import { toBody, toChanges } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import {
  bankIdInput,
  changesInput,
  putDescription,
  updatedViewInput,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';
import { Transaction } from './transaction.ts';

const transactionIdInput = (t: InputFields) =>
  t.id({ required: true, description: "The transaction's id at the bank." });

const metadataTypeDescription = 'The path segment `{TYPE}`, such as `comments`.';

interface Input {
  readonly bankId?: string | null | undefined;
  readonly accountId: string;
  readonly viewId?: string | null | undefined;
  readonly transactionId: string;
}

/** Errors: BAD_USER_INPUT. */
const idsOf = ({ bankId, accountId, viewId, transactionId }: Input, defaults: Defaults): TransactionIds => ({
  bankId: bankIdOr(defaults, bankId),
  accountId: restId('accountId', accountId),
  viewId: viewIdOr(defaults, viewId),
  transactionId: restId('transactionId', transactionId),
});

const calls = { read: getTransaction, write: putTransactions };

builder.relayMutationField(
  'putTransactionMetadata',
  {
    description: 'The transaction to put, and where.',
    inputFields: (t) => ({
      bankId: bankIdInput(t),
      accountId: t.id({ required: true, description: "The account's id at the bank." }),
      viewId: t.id({ description: 'The view of the account; the configured one by default.' }),
      transactionId: transactionIdInput(t),
      metadataType: t.string({ required: true, description: metadataTypeDescription }),
      transaction: wholeRecordInput(t, transaction, putTransactions),
    }),
  },
  {
    description: putDescription('a transaction', 'annotateTransaction', putTransactions),
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const path = { ...ids, TYPE: restId('metadataType', input.metadataType) };
      const body = toBody(transaction, input.transaction, 'transaction.');
      const { answer, trackId } = await session.write(putTransactions, path, body);
      return { ids, record: answer, trackId };
    },
  },
  writtenPayload(Transaction, calls),
);

builder.relayMutationField(
  'annotateTransaction',
  {
    description: 'The transaction to annotate, and how.',
    inputFields: (t) => ({
      bankId: bankIdInput(t),
      accountId: t.id({ required: true, description: 'The account through which it is read.' }),
      viewId: updatedViewInput(t),
      transactionId: transactionIdInput(t),
      metadataType: t.string({
        description: 'The path segment `{TYPE}`; by default the member that `changes` names.',
      }),
      approvedByIpAddress: t.string({
        description:
          'From which IP address it was approved. REST `details.approved_by_ip_address`, which the bank requires: used only where the transaction has none.',
      }),
      ...changesInput(t, transactionMetadata),
    }),
  },
  {
    description: "Changes a transaction's metadata only. REST: getTransaction, putTransactions.",
    resolve: (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      const { metadataType, approvedByIpAddress } = input;
      const changes: MetadataChanges = toChanges(transactionMetadata, input.changes);
      return updateRecord(context, {
        ...calls,
        shape: transaction,
        ids: { ...ids, TYPE: metadataTypeOf(metadataType, changes) },
        input,
        load: (fresh) => Transaction.readForUpdate(ids, fresh),
        changes: (read) => ({
          details: approvalOf(read, approvedByIpAddress),
          metadata: metadataChanges(read, changes),
        }),
      });
    },
  },
  writtenPayload(Transaction, calls),
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
const approvalOf = ({ details }: TransactionRecord, given: string | null | undefined) =>
  details?.approved_by_ip_address == null && given != null ? { approved_by_ip_address: given } : undefined;

/** The changes of the metadata; null if no metadata would be left. `comments` is required with any other member. */
function metadataChanges({ metadata }: TransactionRecord, changes: MetadataChanges): MetadataChanges | null {
  const left = members.filter(
    (name) => (changes[name] === undefined ? metadata?.[name] : changes[name]) != null,
  );
  if (left.length === 0) return null;
  return left.includes('comments') ? changes : { ...changes, comments: '' };
}
