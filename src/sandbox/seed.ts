import type { Database, Seed } from './database.ts';
import type { Scenario } from './scenario.ts';
import { seededAccounts } from './seed/account.ts';
import { seededBranches } from './seed/branch.ts';
import { type Ago, agoFrom } from './seed/clock.ts';
import { seededCustomers } from './seed/customer.ts';
import { seededMessages } from './seed/message.ts';
import { seededMetadata } from './seed/metadata.ts';
import { seededOtherAccounts } from './seed/other-account.ts';
import { seededProducts } from './seed/product.ts';
import { seedRecords } from './seed/scenario-records.ts';
import { seedTransactions } from './seed/transaction.ts';
import { seedTransactionRequests } from './seed/transaction-request.ts';

/** Fills a new database deterministically: the same scenario and time give the same records. */
export const seedOf =
  (scenario: Scenario, now: number): Seed =>
  (database) => {
    const ago = agoFrom(now);
    for (const [id, customer] of Object.entries(seededCustomers)) database.customers.put(id, customer);
    for (const { id, product } of seededProducts) database.products.put(id, product);
    for (const { id, branch } of seededBranches) database.branches.put(id, branch);
    for (const { id, entry } of seededMetadata) database.metadata.put(id, null, entry);
    if (scenario.base === 'standard') seedLives(database, ago);
    else seedEmptyAccounts(database);
    seedRecords(database, scenario, ago);
  };

/** Seeds the customers' accounts, transactions and other records. */
function seedLives(database: Database, ago: Ago): void {
  for (const { id, account } of seededAccounts) database.accounts.put(id, account);
  for (const { accountId, otherAccount } of seededOtherAccounts) {
    database.otherAccounts.put(accountId, otherAccount.id ?? null, otherAccount);
  }
  seedTransactions(database, ago);
  seedTransactionRequests(database, ago);
  for (const { customerId, message } of seededMessages(ago)) database.messages.put(customerId, null, message);
}

/** The account that each customer's login starts from, with nothing on it. */
function seedEmptyAccounts(database: Database): void {
  for (const { id, currency, account } of seededAccounts) {
    if (!id.endsWith('-current')) continue;
    database.accounts.put(id, { ...account, balance: { currency, amount: '0.00' } });
  }
}
