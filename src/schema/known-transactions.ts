import { getTransaction } from '../contract/transaction.ts';
import { getTransactionsRequest, type TransactionRequest } from '../contract/transaction-request.ts';
import { type TransactionIds, transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { receiptOf } from './payment.ts';
import { searchPayments } from './payment-list.ts';
import { checkPage, Page, totalCountDescription } from './plugin/list.ts';
import { calls } from './rest-extensions.ts';
import { Transaction } from './transaction.ts';
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

/** From `since` on, and before `until`. */
interface Period {
  readonly since?: Date | null | undefined;
  readonly until?: Date | null | undefined;
}

/** The maximum number of a caller's payments that are searched for payments of the account. */
const maxPayments = 1000;

/** Reading the bank's answer to a payment takes as long as examining this number of list entries. */
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
 * All known transactions, each once, newest first; transactions of unknown time come last. Banks append to their lists: of two
 * transactions with the same time, the one that is named last is newer. A request that cannot be read names none.
 */
function collect(
  requests: readonly TransactionRequest[],
  paid: readonly KnownTransaction[],
  { since, until }: Period,
): KnownTransaction[] {
  const named = requests.flatMap((request) => {
    const ids: unknown = request instanceof Error ? null : request.transaction_ids;
    if (typeof ids !== 'string') return [];
    const at = endOf(request);
    return (transactionIdsOf(request) ?? []).map((id) => ({ id, at }));
  });
  const lastFirst = named.toReversed();
  // If an id occurs twice, the own payment counts, or else the request that named it first.
  const known = new Map([...lastFirst, ...paid].map((entry) => [entry.id, entry]));
  const timeOf = ({ at }: KnownTransaction) => at ?? -Infinity;
  // NaN is neither before nor after any time.
  const isIn = ({ at }: KnownTransaction) =>
    (!since || (at ?? NaN) >= since.getTime()) && (!until || (at ?? NaN) < until.getTime());
  return (
    [...paid, ...lastFirst]
      .filter((entry) => known.get(entry.id) === entry)
      .filter(isIn)
      // The difference between two unknown times is NaN, which counts as 0.
      .toSorted((one, other) => timeOf(other) - timeOf(one))
  );
}

const TransactionConnection = builder.connectionObject(
  {
    type: Transaction,
    name: 'TransactionConnection',
    description: 'Transactions that bankql knows of.',
    fields: (t) => ({
      nodes: t.links(Transaction, {
        description: 'The transactions; one that cannot be read is null with an error.',
        nullable: { list: false, items: true },
        entries: ({ nodes }) => [...nodes] as TransactionIds[],
        ids: (_page, { transactionId, ...account }) => transactionIn(account, transactionId),
      }),
      totalCount: t.int({
        nullable: false,
        description: totalCountDescription,
        resolve: ({ totalCount }) => Number(totalCount),
      }),
    }),
  },
  {
    name: 'TransactionEdge',
    description: 'A transaction and its place in a list.',
    fields: (t) => ({
      node: t.link(Transaction, {
        description: 'The transaction.',
        fromRecord: true,
        ids: ({ node }) => transactionIn(node, node.transactionId),
      }),
    }),
  },
);

builder.objectField(Account, 'knownTransactions', (t) =>
  t.field({
    type: TransactionConnection,
    description:
      "The transactions that its transaction requests and the caller's own payments name, newest first; others are missing, since the bank lists none.",
    extensions: calls(getTransactionsRequest, getTransaction),
    args: {
      since: t.arg({
        type: 'DateTime',
        description: 'Only those of payments and requests of this time or later.',
      }),
      until: t.arg({
        type: 'DateTime',
        description: 'Only those of payments and requests before this time.',
      }),
      ...t.arg.connectionArgs(),
    },
    fromIds: true,
    async resolve(ids, { since, until, ...args }, { bankql }) {
      const page = checkPage(args);
      const account = Account.pathOf(ids);
      const [requests, paid] = await Promise.all([loadRequests(account, bankql), paidFrom(account, bankql)]);
      const known = await bankql.lists.once(
        requests,
        JSON.stringify(['known transactions', since, until]),
        () => collect(requests, paid, { since, until }),
      );
      // The ids are checked when they are used.
      return new Page(known, page, ({ id }) => ({ ...account, transactionId: id, under: ids }), bankql);
    },
  }),
);
