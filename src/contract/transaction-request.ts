import { z } from 'zod';
import { idList, reference } from './common-schemas.ts';
import { get, operation, put } from './operation.ts';
import { type Answer, part, resource, text } from './resource.ts';
import { accountRef, asWritten, money } from './shared-parts.ts';

/** One item of `transaction-requests`. What it names of others, and its `body`, schema/transaction-request.ts resolves. */
export const transactionRequest = resource(
  'TransactionRequest',
  'A request for a transaction. REST: getTransactionsRequest.',
  {
    description: text('description', 'The description that the payer wrote.'),
    resourceUrl: text('resource_url', "The request's address at the bank."),
    status: text(
      'status',
      'Whether it waits, is done or has failed. The specification lists no values; the sandbox has `INITIATED`, which waits for its challenge, `PENDING`, `COMPLETED`, `CANCELLED` and `FAILED`.',
      {
        notes: { answer: ', a free text' },
        also: {
          name: 'statusCode',
          enum: 'TransactionRequestStatus',
          values: ['INITIATED', 'PENDING', 'COMPLETED', 'CANCELLED', 'FAILED'],
        },
      },
    ),
    transactionIds: text('transaction_ids', 'The transactions that it led to, by their ids.', {
      answer: idList,
      notes: asWritten,
      also: { name: 'transactionIdList', list: 'ID' },
    }),
    startDate: text('start_date', 'When it was requested.', {
      notes: asWritten,
      also: { name: 'startedAt', dateOf: 'getTransactionsRequest' },
    }),
    endDate: text('end_date', 'When it ended.', {
      notes: asWritten,
      also: { name: 'endedAt', dateOf: 'getTransactionsRequest' },
    }),
    challenge: text('challenge', 'The challenge that the customer must answer, if the bank waits for that.', {
      answer: reference,
    }),
    from: part('from', 'The account that pays.', accountRef),
    body: part(
      'body',
      'What was asked for.',
      resource('TransactionRequestBody', 'What was asked for.', {
        to: part('to', 'Who is to be paid.', accountRef),
        value: part('value', 'How much is to be moved.', money),
      }),
    ),
  },
);
export type TransactionRequest = Answer<typeof transactionRequest>;

const transactionRequestBody = z.strictObject({
  description: z.string().optional(),
  challenge_type: z.string().optional(),
  to: accountRef.body,
  value: money.body.optional(),
});

const transactionRequests = {
  audience: 'caller',
  resource: 'transaction request',
  envelope: 'transaction-requests',
  answer: transactionRequest.answer,
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
