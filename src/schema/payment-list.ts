import type { InputShapeFromFields } from '@pothos/core';
import { z } from 'zod';
import { badUserInput } from '../errors.ts';
import type { PaymentRecord } from '../payments/payment-record.ts';
import type { OwnPaymentsQuery } from '../payments/service.ts';
import { parseJson } from '../payments/store/store.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { PaymentObject, PaymentState } from './payment.ts';
import { type Edge, notACursor } from './plugin/page.ts';

/** A caller's own payments, newest first, in pages that the payment store reads. */

/** The maximum and the default size of a page, and the maximum of `totalCount`. */
const maxPage = 100;
const defaultPage = 20;
const maxCount = 1000;

/**
 * The cost of reading a payment record (20 microseconds), as the number of list entries that could be
 * examined in the same time.
 */
const entriesPerRecord = 20;

const args = builder.args((t) => ({
  states: t.field({ type: [PaymentState], description: 'Only payments in one of these states.' }),
  accountId: t.id({ description: 'Only payments from or to this account.' }),
  since: t.field({ type: 'DateTime', description: 'Only payments that began at this time or later.' }),
  first: t.int({
    description: `The maximum number, from the newest on: 1 to ${maxPage}, by default ${defaultPage}.`,
  }),
  after: t.string({ description: 'Only payments after this cursor: older ones.' }),
  last: t.int({ description: `The maximum number, from the oldest on: 1 to ${maxPage}.` }),
  before: t.string({ description: 'Only payments before this cursor: newer ones.' }),
}));

type PaymentListArguments = InputShapeFromFields<typeof args>;

/** The position of a payment: the list is sorted by these two members. */
type Place = NonNullable<OwnPaymentsQuery['after']>;

const cursorOf = ({ createdAt, id }: PaymentRecord): string =>
  Buffer.from(JSON.stringify([createdAt, id])).toString('base64url');

const cursorParts = z.tuple([z.int(), z.string()]);

/**
 * The position that a cursor names. An empty cursor names none, as in other lists (checkPage). Another caller's cursor is
 * accepted: it only names a position in this caller's own list. Errors: BAD_USER_INPUT if the text is no cursor.
 */
function placeAt(name: 'after' | 'before', cursor: string | null | undefined): Place | undefined {
  if (!cursor) return undefined;
  const { data } = cursorParts.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (data === undefined) throw notACursor(name);
  return { created_at: data[0], id: data[1] };
}

/** Whether a payment is newer than a position. */
const isNewer = ({ createdAt, id }: PaymentRecord, place: Place) =>
  createdAt > place.created_at || (createdAt === place.created_at && id > place.id);

/** Errors: BAD_USER_INPUT; those of PaymentService.search. */
async function pageOf(
  args: PaymentListArguments,
  context: Context,
): Promise<typeof PaymentConnection.$inferType> {
  const { first, last, states, accountId, since } = args;
  if (first != null && last != null) throw badUserInput('first and last exclude each other.', 'last');
  const isBackward = last != null;
  const size = last ?? first ?? defaultPage;
  const name = isBackward ? 'last' : 'first';
  if (size < 1 || size > maxPage) throw badUserInput(`${name} has to be from 1 to ${maxPage}.`, name);
  const after = placeAt('after', args.after);
  const before = placeAt('before', args.before);
  const filter = {
    states: states ?? undefined,
    accountId: accountId ?? undefined,
    since: since?.getTime(),
  };
  const [start, end] = isBackward ? [before, after] : [after, before];
  // One entry more than the page has shows whether there is a further page.
  const found = await searchPayments(
    { ...filter, newestFirst: !isBackward, after: start },
    size + 1,
    context,
  );
  const within = found.filter(
    (payment) => end === undefined || (payment.id !== end.id && isNewer(payment, end) !== isBackward),
  );
  const nodes = within.slice(0, size);
  const hasMore = within.length > size;
  if (isBackward) nodes.reverse();
  const edges = nodes.map((node): Edge<PaymentRecord> => ({ node, cursor: cursorOf(node) }));
  return {
    edges,
    nodes,
    pageInfo: {
      hasNextPage: isBackward ? before !== undefined : hasMore,
      hasPreviousPage: isBackward ? hasMore : after !== undefined,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    get totalCount() {
      return searchPayments(filter, maxCount + 1, context).then(({ length }) =>
        length > maxCount ? null : length,
      );
    },
  };
}

/**
 * A caller's own payments, newest first by default; an operation reads them once for each query.
 * Errors: AnswerLimitError; those of PaymentService.search.
 */
export const searchPayments = (
  query: Omit<OwnPaymentsQuery, 'limit' | 'onPage'>,
  limit: number,
  context: Context,
): Promise<readonly PaymentRecord[]> =>
  context.lists.shared(context.payments, JSON.stringify(['payments', query, limit]), () =>
    // Waits for a slice of time before the search, because records that wait for a slice after it would fill
    // the memory.
    context.lists.run(1, () =>
      context.payments.search(context.credentials, {
        newestFirst: true,
        ...query,
        limit,
        onPage(records, characters) {
          // If there is not enough memory for the records, this ends the operation: its next work fails.
          context.keep(characters);
          context.lists.charge(records * entriesPerRecord);
        },
      }),
    ),
  );

const PaymentConnection = builder.connectionObject({
  type: PaymentObject,
  nodeNullable: false,
  name: 'PaymentConnection',
  description: 'Payments, newest first.',
  fields: (t) => ({
    nodes: t.field({
      type: [PaymentObject],
      nullable: { list: false, items: false },
      resolve: ({ nodes }) => nodes as Iterable<PaymentRecord>,
    }),
    totalCount: t.int({
      description: `How many payments match; null if more than ${maxCount}.`,
      resolve: ({ totalCount }) => totalCount,
    }),
  }),
});

builder.queryField('payments', (t) =>
  t.field({
    type: PaymentConnection,
    description: "The caller's payments, newest first, including those whose key the app has lost.",
    args,
    resolve: (_root, args, { bankql }) => pageOf(args, bankql),
  }),
);
