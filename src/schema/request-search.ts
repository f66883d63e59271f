import type { InputShapeFromFields } from '@pothos/core';
import { maxListLength, unwrap } from '../bank/answer.ts';
import type { TransactionRequest as RequestRecord } from '../contract/transaction-request.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { parseDateTime } from './date-time.ts';

/** Searches of transaction requests, and the transactions of a request. */

/** Transaction requests of an account. */
export function loadRequests(account: ViewIds, { session }: ReadContext): Promise<RequestRecord[]> {
  return session.loaders.transactionsRequest.load(account);
}

export const requestSearch = builder.args((t) => ({
  status: t.stringList({
    description: 'Only requests with one of these statuses, in any case of letters.',
  }),
  since: t.field({
    type: 'DateTime',
    description: 'Only requests that began at this time or later.',
  }),
}));

/** The requests of an account that match a search. */
export function findRequests(
  account: ViewIds,
  { status, since }: InputShapeFromFields<typeof requestSearch>,
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

export const idPage = builder.args((t) => ({
  first: t.int({ description: 'The maximum number of entries; all if it is left out.' }),
  after: t.id({ description: 'The `transactionId` of the last entry of the previous page.' }),
}));

type IdPage = InputShapeFromFields<typeof idPage>;

/**
 * A page of the ids of a request's transactions. Errors: BAD_USER_INPUT for a negative count, or an id that is not in the list; those
 * of transactionIdsOf.
 */
export function transactionIdsOnPage(
  { record }: { readonly record: RequestRecord },
  { first, after }: IdPage,
) {
  const ids = transactionIdsOf(record);
  if (typeof first === 'number' && first < 0) throw badUserInput('first has to be zero or more.', 'first');
  const start = typeof after === 'string' && ids !== undefined ? ids.indexOf(after) + 1 : 0;
  if (typeof after === 'string' && start === 0)
    throw badUserInput('after has to be the `transactionId` of an entry of this list.', 'after');
  return ids?.slice(start, typeof first === 'number' ? start + first : undefined);
}

/**
 * The ids in `transaction_ids`. Repeated ids are dropped, because an id is also the cursor of a page. Errors: BANK_BAD_RESPONSE
 * if it is not text.
 */
export function transactionIdsOf({ transaction_ids }: RequestRecord): readonly string[] | undefined {
  const ids = unwrap(transaction_ids)?.split(/[\s,]+/, maxListLength + 1);
  if (ids !== undefined && ids.length > maxListLength)
    throw new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank's transaction_ids holds more than ${maxListLength} ids, which are not read.`,
    );
  return ids && [...new Set(ids)].filter((id) => id !== '');
}
