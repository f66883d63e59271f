import { z } from 'zod';
import { optional, reference, text, textOrArray } from './common-schemas.ts';
import { operation } from './operation.ts';
import { accountRef, amount, money } from './shared-parts.ts';

const details = z.object({
  approved_by_ip_address: optional(text),
  approved_by_user_id: optional(text),
  cancelled_by_ip_address: optional(text),
  cancelled_by_user_id: optional(text),
  completed: optional(text),
  description: optional(text),
  new_balance: optional(amount.answer),
  paused_by_ip_address: optional(text),
  paused_by_user_id: optional(text),
  posted: optional(text),
  posted_by_ip_address: optional(text),
  posted_by_user_id: optional(text),
  status: optional(text),
  type: optional(textOrArray),
  value: optional(amount.answer),
});
export type TransactionDetails = z.infer<typeof details>;

const metadata = z.object({
  comments: optional(textOrArray),
  narrative: optional(text),
  tags: optional(textOrArray),
  where: optional(reference),
});
export type TransactionMetadata = z.infer<typeof metadata>;

/** A transaction (models TransactionDef and TransactionsResponse). */
export const transaction = z.object({
  details: optional(details),
  id: optional(text),
  metadata: optional(metadata),
  other_account: optional(reference),
  this_account: optional(reference),
  uuid: optional(text),
});
export type Transaction = z.infer<typeof transaction>;

export const transactionBody = z.strictObject({
  details: z.strictObject({
    approved_by_ip_address: text,
    approved_by_user_id: text.optional(),
    cancelled_by_ip_address: text.optional(),
    cancelled_by_user_id: text.optional(),
    completed: text.optional(),
    description: text.optional(),
    new_balance: amount.body.optional(),
    paused_by_ip_address: text.optional(),
    paused_by_user_id: text.optional(),
    posted: text.optional(),
    posted_by_ip_address: text.optional(),
    posted_by_user_id: text.optional(),
    status: text.optional(),
    type: text.optional(),
    value: amount.body.optional(),
  }),
  id: text.optional(),
  metadata: z
    .strictObject({
      comments: text,
      narrative: text.optional(),
      tags: text.optional(),
      where: text.optional(),
    })
    .optional(),
  other_account: text.optional(),
  this_account: text.optional(),
  uuid: text.optional(),
});
export type TransactionBody = z.infer<typeof transactionBody>;

/** The body of make-transaction. The specification does not mark the amount as required here. */
export const makeTransactionBody = z.strictObject({
  description: text.optional(),
  challenge_type: text.optional(),
  from: accountRef.body,
  to: accountRef.body,
  value: money.body.optional(),
});

export const getTransaction = operation({
  id: 'getTransaction',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transactions/{TRANSACTION_ID}/transaction',
  tracked: false,
  auth: 'required',
  kind: 'read',
  audience: 'caller',
  body: null,
  resource: 'transaction',
  envelope: null,
  answer: transaction,
});

/** `{TYPE}` is the type of metadata. */
export const putTransactions = operation({
  id: 'putTransactions',
  method: 'PUT',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transactions/{TRANSACTION_ID}/metadata/{TYPE}',
  tracked: true,
  auth: 'required',
  kind: 'write',
  audience: 'caller',
  body: transactionBody,
  resource: 'transaction',
  envelope: null,
  answer: transaction,
});

/** The specification does not define the body of the answer. */
export const postMakeTransaction = operation({
  id: 'postMakeTransaction',
  method: 'POST',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/make-transaction',
  tracked: true,
  auth: 'required',
  kind: 'payment',
  audience: 'caller',
  body: makeTransactionBody,
  resource: 'transaction',
  envelope: null,
  answer: null,
});
