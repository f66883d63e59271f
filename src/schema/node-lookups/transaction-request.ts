import { z } from 'zod';
import { unwrap } from '../../bank/response.ts';
import { getTransactionsRequest, type TransactionRequest } from '../../contract/transaction-request.ts';
import type { TransactionIds, ViewIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { connectionTo } from '../connection.ts';
import type { ReadContext } from '../context.ts';
import { itemNotFound, listIndex } from '../list-item.ts';
import { forEachInSteps, type Steps } from '../list-work.ts';
import { defineNodeType, type NodeRef } from '../node-type.ts';
import { validateViewIds, viewKey } from '../view-ids.ts';

/** What identifies a transaction request. */
interface RequestPosition {
  readonly index: number;
  /** The payment whose answer contains it; null for the account's own list. */
  readonly trackId: string | null;
  /** The list itself, if it has been read. */
  readonly list?: readonly (TransactionRequest | Error)[];
}

interface TransactionRequestIds extends ViewIds, RequestPosition {
  /** The bank's identifier; null if it gave none: then it is the entry at `index` of its list. */
  readonly resourceUrl: string | null;
}

export type TransactionRequestNode = NodeRef<TransactionRequestIds, TransactionRequest>;

/**
 * Transaction requests by account, view and `resource_url`. No operation
 * reads a single one: it is looked up in the list.
 */
export const transactionRequestNode = defineNodeType({
  name: 'TransactionRequest',
  key: z.union([
    z.tuple([...viewKey, z.string()]),
    z.tuple([...viewKey, z.null(), listIndex, z.string().nullable()]),
  ]),
  toKey: ({ bankId, accountId, viewId, resourceUrl, index, trackId, list }: TransactionRequestNode) =>
    resourceUrl === null || isShared(resourceUrl, list)
      ? ([bankId, accountId, viewId, null, index, trackId] as const)
      : ([bankId, accountId, viewId, resourceUrl] as const),
  toIds: ([bankId, accountId, viewId, resourceUrl, index = 0, trackId = null]): TransactionRequestIds => ({
    ...validateViewIds(bankId, accountId, viewId),
    resourceUrl,
    index,
    trackId,
  }),
  read: readRequest,
});

async function readRequest(ids: TransactionRequestIds, context: ReadContext): Promise<TransactionRequest> {
  const { resourceUrl, trackId } = ids;
  // A payment's answer cannot be requested again.
  if (resourceUrl === null && trackId !== null) throw itemNotFound(getTransactionsRequest, ids);
  const requests = await loadRequests(ids, context);
  const found =
    resourceUrl === null
      ? requests[ids.index]
      : requests.find((request) => request.resource_url === resourceUrl);
  if (found === undefined) throw itemNotFound(getTransactionsRequest, resourceUrl ?? ids);
  return unwrap(found);
}

/** Transaction requests of an account. */
export const loadRequests = ({ bankId, accountId, viewId }: ViewIds, { session }: ReadContext) =>
  session.loaders.transactionsRequest.load({ bankId, accountId, viewId });

/** An entry of a list of requests: that of the account, or that in the answer to the payment with this Track-ID. */
export const toTransactionRequestNode = (
  { bankId, accountId, viewId }: ViewIds,
  record: TransactionRequest,
  position: RequestPosition,
): TransactionRequestNode => ({
  bankId,
  accountId,
  viewId,
  resourceUrl: (typeof record.resource_url === 'string' && record.resource_url) || null,
  ...position,
  record,
});

const sharedUrls = new WeakMap<readonly unknown[], ReadonlySet<string>>();

/**
 * Whether several requests of a list share this `resource_url` (that of the
 * list, for example): then it identifies none.
 */
function isShared(url: string, list: RequestPosition['list']): boolean {
  if (list === undefined) return false;
  let shared = sharedUrls.get(list);
  if (shared === undefined) {
    const [seen, twice] = [new Set<unknown>(), new Set<string>()];
    for (const entry of list) {
      const given = entry instanceof Error ? null : entry.resource_url;
      if (typeof given === 'string' && seen.has(given)) twice.add(given);
      seen.add(given);
    }
    shared = twice;
    sharedUrls.set(list, shared);
  }
  return shared.has(url);
}

/** The ids in `transaction_ids`. Errors: BANK_BAD_RESPONSE if it is not text. */
export const transactionIdsOf = ({ transaction_ids }: TransactionRequest): readonly string[] | undefined =>
  unwrap(transaction_ids)
    ?.split(/[\s,]+/)
    .filter((id) => id !== '');

/**
 * The request that led to a transaction, from the list of the transaction's account; null if no request names it.
 * Errors: those of the list; BANK_BAD_RESPONSE if a broken entry could be the one.
 */
export async function requestOf(
  transaction: TransactionIds,
  context: ReadContext,
): Promise<TransactionRequestNode | null> {
  const requests = await loadRequests(transaction, context);
  const { positions, broken } = await context.lists.once(requests, 'requests by transaction', () =>
    indexByTransaction(requests),
  );
  const index = positions.get(transaction.transactionId);
  if (index !== undefined)
    return toTransactionRequestNode(transaction, requests[index] as TransactionRequest, {
      index,
      list: requests,
      trackId: null,
    });
  if (broken !== null) throw broken;
  return null;
}

/** The position of the first request that names each transaction; `broken` is the first error of an entry. */
function* indexByTransaction(
  requests: readonly TransactionRequest[],
): Steps<{ positions: ReadonlyMap<string, number>; broken: unknown }> {
  const positions = new Map<string, number>();
  let broken: unknown = null;
  yield* forEachInSteps(requests, (entry, index) => {
    try {
      for (const id of transactionIdsOf(unwrap(entry)) ?? [])
        if (!positions.has(id)) positions.set(id, index);
    } catch (error) {
      broken ??= error;
    }
  });
  return { positions, broken };
}

export const TransactionRequestObject = builder.objectRef<TransactionRequestNode>('TransactionRequest');

export const TransactionRequestConnection = connectionTo(TransactionRequestObject, {
  list: 'A list of transaction requests.',
  entry: 'A transaction request and its place in a list.',
});
