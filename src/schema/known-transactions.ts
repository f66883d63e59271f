import type { TransactionRequest } from '../contract/transaction-request.ts';
import { type TransactionIds, transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { type AccountIds, accountNode } from './account.ts';
import { builder } from './builder.ts';
import type { Context, ReadContext } from './context.ts';
import { fieldExtensions } from './field-extensions.ts';
import { link, links } from './link.ts';
import { sortedBy } from './list-work.ts';
import { accountOf } from './node.ts';
import { receiptOf } from './payment.ts';
import { searchPayments } from './payment-list.ts';
import {
  Connection,
  type ConnectionShape,
  checkPage,
  type PageArguments,
  pageArguments,
  totalCountField,
} from './relay-connection.ts';
import { transactionNode } from './transaction.ts';
import { endOf, loadRequests, transactionIdsOf } from './transaction-request.ts';

/**
 * The transactions of an account that bankql knows of. No bank operation lists transactions: these are the ones that
 * transaction requests name, and those of the caller's own payments.
 */

interface KnownTransaction {
  readonly id: string;
  /** When the payment was made, or the end of the request that names it, in milliseconds since 1970; null if nobody knows. */
  readonly at: number | null;
}

/** A page of them; their ids are checked when they are used. */
type KnownTransactions = ConnectionShape<TransactionIds>;

/** The largest number of a caller's payments that are searched for those of the account. */
const maxPayments = 1000;

/** Reading the bank's answer to a payment takes as long as looking at so many entries of a list. */
const entriesPerAnswer = 5;

/** The transactions of the caller's payments from an account. Errors: AnswerLimitError; those of PaymentService.search. */
async function paidFrom({ bankId, accountId }: ViewIds, context: Context): Promise<KnownTransaction[]> {
  const payments = await searchPayments({ accountId, states: ['DONE'] }, maxPayments, context);
  const read = () =>
    payments.flatMap((payment) => {
      if (payment.accountId !== accountId || payment.bankId !== bankId) return [];
      const { transactionId: id } = receiptOf(payment);
      const at = payment.createdAt;
      return id ? [{ id, at }] : [];
    });
  return context.lists.run(payments.length * entriesPerAnswer, read);
}

/**
 * All of them, each once, newest first; those of unknown time come last. Banks append to their lists: of the same time, what is named
 * last is the newest. A request that cannot be read names none.
 */
function collect(
  requests: readonly TransactionRequest[],
  paid: readonly KnownTransaction[],
  since: Date | undefined,
): KnownTransaction[] {
  const named = requests.flatMap((request) => {
    const ids: unknown = request instanceof Error ? null : request.transaction_ids;
    if (typeof ids !== 'string') return [];
    const at = endOf(request);
    return (transactionIdsOf(request) ?? []).map((id) => ({ id, at }));
  });
  // The first of one id stays: an own payment, or else the request that named it first.
  const known = new Map([...named.toReversed(), ...paid].map((entry) => [entry.id, entry]));
  const wanted = [...paid, ...named.toReversed()].filter(
    (entry) =>
      known.get(entry.id) === entry && (since === undefined || (entry.at ?? -Infinity) >= since.getTime()),
  );
  return sortedBy(
    wanted,
    ({ at }) => at,
    (one, other) => other - one,
  );
}

const TransactionConnection = builder.connectionObject(
  {
    type: transactionNode.object,
    name: 'TransactionConnection',
    description: 'A list of transactions that bankql knows of.',
    fields: (t) => ({
      nodes: links(t, transactionNode, {
        description:
          'The entries of the page. REST: getTransaction for each, if more than their ids is selected.',
        entries: ({ nodes }) => [...nodes] as TransactionIds[],
        ids: (_page, { transactionId, ...account }) => transactionIn(account, transactionId),
      }),
      totalCount: totalCountField(t),
    }),
  },
  {
    name: 'TransactionEdge',
    description: 'A transaction and its place in a list.',
    fields: (t) => ({
      node: link(t, transactionNode, {
        description: 'The transaction at this place. REST: getTransaction, if more than its ids is selected.',
        fromRecord: true,
        ids: ({ node }) => transactionIn(node, node.transactionId),
      }),
      cursor: t.exposeString('cursor', {
        nullable: false,
        description: 'The place of this transaction, for `after` and `before`.',
      }),
    }),
  },
);

/** The field of an account that lists them. */
const knownTransactions = {
  type: TransactionConnection,
  description:
    "Transactions of the account that bankql knows of: those that its transaction requests name, and those of the calling customer's own payments through bankql. Own payments are sorted by when they began, the others by the `endedAt` of the request that names them, or its `startedAt` if it has none. The newest come first, and of the same time those that the bank names last; those without a readable date come last. The list is incomplete, since the bank lists no transactions: card payments and what others sent, for example, may be missing. REST: getTransactionsRequest, and getTransaction for each entry of which more than the ids is selected.",
  args: builder.args((t) => ({
    since: t.field({
      type: 'DateTime',
      description:
        'Only own payments and requests of this time or later. A request such as a monthly statement names transactions of all the time until its end, so that some may be older. Entries without a readable date are left out.',
    }),
    ...pageArguments,
  })),
  extensions: fieldExtensions({
    answeredByIds: true,
    prefetch(account: AccountIds, args: PageArguments, context: ReadContext) {
      checkPage(args);
      return loadRequests(account, context);
    },
  }),
  resolve: async (
    ids: AccountIds,
    { since, ...args }: PageArguments & { readonly since?: Date | null | undefined },
    context: Context,
  ): Promise<KnownTransactions> => {
    const page = checkPage(args);
    const account = accountOf(ids);
    const [requests, paid] = await Promise.all([loadRequests(account, context), paidFrom(account, context)]);
    const known = await context.lists.once(requests, JSON.stringify(['known transactions', since]), () =>
      collect(requests, paid, since ?? undefined),
    );
    const toNode = ({ id }: KnownTransaction) => ({ ...account, transactionId: id });
    return new Connection(known, page, toNode, context);
  },
} as const;

builder.objectField(accountNode.object, 'knownTransactions', (t) => t.field(knownTransactions));
