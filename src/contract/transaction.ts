import { z } from 'zod';
import { reference, textOrArray } from './common-schemas.ts';
import { get, operation, put } from './operation.ts';
import { type Answer, id, part, resource, text } from './resource.ts';
import { accountRef, amount, asWritten, money } from './shared-parts.ts';

const freeText = { answer: ', a free text' } as const;

const details = resource(
  'TransactionDetails',
  'The amount, the times and the people involved. REST `details` of a transaction.',
  {
    approvedByIpAddress: text('approved_by_ip_address', 'The IP address from which it was approved.', {
      required: 'bodies',
    }),
    approvedByUserId: text('approved_by_user_id', 'Who approved it.'),
    cancelledByIpAddress: text('cancelled_by_ip_address', 'The IP address from which it was cancelled.'),
    cancelledByUserId: text('cancelled_by_user_id', 'Who cancelled it.'),
    completed: text('completed', 'When it was completed.', {
      notes: asWritten,
      also: { name: 'completedAt', dateOf: 'getTransaction' },
    }),
    description: text('description', 'The description that the payer wrote.'),
    newBalance: part('new_balance', 'The balance of the account afterwards.', amount),
    pausedByIpAddress: text('paused_by_ip_address', 'The IP address from which it was paused.'),
    pausedByUserId: text('paused_by_user_id', 'Who paused it.'),
    posted: text('posted', 'When it was posted.', {
      notes: asWritten,
      also: { name: 'postedAt', dateOf: 'getTransaction' },
    }),
    postedByIpAddress: text('posted_by_ip_address', 'The IP address from which it was posted.'),
    postedByUserId: text('posted_by_user_id', 'Who posted it.'),
    status: text(
      'status',
      'Whether it is done, waits or failed. The specification lists no values; the sandbox has `COMPLETED`, `PENDING` and `FAILED`.',
      {
        notes: freeText,
        also: {
          name: 'statusCode',
          enum: 'TransactionStatus',
          values: ['COMPLETED', 'PENDING', 'FAILED', 'INITIATED'],
        },
      },
    ),
    type: text(
      'type',
      'What kind of transaction it is. The specification lists no values; the sandbox has `SEPA`, `CARD`, `SALARY` and `TRANSFER`.',
      {
        answer: textOrArray,
        notes: freeText,
        also: { name: 'typeCode', enum: 'TransactionType', values: ['SEPA', 'CARD', 'SALARY', 'TRANSFER'] },
      },
    ),
    value: part('value', 'The amount; negative if the account paid.', amount),
  },
  {
    input: {
      description:
        'The amount, the times and the people involved. bankql sends only the given fields. REST `details` of a transaction.',
    },
  },
);

export const transactionMetadata = resource(
  'TransactionMetadata',
  'Notes about a transaction. REST `metadata` of a transaction.',
  {
    comments: text('comments', "The customer's notes about the transaction.", {
      required: 'bodies',
      answer: textOrArray,
      notes: {
        changes:
          '; the bank requires it with other metadata, so that bankql sends an empty text if there is no comment',
      },
    }),
    narrative: text('narrative', 'A longer text about it.'),
    tags: text('tags', 'Tags to find it by.', {
      answer: textOrArray,
      also: { name: 'tagList', list: 'String' },
    }),
    where: text('where', 'Where it took place.', { answer: reference }),
  },
  {
    input: {
      description:
        'Notes about a transaction. bankql sends only the given fields. REST `metadata` of a transaction.',
    },
    changes: {
      name: 'TransactionMetadataChanges',
      description:
        "Changes of a transaction's metadata: a field that is left out keeps its value, and null clears it.",
    },
  },
);
export type TransactionMetadata = Answer<typeof transactionMetadata>;

/** A transaction (models TransactionDef and TransactionsResponse). */
export const transaction = resource(
  'Transaction',
  'A transaction of an account, as seen through one of its views. REST: getTransaction.',
  {
    details: part('details', 'The amount, the times and the people involved.', details, {
      required: 'bodies',
    }),
    transactionId: id('id', "The transaction's id at the bank.", { isOwnId: true, formerly: { name: 'id' } }),
    metadata: part('metadata', 'Notes about the transaction.', transactionMetadata),
    otherAccountId: text('other_account', "The counterparty's id in the account's list.", {
      answer: reference,
      holdsIds: true,
    }),
    thisAccountId: text('this_account', 'The id of the account whose transaction it is.', {
      answer: reference,
      holdsIds: true,
    }),
    uuid: text('uuid', 'The UUID of the transaction.'),
  },
);
export type Transaction = Answer<typeof transaction>;

/** The body of make-transaction. The specification does not mark the amount as required here. */
const makeTransactionBody = z.strictObject({
  description: z.string().optional(),
  challenge_type: z.string().optional(),
  from: accountRef.body,
  to: accountRef.body,
  value: money.body.optional(),
});

const transactions = { audience: 'caller', resource: 'transaction', envelope: null } as const;

export const getTransaction = operation({
  id: 'getTransaction',
  ...get,
  ...transactions,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transactions/{TRANSACTION_ID}/transaction',
  auth: 'required',
  answer: transaction.answer,
});

/** `{TYPE}` is the type of metadata. */
export const putTransactions = operation({
  id: 'putTransactions',
  ...put,
  ...transactions,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transactions/{TRANSACTION_ID}/metadata/{TYPE}',
  body: transaction.body,
  answer: transaction.answer,
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
