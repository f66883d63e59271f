import { Database } from './database.ts';
import { seedTransactions } from './records/transaction.ts';
import { seedTransactionRequests } from './records/transaction-request.ts';

/**
 * The database that the bank starts with: the same time gives the same records. `start`: in milliseconds since 1970. Transfers
 * change balances and counterparties, so they are made here, in their order. The other tables create their seeds when they are
 * read.
 */
export function seededDatabase(start: number): Database {
  const database = new Database(start);
  seedTransactions(database);
  seedTransactionRequests(database);
  return database;
}
