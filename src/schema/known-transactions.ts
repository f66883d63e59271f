import { getTransaction } from '../contract/transaction.ts';
import { getTransactionsRequest, type TransactionRequest } from '../contract/transaction-request.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { receiptOf } from './payment.ts';
import { searchPayments } from './payment-list.ts';
import { endOf, loadRequests, transactionIdsOf } from './request-search.ts';
import { calls } from './rest-extensions.ts';
import { Transaction } from './transaction.ts';

/**
 * The transactions of an account that bankql knows of. No bank operation lists transactions: bankql knows those that
 * transaction requests name, and those of the caller's own payments.
 */

interface KnownTransaction {
  readonly transactionId: string;
  /**
   * The time of the payment, or the end of the request that names the transaction, in milliseconds since 1970; null if unknown.
   */
  readonly at: number | null;
}

/** A period, which includes `since` and excludes `until`. */
interface Period {
  readonly since?: Date | null | undefined;
  readonly until?: Date | null | undefined;
}

/** The maximum number of a caller's payments that are searched for payments of the account. */
const maxPayments = 1000;

/**
 * The cost of reading the bank's answer to a payment, as the number of list entries that could be examined in
 * the same time.
 */
const entriesPerAnswer = 5;

/** The transactions of the caller's payments from an account. Errors: AnswerLimitError; those of PaymentService.search. */
async function paidFrom({ bankId, accountId }: ViewIds, context: Context): Promise<KnownTransaction[]> {
  const payments = await searchPayments({ accountId, states: ['DONE'] }, maxPayments, context);
  const read = () =>
    payments.flatMap((payment) => {
      if (payment.accountId !== accountId || payment.bankId !== bankId) return [];
      const { transactionId } = receiptOf(payment);
      return transactionId ? [{ transactionId, at: payment.createdAt }] : [];
    });
  return context.lists.run(payments.length * entriesPerAnswer, read);
}

/**
 * All known transactions, each once, newest first; transactions of unknown time come last. Of two transactions with the same
 * time, the one that is named last is newer, because banks append to their lists. A request that cannot be read names no
 * transaction.
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
    return (transactionIdsOf(request) ?? []).map((transactionId) => ({ transactionId, at }));
  });
  const lastFirst = named.toReversed();
  // If several entries have the same id, one of the caller's payments is used, or, if none of them is a
  // payment, the first request.
  const known = new Map([...lastFirst, ...paid].map((entry) => [entry.transactionId, entry]));
  const timeOf = ({ at }: KnownTransaction) => at ?? -Infinity;
  // An unknown time is NaN, which is neither before nor after any time.
  const isIn = ({ at }: KnownTransaction) =>
    (!since || (at ?? NaN) >= since.getTime()) && (!until || (at ?? NaN) < until.getTime());
  return (
    [...paid, ...lastFirst]
      .filter((entry) => known.get(entry.transactionId) === entry)
      .filter(isIn)
      // For two unknown times, the difference is NaN, which counts as 0.
      .toSorted((one, other) => timeOf(other) - timeOf(one))
  );
}

/** Errors: AnswerLimitError; those of getTransactionsRequest and PaymentService.search. */
async function loadKnown(account: ViewIds, period: Period, context: Context) {
  const [requests, paid] = await Promise.all([loadRequests(account, context), paidFrom(account, context)]);
  const name = JSON.stringify(['known transactions', period.since, period.until]);
  return context.lists.once(requests, name, () => collect(requests, paid, period));
}

builder.objectField(Account, 'knownTransactions', (t) =>
  t.bankList(Transaction, {
    description:
      "The transactions that the account's transaction requests and the caller's own payments name, newest first; the bank lists no others.",
    extensions: calls(getTransactionsRequest, getTransaction),
    args: {
      since: t.arg({
        type: 'DateTime',
        description: 'Only transactions of payments and requests at this time or later.',
      }),
      until: t.arg({
        type: 'DateTime',
        description: 'Only transactions of payments and requests before this time.',
      }),
    },
    load: loadKnown,
  }),
);
