import { z } from 'zod';
import { idList, optional, reference, text } from './common-schemas.ts';
import { operation } from './operation.ts';
import { accountRef, money } from './shared-parts.ts';

/** One item of `transaction-requests`. */
export const transactionRequest = z.object({
  description: optional(text),
  resource_url: optional(text),
  status: optional(text),
  transaction_ids: optional(idList),
  start_date: optional(text),
  end_date: optional(text),
  challenge: optional(reference),
  from: optional(accountRef.answer),
  body: optional(z.object({ to: optional(accountRef.answer), value: optional(money.answer) })),
});
export type TransactionRequest = z.infer<typeof transactionRequest>;

export const transactionRequestBody = z.strictObject({
  description: text.optional(),
  challenge_type: text.optional(),
  to: accountRef.body,
  value: money.body.optional(),
});

export const getTransactionsRequest = operation({
  id: 'getTransactionsRequest',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transaction-requests',
  tracked: false,
  auth: 'optional',
  kind: 'read',
  audience: 'caller',
  body: null,
  resource: 'transaction request',
  envelope: 'transaction-requests',
  answer: transactionRequest,
});

/** `{TYPE}` is the type of transaction request. */
export const putTransactionsRequestAccount = operation({
  id: 'putTransactionsRequestAccount',
  method: 'PUT',
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transaction-request-types/{TYPE}/transaction-requests',
  tracked: true,
  auth: 'required',
  kind: 'payment',
  audience: 'caller',
  body: transactionRequestBody,
  resource: 'transaction request',
  envelope: 'transaction-requests',
  answer: transactionRequest,
});
