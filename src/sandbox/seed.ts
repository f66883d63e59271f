import type { Database } from './database.ts';
import { seededAccounts } from './seed/account.ts';
import { seededBranches } from './seed/branch.ts';
import { seededCustomers } from './seed/customer.ts';
import { seededMessages } from './seed/message.ts';
import { seededMetadata } from './seed/metadata.ts';
import { seededOtherAccounts } from './seed/other-account.ts';
import { seededProducts } from './seed/product.ts';
import { seedTransactions } from './seed/transaction.ts';
import { seedTransactionRequests } from './seed/transaction-request.ts';

/** Fills a new database, with the same records each time: no clock, no chance. */
export function seed(database: Database): void {
  for (const [id, customer] of Object.entries(seededCustomers)) database.customers.put(id, customer);
  for (const { id, product } of seededProducts) database.products.put(id, product);
  for (const { id, branch } of seededBranches) database.branches.put(id, branch);
  for (const { id, account } of seededAccounts) database.accounts.put(id, account);
  for (const { accountId, otherAccount } of seededOtherAccounts) {
    database.otherAccounts.put(accountId, otherAccount.id ?? null, otherAccount);
  }
  seedTransactions(database);
  seedTransactionRequests(database);
  for (const { customerId, message } of seededMessages) database.messages.put(customerId, null, message);
  for (const { id, entry } of seededMetadata) database.metadata.put(id, null, entry);
}
