import { z } from 'zod';
import { id, reference, text, textOrArray } from './common-schemas.ts';
import { namedObject } from './interpretations.ts';
import { get, operation, put } from './operation.ts';
import { otherAccount } from './other-account.ts';
import { bodyOf, record } from './record.ts';
import { accountRef, amount, dateText, money } from './shared-parts.ts';

const freeText = { answer: ', a free text' } as const;

const details = record('TransactionDetails', 'The details of a transaction.', {
  approved_by_ip_address: text
    .nullish()
    .meta({ description: 'The IP address from which it was approved.', requiredInBodies: true }),
  approved_by_user_id: text.nullish().describe('The user who approved it.'),
  cancelled_by_ip_address: text.nullish().describe('The IP address from which it was cancelled.'),
  cancelled_by_user_id: text.nullish().describe('The user who cancelled it.'),
  completed: dateText('When it was completed.', 'completedAt', 'getTransaction'),
  description: text.nullish().describe('The description that the payer wrote.'),
  new_balance: amount.nullish().describe('The balance of the account afterwards.'),
  paused_by_ip_address: text.nullish().describe('The IP address from which it was paused.'),
  paused_by_user_id: text.nullish().describe('The user who paused it.'),
  posted: dateText('When it was posted.', 'postedAt', 'getTransaction'),
  posted_by_ip_address: text.nullish().describe('The IP address from which it was posted.'),
  posted_by_user_id: text.nullish().describe('The user who posted it.'),
  status: text.nullish().meta({
    description: 'The status, such as `COMPLETED`.',
    notes: freeText,
  }),
  type: textOrArray.nullish().meta({
    description: 'The kind of transaction, such as `SEPA`.',
    notes: freeText,
  }),
  value: amount.nullish().describe('The amount; negative if the account paid.'),
});

export const transactionMetadata = record(
  'TransactionMetadata',
  'Notes about a transaction.',
  {
    comments: textOrArray.nullish().meta({
      description: "The customer's notes about the transaction.",
      requiredInBodies: true,
      notes: {
        changes: '; an empty text if they are cleared and other metadata is left',
      },
    }),
    narrative: text.nullish().describe('A longer text about the transaction.'),
    tags: textOrArray.nullish().meta({
      description: 'The tags of the transaction.',
      listOf: 'String',
      notes: { answer: ', as a list', input: ', separated by commas' },
    }),
    where: reference.nullish().describe('The place of the transaction.'),
  },
  {
    changes: { description: 'Changes of metadata: null clears a field, no value keeps it.' },
  },
);
export type TransactionMetadata = z.infer<typeof transactionMetadata>;

/** A transaction (models TransactionDef and TransactionsResponse). */
export const transaction = record('Transaction', 'A transaction, as seen through a view.', {
  details: details.nullish().meta({
    description: 'The amount, the times and the people of the transaction.',
    requiredInBodies: true,
  }),
  id: id.nullish().meta({ name: 'transactionId', description: "The transaction's id at the bank." }),
  metadata: transactionMetadata.nullish().describe('Notes about the transaction.'),
  other_account: reference.nullish().meta({
    name: 'otherAccountId',
    description: "The counterparty's id in the account's list.",
    holdsIds: true,
  }),
  this_account: reference.nullish().meta({
    name: 'accountId',
    description: 'The id of the account whose transaction it is.',
    holdsIds: true,
  }),
  uuid: text.nullish().describe('The UUID of the transaction.'),
});
export type Transaction = z.infer<typeof transaction>;

/** The counterparty of a transaction, if the bank wrote the whole record instead of its id. */
export const counterpartyIn = (record: Transaction) =>
  otherAccount.safeParse(namedObject(record, 'other_account')).data;

/** The body of make-transaction. The specification does not mark the amount as required here. */
const makeTransactionBody = z.strictObject({
  description: z.string().optional(),
  challenge_type: z.string().optional(),
  from: bodyOf(accountRef),
  to: bodyOf(accountRef),
  value: bodyOf(money).optional(),
});

const transactions = { audience: 'caller', resource: 'transaction', envelope: null } as const;

export const getTransaction = operation({
  id: 'getTransaction',
  ...get,
  ...transactions,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transactions/{TRANSACTION_ID}/transaction',
  auth: 'required',
  answer: transaction,
});

/** `{TYPE}` is the type of metadata. */
export const putTransactions = operation({
  id: 'putTransactions',
  ...put,
  ...transactions,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transactions/{TRANSACTION_ID}/metadata/{TYPE}',
  body: bodyOf(transaction),
  answer: transaction,
});

/** The specification does not define the body of the answer. */
export const postMakeTransaction = operation({
  id: 'postMakeTransaction',
  ...transactions,
  method: 'POST',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/make-transaction',
  tracked: true,
  auth: 'required',
  kind: 'payment',
  body: makeTransactionBody,
  answer: null,
});
