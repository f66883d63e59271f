import type { TransactionRequest } from '../contract/transaction-request.ts';
import type { Database } from './database.ts';
import { bankId } from './identity.ts';
import { requestUrl } from './request-url.ts';

/** A transaction as a statement lists it. */
export interface StatementLine {
  readonly transactionId: string;
  /** When it was posted, as an ISO 8601 text. */
  readonly at: string;
}

/**
 * No operation lists an account's transactions: what is not named by a request could be read by those alone who
 * know its id. A statement is a request of the bank's own, one a month, that names the transactions which no other
 * request of the account names: money that came in, cards, transfers by make-transaction.
 */
export function addToStatement(
  database: Database,
  accountId: string,
  ...lines: readonly StatementLine[]
): void {
  for (const [month, added] of Map.groupBy(lines, ({ at }) => at.slice(0, 7))) {
    const id = `statement-${month}`;
    const found = database.transactionRequests.get(accountId, id);
    const statement: TransactionRequest = {
      description: `Statement ${month}`,
      resource_url: requestUrl(accountId, id),
      status: 'COMPLETED',
      transaction_ids: [found?.transaction_ids ?? [], added.map(({ transactionId }) => transactionId)]
        .flat()
        .join(','),
      start_date: found?.start_date ?? added[0]?.at,
      end_date: added.at(-1)?.at,
      from: { account_id: accountId, bank_id: bankId },
    };
    database.transactionRequests.put(accountId, id, statement);
  }
}
