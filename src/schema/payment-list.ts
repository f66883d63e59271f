import { badUserInput } from '../errors.ts';
import type { OwnPayment } from '../payments/payment-search.ts';
import { builder } from './builder.ts';
import { checkPage, connectionOf } from './connection.ts';
import { findsPayments, PaymentState } from './payment.ts';
import { type FoundPayment, PaymentObject } from './payment-node.ts';

const PaymentEdge = builder.edgeObject({
  type: PaymentObject,
  name: 'PaymentEdge',
  description: 'A payment and its place in a list.',
});

/**
 * Without the `totalCount` of other connections: counting all of a
 * caller's payments could cost more than listing some.
 */
const PaymentConnection = builder
  .objectRef<ReturnType<typeof connectionOf<OwnPayment, FoundPayment>>>('PaymentConnection')
  .implement({
    description: 'A list of payments, newest first.',
    fields: (t) => ({
      edges: t.field({
        type: [PaymentEdge],
        nullable: { list: true, items: true },
        description: 'The entries of the page with their cursors.',
        resolve: ({ edges }) => edges,
      }),
      nodes: t.field({
        type: [PaymentObject],
        nullable: { list: true, items: true },
        description: 'The entries of the page.',
        resolve: ({ nodes }) => nodes,
      }),
      pageInfo: t.expose('pageInfo', {
        type: builder.pageInfoRef(),
        nullable: false,
        description: 'Where the page stands in the whole list.',
      }),
    }),
  });

/** The maximum size of a page, and the last position, counted from the newest payment, that a page may reach. */
const maxPage = 100;
const farthestEntry = 1000;

/** Reading a payment record takes as long as looking at so many entries of a list. */
const entriesPerRecord = 10;

interface PaymentPage {
  readonly first: number;
  readonly after?: string | null | undefined;
}

/** Errors: BAD_USER_INPUT. */
function checkPaymentPage(args: PaymentPage) {
  if (args.first < 1 || args.first > maxPage)
    throw badUserInput(`first has to be from 1 to ${maxPage}.`, 'first');
  const page = checkPage(args);
  const end = (page.after ?? -1) + 1 + args.first;
  if (end > farthestEntry)
    throw badUserInput(`Only the newest ${farthestEntry} payments are listed.`, 'after');
  return { page, end };
}

builder.queryField('payments', (t) =>
  t.field({
    type: PaymentConnection,
    nullable: true,
    description:
      "The calling customer's payments that were made with the same subscription key, newest first: also those whose key was lost. Sends nothing to the bank.",
    extensions: findsPayments,
    args: {
      states: t.arg({ type: [PaymentState], description: 'Those in one of these states alone.' }),
      first: t.arg.int({
        required: true,
        defaultValue: 20,
        description: `How many at most, from 1 to ${maxPage}.`,
      }),
      after: t.arg.string({ description: 'The cursor of the last entry of the page before.' }),
    },
    resolve: async (_root, { states, ...args }, { payments, credentials, lists }) => {
      const { page, end } = checkPaymentPage(args);
      // One more entry tells whether there is a next page.
      const limit = end + 1;
      const found = await lists.shared(payments, JSON.stringify(['payments', states, limit]), () =>
        payments.search(credentials, {
          states: states ?? undefined,
          limit,
          onRead: (records) => lists.charge(records * entriesPerRecord),
        }),
      );
      return connectionOf(found, page, ({ record, idempotencyKey }) => ({
        record,
        idempotencyKey: idempotencyKey ?? '',
      }));
    },
  }),
);
