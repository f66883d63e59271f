import type { InputShapeFromFields } from '@pothos/core';
import { maxListLength, unwrap } from '../bank/answer.ts';
import { money } from '../contract/shared-parts.ts';
import {
  getTransactionsRequest,
  type TransactionRequest as RequestRecord,
  transactionRequest,
} from '../contract/transaction-request.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { Account } from './account.ts';
import { AccountRef } from './account-ref.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { parseDateTime } from './date-time.ts';
import { Transaction } from './transaction.ts';

/** The bank identifies a request by an address. */
const urlOf = ({ resource_url }: RequestRecord): string | null =>
  (typeof resource_url === 'string' && resource_url) || null;

/** Transaction requests by account, view and `resource_url`. No operation reads a single one: it is looked up in the list. */
export const TransactionRequest = builder.bankRef(transactionRequest, {
  key: [Account, 'resourceUrl'],
  bankIdField: null,
  plural: 'transaction requests',
  list: {
    operation: getTransactionsRequest,
    load: loadRequests,
    nameOf: urlOf,
  },
});

/** Transaction requests of an account. */
export function loadRequests(account: ViewIds, { session }: ReadContext): Promise<RequestRecord[]> {
  return session.loaders.transactionsRequest.load(account);
}

const search = builder.args((t) => ({
  status: t.stringList({
    description: 'Only requests with one of these statuses, in any case of letters.',
  }),
  since: t.field({
    type: 'DateTime',
    description: 'Only requests that began at this time or later.',
  }),
}));

/** The requests of an account that match a search. */
function findRequests(
  account: ViewIds,
  { status, since }: InputShapeFromFields<typeof search>,
  context: ReadContext,
): Promise<readonly RequestRecord[]> {
  const listed = loadRequests(account, context);
  if (!status && !since) return listed;
  const { lists } = context;
  const wanted = status && new Set(status.map((text) => text.toUpperCase()));
  const isWanted = (request: RequestRecord) =>
    !(request instanceof Error) &&
    (!wanted || (typeof request.status === 'string' && wanted.has(request.status.toUpperCase()))) &&
    (!since || (timeOf(request.start_date) ?? -Infinity) >= since.getTime());
  const name = ['requests', wanted && [...wanted], since];
  return listed.then((list) => lists.select(list, name, () => list.filter(isWanted)));
}

/** The time in milliseconds since 1970; null if the text cannot be read. */
const timeOf = (text: RequestRecord['start_date']): number | null =>
  typeof text === 'string' ? (parseDateTime(text)?.getTime() ?? null) : null;

/** The time at which a request ended; if this is unknown, the time at which it was made. */
export const endOf = ({ end_date, start_date }: RequestRecord) => timeOf(end_date) ?? timeOf(start_date);

const idPage = builder.args((t) => ({
  first: t.int({ description: 'The maximum number of entries; all if it is left out.' }),
  after: t.id({ description: 'The `transactionId` of the last entry of the previous page.' }),
}));

type IdPage = InputShapeFromFields<typeof idPage>;

/** A page of a list of ids. Errors: BAD_USER_INPUT for a negative count, or an id that is not in the list. */
function idsOnPage(ids: readonly string[] | undefined, { first, after }: IdPage) {
  if (typeof first === 'number' && first < 0) throw badUserInput('first has to be zero or more.', 'first');
  const start = typeof after === 'string' && ids !== undefined ? ids.indexOf(after) + 1 : 0;
  if (typeof after === 'string' && start === 0)
    throw badUserInput('after has to be the `transactionId` of an entry of this list.', 'after');
  return ids?.slice(start, typeof first === 'number' ? start + first : undefined);
}

/** The ids in `transaction_ids`, each once: the place of one on a page is found by the id. Errors: BANK_BAD_RESPONSE if it is not text. */
export function transactionIdsOf({ transaction_ids }: RequestRecord): readonly string[] | undefined {
  const ids = unwrap(transaction_ids)?.split(/[\s,]+/, maxListLength + 1);
  if (ids !== undefined && ids.length > maxListLength)
    throw new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank's transaction_ids holds more than ${maxListLength} ids, which are not read.`,
    );
  return ids && [...new Set(ids)].filter((id) => id !== '');
}

builder.bankNode(TransactionRequest, {
  through: 'that was asked to pay',
  omit: ['bankId', 'bank', 'accountId', 'viewId', 'version', 'from', 'body'],
  fields: (t) => ({
    from: t.field({
      type: AccountRef,
      description: 'The account that pays; null if the bank does not say.',
      // Without the payer's id, `counterparty` is null, because the payer is not its own counterparty.
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
      entries: ({ record }, page) => idsOnPage(transactionIdsOf(record), page),
      ids: (request, transactionId) =>
        transactionIn({ ...Account.pathOf(request), under: request.under }, transactionId),
    }),
  }),
});

builder.objectField(Account, 'transactionRequests', (t) =>
  t.bankList(TransactionRequest, {
    description: 'Requests for payments from this account.',
    args: search,
    load: findRequests,
  }),
);
