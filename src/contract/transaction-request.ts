import { z } from 'zod';
import { idList, reference, text } from './common-schemas.ts';
import { get, operation, put } from './operation.ts';
import { bodyOf, record } from './record.ts';
import { accountRef, dateText, money } from './shared-parts.ts';

const requestBody = record('TransactionRequestBody', 'What was asked for.', {
  to: accountRef.nullish().describe('The account that is to be paid.'),
  value: money.nullish().describe('The amount that is to be moved.'),
});

/**
 * One item of `transaction-requests`. schema/transaction-request.ts resolves the records that the item names, and its
 * `body`.
 */
export const transactionRequest = record('TransactionRequest', 'A request for a transaction.', {
  description: text.nullish().describe('The description that the payer wrote.'),
  resource_url: text.nullish().describe("The request's address at the bank."),
  status: text.nullish().meta({
    description: 'The status, such as `INITIATED`.',
    notes: { answer: ', a free text' },
  }),
  transaction_ids: idList.nullish().meta({
    description: 'The ids of its transactions.',
    listOf: 'ID',
    notes: { answer: ', as a list' },
  }),
  start_date: dateText('When it was requested.', 'startedAt', 'getTransactionsRequest'),
  end_date: dateText('When it ended.', 'endedAt', 'getTransactionsRequest'),
  challenge: reference.nullish().describe('The challenge that the customer must answer.'),
  from: accountRef.nullish().describe('The account that pays.'),
  body: requestBody.nullish().describe('What was asked for.'),
});
export type TransactionRequest = z.infer<typeof transactionRequest>;

const transactionRequestBody = z.strictObject({
  description: z.string().optional(),
  challenge_type: z.string().optional(),
  to: bodyOf(accountRef),
  value: bodyOf(money).optional(),
});

const transactionRequests = {
  audience: 'caller',
  resource: 'transaction request',
  envelope: 'transaction-requests',
  answer: transactionRequest,
} as const;

export const getTransactionsRequest = operation({
  id: 'getTransactionsRequest',
  ...get,
  ...transactionRequests,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transaction-requests',
  auth: 'optional',
});

/** `{TYPE}` is the type of transaction request. */
export const putTransactionsRequestAccount = operation({
  id: 'putTransactionsRequestAccount',
  ...put,
  ...transactionRequests,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/transaction-request-types/{TYPE}/transaction-requests',
  kind: 'payment',
  body: transactionRequestBody,
});
