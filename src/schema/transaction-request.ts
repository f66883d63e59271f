import type { InputShapeFromFields } from '@pothos/core';
import { maxListLength, unwrap } from '../bank/answer.ts';
import type { AccountRef as AccountName } from '../contract/shared-parts.ts';
import {
  getTransactionsRequest,
  type TransactionRequest,
  transactionRequest,
} from '../contract/transaction-request.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { type AccountIds, accountNode, accountOf } from './account.ts';
import { AccountRefObject, type NamedAccount } from './account-ref.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { parseDateTime } from './date-time.ts';
import { implementNode, MoneyObject } from './plugin/fields.ts';
import { link, links, recordOf } from './plugin/link.ts';
import { itemNotFound, type ListedIds, listedBy, madeFrom } from './plugin/list-item.ts';
import { defineNodeType, identifiedBy, type NodeRef } from './plugin/node.ts';
import { connectionTo, listField, type ToNode } from './plugin/relay-connection.ts';
import { transactionNode } from './transaction.ts';

/** The bank's identifier is an address; null if it gave none, or if the request's content identifies it. */
type TransactionRequestIds = ListedIds<ViewIds, 'resourceUrl', TransactionRequest>;

export type TransactionRequestNode = NodeRef<TransactionRequestIds, TransactionRequest>;

const urlOf = ({ resource_url }: TransactionRequest): string | null =>
  (typeof resource_url === 'string' && resource_url) || null;

/** Transaction requests by account, view and `resource_url`. No operation reads a single one: it is looked up in the list. */
const transactionRequestNode = defineNodeType({
  name: 'TransactionRequest',
  ...listedBy(identifiedBy('bankId', 'accountId', 'viewId'), 'resourceUrl', {
    shape: transactionRequest,
    operation: getTransactionsRequest,
    load: loadRequests,
    nameOf: urlOf,
  }),
  bankIdField: null,
  async read(ids: TransactionRequestIds, context) {
    const requests = await loadRequests(ids, context);
    const found = requests.find((request) => request.resource_url === ids.resourceUrl);
    if (found === undefined) throw itemNotFound(getTransactionsRequest, String(ids.resourceUrl));
    return unwrap(found);
  },
});

/** Transaction requests of an account. */
export function loadRequests(account: AccountIds, { session }: ReadContext): Promise<TransactionRequest[]> {
  return session.loaders.transactionsRequest.load(accountOf(account));
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
  account: AccountIds,
  { status, since }: InputShapeFromFields<typeof search>,
  context: ReadContext,
): Promise<readonly TransactionRequest[]> {
  const listed = loadRequests(account, context);
  if (!status && !since) return listed;
  const { lists } = context;
  const wanted = status && new Set(status.map((text) => text.toUpperCase()));
  const isWanted = (request: TransactionRequest) =>
    !(request instanceof Error) &&
    (!wanted || (typeof request.status === 'string' && wanted.has(request.status.toUpperCase()))) &&
    (!since || (timeOf(request.start_date) ?? -Infinity) >= since.getTime());
  return listed.then((list) =>
    lists.once(list, JSON.stringify(['requests', wanted && [...wanted], since]), () =>
      madeFrom(list, list.filter(isWanted)),
    ),
  );
}

/** The time in milliseconds since 1970; null if the text cannot be read. */
const timeOf = (text: TransactionRequest['start_date']): number | null =>
  typeof text === 'string' ? (parseDateTime(text)?.getTime() ?? null) : null;

/** When a request ended, or was made if nobody knows its end. */
export const endOf = ({ end_date, start_date }: TransactionRequest) => timeOf(end_date) ?? timeOf(start_date);

/** The entries of a list of requests: the account's, or the answer to a payment. */
export const transactionRequestsIn =
  (
    list: readonly TransactionRequest[],
    account: AccountIds,
  ): ToNode<TransactionRequest, TransactionRequestNode> =>
  (record) => ({ ...accountOf(account), resourceUrl: urlOf(record), list, record });

const idPage = builder.args((t) => ({
  first: t.int({ description: 'The maximum number of entries. All if it is left out.' }),
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
export function transactionIdsOf({ transaction_ids }: TransactionRequest): readonly string[] | undefined {
  const ids = unwrap(transaction_ids)?.split(/[\s,]+/, maxListLength + 1);
  if (ids !== undefined && ids.length > maxListLength)
    throw new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank's transaction_ids holds more than ${maxListLength} ids, which are not read.`,
    );
  return ids && [...new Set(ids)].filter((id) => id !== '');
}

export const TransactionRequestObject = transactionRequestNode.object;

const TransactionRequestConnection = connectionTo(TransactionRequestObject, 'transaction requests');

const named = (
  { bankId, viewId }: ViewIds,
  account: AccountName | null | undefined,
  payer?: ViewIds,
): NamedAccount | null => (account ? { record: unwrap(account), bankId, viewId, payer } : null);

const bodyOf = (entry: TransactionRequestNode) => unwrap(recordOf(entry).body);

implementNode(
  transactionRequestNode,
  transactionRequest,
  (t) => ({
    account: link(t, accountNode, {
      description: 'The account that was asked to pay. REST: getAccountsScope.',
      ids: accountOf,
    }),
    from: t.field({
      type: AccountRefObject,
      description: 'The account that pays; null if the bank does not say. REST `from`.',
      resolve: (entry) => named(entry, recordOf(entry).from),
    }),
    to: t.field({
      type: AccountRefObject,
      description: 'The payee. Null if the bank does not name it. REST `body.to`.',
      resolve: (entry) => named(entry, bodyOf(entry)?.to, accountOf(entry)),
    }),
    value: t.field({
      type: MoneyObject,
      description: 'The amount. Null if the bank does not name it. REST `body.value`.',
      resolve: (entry) => bodyOf(entry)?.value,
    }),
    transactions: links(t, transactionNode, {
      description:
        'The transactions that `transactionIds` names, each once, or a page of them; one that cannot be read is null with an error. REST: getTransaction for each.',
      args: idPage,
      entries: (entry, page) => idsOnPage(transactionIdsOf(recordOf(entry)), page),
      ids: (entry, transactionId) => transactionIn(accountOf(entry), transactionId),
    }),
  }),
  ['from', 'body'],
);

builder.objectField(accountNode.object, 'transactionRequests', (t) =>
  listField(t, TransactionRequestConnection, {
    description: 'Requests for payments from this account. REST: getTransactionsRequest.',
    args: search,
    load: findRequests,
    nodesIn: transactionRequestsIn,
  }),
);
