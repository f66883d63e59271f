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
 * No operation lists an account's transactions, so one that no transaction request names could be found only by its id.
 * A statement is a monthly transaction request made by the bank, which names the transactions that no other request of
 * the account names: incoming money, card payments, transfers by make-transaction.
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
