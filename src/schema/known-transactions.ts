import type { TransactionRequest } from '../contract/transaction-request.ts';
import { type TransactionIds, transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import type { Context, ReadContext } from './context.ts';
import { fieldExtensions } from './field-extensions.ts';
import { sortedBy } from './list-work.ts';
import { accountOf, nodeFromRecord, nodesFromRecord } from './node.ts';
import { receiptOf } from './payment.ts';
import { searchPayments } from './payment-list.ts';
import {
  Connection,
  type ConnectionShape,
  checkPage,
  connectionTo,
  type Edge,
  type PageArguments,
  pageArguments,
  pageEntry,
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
  /** The same, or the time of an own payment that the request names after it if that is earlier: they are sorted by it. */
  readonly latest: number | null;
}

/** A page of them, with the account; their ids are checked when they are used. */
type KnownTransactions = ConnectionShape<TransactionIds> & ViewIds;

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
      return id ? [{ id, at, latest: at }] : [];
    });
  return context.lists.run(payments.length * entriesPerAnswer, read);
}

/**
 * All of them, each once, newest first as far as it is known: those of unknown time come last. A request names the
 * transactions of a standing order or of a month, so that they are at most as new as its end. Banks append to their lists:
 * of the same time, what is named last is the newest, and what is named before an own payment is older than that. A
 * request that cannot be read names none.
 */
function collect(
  requests: readonly TransactionRequest[],
  paid: readonly KnownTransaction[],
  since: Date | undefined,
): KnownTransaction[] {
  const own = new Map(paid.map((entry) => [entry.id, entry]));
  const named = new Map<string, KnownTransaction>();
  for (const request of requests) {
    const ids: unknown = request instanceof Error ? null : request.transaction_ids;
    if (typeof ids !== 'string') continue;
    const at = endOf(request);
    let latest = at;
    const entries = (transactionIdsOf(request) ?? []).toReversed().map((id) => {
      const paidAt = own.get(id)?.at ?? null;
      if (latest !== null && paidAt !== null) latest = Math.min(latest, paidAt);
      return { id, at, latest };
    });
    for (const entry of entries.reverse())
      if (!own.has(entry.id) && !named.has(entry.id)) named.set(entry.id, entry);
  }
  // An own payment is newer than what is named before it.
  const wanted = [...own.values(), ...[...named.values()].reverse()].filter(
    ({ at }) => since === undefined || (at !== null && at >= since.getTime()),
  );
  return sortedBy(
    wanted,
    ({ latest }) => latest,
    (one, other) => other - one,
  );
}

const TransactionConnection = connectionTo(
  transactionNode.object,
  'transactions that bankql knows of',
  'A transaction',
  {
    nodes: {
      description:
        'The entries of the page. REST: getTransaction for each, if more than their ids is selected.',
      ...nodesFromRecord(
        'Transaction',
        ({ nodes }: KnownTransactions) => Array.from(nodes, ({ transactionId }) => transactionId),
        transactionIn,
      ),
    },
    node: {
      description: 'The transaction at this place. REST: getTransaction, if more than its ids is selected.',
      ...nodeFromRecord(
        'Transaction',
        ({ node }: Edge<TransactionIds>) => transactionIn(node, node.transactionId),
        ({ node }, unknownId) => transactionIn(node, unknownId()),
      ),
    },
    cursor: { description: 'The place of this transaction, for `after` and `before`.' },
  },
);

/** The field of an account that lists them. */
export const knownTransactions = {
  type: TransactionConnection,
  nullable: true,
  description:
    "Transactions of the account that bankql knows of: those that its transaction requests name, and those of the calling customer's own payments through bankql. Own payments are sorted by when they began, the others by the `endedAt` of the request that names them, or its `startedAt` if it has none, but after each own payment that the request names behind them; the newest come first, and of the same time those that the bank names last; those without a readable date come last. The list is incomplete, since the bank lists no transactions: card payments and what others sent, for example, may be missing. REST: getTransactionsRequest, and getTransaction for each entry of which more than the ids is selected.",
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
    nullMeansError: true,
    prefetch(account: ViewIds, args: PageArguments, context: ReadContext) {
      checkPage(args);
      return loadRequests(account, context);
    },
    estimateUnknown: (ids: ViewIds) => {
      const account = accountOf(ids);
      return { parent: { ...account, node: account, [pageEntry]: {} } };
    },
  }),
  resolve: async (
    ids: ViewIds,
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
    return Object.assign(new Connection(known, page, toNode, context), account);
  },
} as const;
