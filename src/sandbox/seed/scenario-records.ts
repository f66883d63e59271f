import { views } from '../access.ts';
import type { Database } from '../database.ts';
import { bankId } from '../identity.ts';
import { requestUrl } from '../request-url.ts';
import { type Scenario, ScenarioError } from '../scenario.ts';
import { addToStatement } from '../statement.ts';
import { uuidOf } from '../uuid.ts';
import type { Ago } from './clock.ts';

/** A date of a file: `-3d` or `-3d 14:30` is so many days before the start, whatever else stays as it is. */
function dateOf(ago: Ago, text: string | null | undefined): string | null | undefined {
  const [, days, time] = /^-(\d{1,5})d(?: (\d\d:\d\d))?$/.exec(text ?? '') ?? [];
  return days === undefined ? text : ago(Number(days), time);
}

/**
 * Writes what a scenario adds. What it leaves out of a record is as the bank would write it, where it knows better.
 * Errors: ScenarioError where a record belongs to one that is not there.
 */
export function seedRecords(database: Database, scenario: Scenario, ago: Ago): void {
  const checkAccount = (section: string, id: string) => {
    if (!database.accounts.get(id)) throw new ScenarioError(`${section}: there is no account ${id}.`);
  };
  const checkCustomer = (section: string, id: string) => {
    if (!database.customers.get(id)) throw new ScenarioError(`${section}: there is no customer ${id}.`);
  };

  for (const [id, customer] of Object.entries(scenario.customers))
    database.customers.put(id, { bank_id: [bankId], ...customer });
  for (const [id, account] of Object.entries(scenario.accounts)) {
    if (!account.owners?.length) throw new ScenarioError(`accounts: ${id}: owners: is missing.`);
    for (const owner of account.owners) checkCustomer(`accounts: ${id}: owners`, owner);
    const balance = { currency: 'EUR', amount: '0', ...account.balance };
    database.accounts.put(id, { views_available: [...views], ...account, id, bank_id: bankId, balance });
  }
  for (const [id, branch] of Object.entries(scenario.branches)) database.branches.put(id, { ...branch, id });
  for (const [id, product] of Object.entries(scenario.products))
    database.products.put(id, { ...product, id, bank_id: bankId });
  for (const [id, entries] of Object.entries(scenario.metadata))
    for (const entry of entries) database.metadata.put(id, null, { ...entry, id });
  for (const [accountId, others] of Object.entries(scenario.otherAccounts)) {
    checkAccount('otherAccounts', accountId);
    for (const other of others) database.otherAccounts.put(accountId, other.id ?? null, other);
  }
  for (const [customerId, messages] of Object.entries(scenario.messages)) {
    checkCustomer('messages', customerId);
    for (const message of messages)
      database.messages.put(customerId, null, { ...message, date: dateOf(ago, message.date) ?? ago(0) });
  }
  for (const [accountId, requests] of Object.entries(scenario.transactionRequests)) {
    checkAccount('transactionRequests', accountId);
    for (const request of requests) {
      const id = database.nextId('request');
      database.transactionRequests.put(accountId, id, {
        resource_url: requestUrl(accountId, id),
        from: { account_id: accountId, bank_id: bankId },
        ...request,
        start_date: dateOf(ago, request.start_date) ?? ago(0),
        end_date: dateOf(ago, request.end_date),
      });
    }
  }
  for (const [accountId, transactions] of Object.entries(scenario.transactions)) {
    checkAccount('transactions', accountId);
    seedAccountTransactions(database, accountId, transactions, ago);
  }
}

function seedAccountTransactions(
  database: Database,
  accountId: string,
  transactions: Scenario['transactions'][string],
  ago: Ago,
): void {
  const requested = new Set(
    database.transactionRequests
      .of(accountId)
      .flatMap(({ transaction_ids }) => transaction_ids?.split(/[\s,]+/) ?? []),
  );
  for (const transaction of transactions) {
    const id = transaction.id ?? database.nextId('tx');
    const at = dateOf(ago, transaction.details?.posted) ?? ago(0);
    database.transactions.put(accountId, id, {
      uuid: uuidOf(id),
      ...transaction,
      id,
      this_account: accountId,
      details: { ...transaction.details, posted: at, completed: dateOf(ago, transaction.details?.completed) },
    });
    if (!requested.has(id)) addToStatement(database, accountId, { transactionId: id, at });
  }
}
