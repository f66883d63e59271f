import { validateBankId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { namedObject } from '../contract/interpretations.ts';
import { otherAccount } from '../contract/other-account.ts';
import type { Body } from '../contract/record.ts';
import {
  getTransaction,
  putTransactions,
  type Transaction,
  type TransactionMetadata,
  transaction,
  transactionMetadata,
} from '../contract/transaction.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import type { TransactionIds } from '../loaders/loaders.ts';
import { implementNode } from './fields.ts';
import { restId } from './global-id.ts';
import {
  accountOf,
  defineNodeType,
  identifiedBy,
  type NodeRef,
  nodeFromIds,
  nodeFromRecord,
  noteOtherId,
  pathFields,
  recordOf,
} from './node.ts';
import { updatedViewDescription, writtenRecord } from './record-mutations.ts';

export type TransactionNode = NodeRef<TransactionIds, Transaction>;

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
  ...pathFields(t, 'transaction', {
    accountId: 'The account through which it was read, from the path.',
    viewId: 'The view through which it is seen, from the path.',
    transactionId: 'The transaction id, from the path.',
  }),
  account: t.field({
    description: 'The account through which it was read. REST: getAccountsScope.',
    ...nodeFromIds('Account', accountOf),
  }),
  version: t.string(written.version),
  thisAccount: t.field({
    description:
      'The account that `thisAccountId` names, through the same view, and at the same bank unless the record names another. Null if the bank leaves it out. REST: getAccountsScope.',
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
    description:
      "The counterparty that `otherAccountId` names, found among the account's counterparties. Null if the bank leaves it out. REST: getOtherAccounts, unless the bank's answer contains the whole counterparty.",
    ...nodeFromRecord('OtherAccount', (node: TransactionNode) => {
      const otherAccountId = unwrap(recordOf(node).other_account);
      if (!otherAccountId) return null;
      // Some banks write the whole counterparty instead of its id.
      const { data: record } = otherAccount.safeParse(namedObject(recordOf(node), 'other_account'));
      return { ...accountOf(node), otherAccountId, record };
    }),
  }),
}));

const metadataTypes =
  "The bank's name for the kind of metadata, the path segment `{TYPE}`. The specification lists no values; the sandbox accepts `comments`, `narrative`, `tags` and `where`.";

const written = writtenRecord({
  resource: transaction,
  operation: putTransactions,
  nodeType: transactionNode,
  reads: 'getTransaction',
});

written.put({
  name: 'putTransactionMetadata',
  description: 'Writes a transaction with its metadata.',
  update: 'annotateTransaction',
  ids: {
    accountId: "The account's id at the bank.",
    viewId: 'The view through which the account is read; the configured one if it is left out.',
    transactionId: "The transaction's id at the bank.",
  },
  more: (t) => ({ metadataType: t.string({ required: true, description: metadataTypes }) }),
  morePath: ({ metadataType }) => ({ TYPE: restId('metadataType', metadataType) }),
  node: (ids) => ids,
});

/** Its members have the same names in REST. */
type MetadataChanges = Changes<Body<typeof transactionMetadata>>;
const members = ['comments', 'narrative', 'tags', 'where'] as const satisfies (keyof MetadataChanges)[];

/** The changes of the metadata; null if no metadata would be left. `comments` is required with any other member. */
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
function metadataTypeOf(given: string | null | undefined, changes: object): string {
  if (given != null) return restId('metadataType', given);
  const [only, ...others] = members.filter((name) => Reflect.get(changes, name) !== undefined);
  if (only !== undefined && others.length === 0) return only;
  throw badUserInput(
    'metadataType is needed where `changes` does not name exactly one member.',
    'metadataType',
  );
}

written.update({
  name: 'annotateTransaction',
  verb: 'annotate',
  description: "Changes a transaction's metadata (comments, narrative, tags, where) and keeps all else.",
  changed: transactionMetadata,
  ids: {
    accountId: 'The account through which the transaction is read.',
    viewId: updatedViewDescription,
    transactionId: "The transaction's id at the bank.",
  },
  more: (t) => ({
    metadataType: t.string({
      description: `${metadataTypes} If left out: the one member that \`changes\` names.`,
    }),
    approvedByIpAddress: t.string({
      description:
        'The IP address from which it was approved. REST `details.approved_by_ip_address`, which the bank requires: used only where the transaction has none.',
    }),
  }),
  morePath: ({ metadataType, changes }) => ({ TYPE: metadataTypeOf(metadataType, changes) }),
  node: (ids) => ids,
  changes: (named, { details, metadata }, { approvedByIpAddress }) => ({
    details:
      details?.approved_by_ip_address == null && approvedByIpAddress != null
        ? { approved_by_ip_address: approvedByIpAddress }
        : undefined,
    metadata: metadataChanges(metadata ?? {}, named),
  }),
});
