import { unwrap } from '../bank/answer.ts';
import { money } from '../contract/shared-parts.ts';
import { getTransactionsRequest, transactionRequest } from '../contract/transaction-request.ts';
import { Account } from './account.ts';
import { AccountRef } from './account-ref.ts';
import { builder } from './builder.ts';
import { findRequests, idPage, requestSearch, transactionIdsOnPage } from './request-search.ts';
import { Transaction } from './transaction.ts';

/**
 * Transaction requests by account, view and `resource_url`. No operation reads a single request: it is looked up in the list.
 * Fields: contract/transaction-request.ts.
 */
export const TransactionRequest = builder.bankRef(transactionRequest, {
  key: [Account, 'resourceUrl'],
  bankIdField: null,
  plural: 'transaction requests',
  list: { operation: getTransactionsRequest },
});

builder.bankNode(TransactionRequest, {
  through: 'that was asked to pay',
  omit: ['bankId', 'bank', 'accountId', 'viewId', 'version', 'from', 'body'],
  fields: (t) => ({
    from: t.field({
      type: AccountRef,
      description: 'The account that pays; null if the bank does not say.',
      // `accountId` is left out so that `counterparty` is null, because the payer is not its own counterparty.
      resolve: ({ record: { from }, bankId, viewId }) => from && { record: unwrap(from), bankId, viewId },
    }),
    to: t.field({
      type: AccountRef,
      description: 'The payee; null if the bank does not name it.',
      extensions: { rest: { member: 'body.to' } },
      resolve: ({ record, bankId, accountId, viewId }) => {
        const to = unwrap(unwrap(record.body)?.to);
        return to && { record: to, bankId, accountId, viewId };
      },
    }),
    value: t.field({
      type: builder.bankObject(money),
      description: 'The amount; null if the bank does not name it.',
      extensions: { rest: { member: 'body.value' } },
      resolve: ({ record }) => unwrap(record.body)?.value,
    }),
    transactions: t.links(Transaction, {
      description: 'The transactions that `transactionIds` names, each once.',
      args: idPage,
      entries: transactionIdsOnPage,
    }),
  }),
});

builder.objectField(Account, 'transactionRequests', (t) =>
  t.bankList(TransactionRequest, {
    description: 'Requests for payments from this account.',
    args: requestSearch,
    load: findRequests,
  }),
);
