import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { account } from '../contract/account.ts';
import { branch } from '../contract/branch.ts';
import { customer } from '../contract/customer.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import { message } from '../contract/message.ts';
import { metadataEntry } from '../contract/metadata.ts';
import { otherAccount } from '../contract/other-account.ts';
import { productBody } from '../contract/product.ts';
import { transaction } from '../contract/transaction.ts';
import { transactionRequest } from '../contract/transaction-request.ts';
import { decodeText } from '../plain-text.ts';
import { views } from './access.ts';
import type { Database } from './database.ts';
import { SandboxError } from './faults.ts';
import { bankId } from './identity.ts';
import type { Ago } from './seed.ts';
import { addToStatement, requestUrl, uuidOf } from './transfer.ts';

const byId = <T extends z.ZodType>(record: T) => z.record(z.string().min(1), record).default({});
const listById = <T extends z.ZodType>(record: T) => byId(z.array(record));

/** The initial data of the bank: a base, and records that are added to it or replace those with the same ids. */
const scenario = z.strictObject({
  /** `standard`: five lives. `empty`: the same five, whose accounts hold nothing yet. */
  base: z.enum(['standard', 'empty']).default('standard'),
  /** The text form of faults.ts. */
  faults: z.string().optional(),
  customers: byId(customer.strict()),
  accounts: byId(account.strict()),
  branches: byId(branch.strict()),
  products: byId(productBody.partial()),
  /** By account id. */
  otherAccounts: listById(otherAccount.strict()),
  /** By account id. */
  transactions: listById(transaction.strict()),
  /** By account id. */
  transactionRequests: listById(transactionRequest.strict()),
  /** By customer id. */
  messages: listById(message.strict()),
  metadata: listById(metadataEntry.strict()),
});
export type Scenario = z.infer<typeof scenario>;

/** Scenarios that have a name, as a file would write them. */
const named: Readonly<Record<string, z.input<typeof scenario>>> = {
  standard: {},
  empty: { base: 'empty' },
  'bad-day': { faults: 'flaky' },
};

const scenarioError = (message: string, options?: ErrorOptions) =>
  new SandboxError('scenario', message, options);

/**
 * The scenario of this name, or that of a JSON file.
 * Errors: SandboxError if there is neither, or the file's content is invalid.
 */
export function readScenario(nameOrFile: string): Scenario {
  if (Object.hasOwn(named, nameOrFile)) return scenario.parse(named[nameOrFile]);
  const checked = scenario.safeParse(readJson(nameOrFile));
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw scenarioError(`${[...(issue?.path ?? []), issue?.message].join(': ')}.`);
}

function readJson(file: string): unknown {
  const names = Object.keys(named).join(', ');
  let text: string;
  try {
    text = decodeText(readFileSync(file));
  } catch (cause) {
    throw scenarioError(`give ${names}, or the path of a JSON file in UTF-8 that can be read.`, { cause });
  }
  try {
    return parseExactJson(text);
  } catch (cause) {
    throw scenarioError('the file is not JSON.', { cause });
  }
}

/** A date of a file: `-3d` or `-3d 14:30` is so many days before the start, whatever else stays as it is. */
function dateOf(ago: Ago, text: string | null | undefined): string | null | undefined {
  const [, days, time] = /^-(\d{1,5})d(?: (\d\d:\d\d))?$/.exec(text ?? '') ?? [];
  return days === undefined ? text : ago(Number(days), time);
}

/**
 * Writes a scenario's records. Members that a record leaves out have the values that the bank would write, if it knows
 * better.
 * Errors: SandboxError if a record belongs to one that is missing.
 */
export function seedRecords(database: Database, records: Partial<Scenario>, ago: Ago): void {
  const { customers = {}, accounts = {}, branches = {}, products = {}, metadata = {} } = records;
  const { otherAccounts = {}, messages = {}, transactionRequests = {}, transactions = {} } = records;
  const checkAccount = (section: string, id: string) => {
    if (!database.accounts.get(id)) throw scenarioError(`${section}: there is no account ${id}.`);
  };
  const checkCustomer = (section: string, id: string) => {
    if (!database.customers.get(id)) throw scenarioError(`${section}: there is no customer ${id}.`);
  };

  for (const [id, customer] of Object.entries(customers))
    database.customers.put(id, { bank_id: [bankId], ...customer });
  for (const [id, account] of Object.entries(accounts)) {
    if (!account.owners?.length) throw scenarioError(`accounts: ${id}: owners: is missing.`);
    for (const owner of account.owners) checkCustomer(`accounts: ${id}: owners`, owner);
    const balance = { currency: 'EUR', amount: '0', ...account.balance };
    const { views_available = [...views] } = account;
    database.accounts.put(id, { ...account, id, bank_id: bankId, views_available, balance });
  }
  for (const [id, branch] of Object.entries(branches)) database.branches.put(id, { ...branch, id });
  for (const [id, product] of Object.entries(products))
    database.products.put(id, { ...product, id, bank_id: bankId });
  for (const [id, entries] of Object.entries(metadata))
    for (const entry of entries) database.metadata.put(id, null, { ...entry, id });
  for (const [accountId, others] of Object.entries(otherAccounts)) {
    checkAccount('otherAccounts', accountId);
    for (const other of others) database.otherAccounts.put(accountId, other.id ?? null, other);
  }
  for (const [customerId, list] of Object.entries(messages)) {
    checkCustomer('messages', customerId);
    for (const message of list)
      database.messages.put(customerId, null, { ...message, date: dateOf(ago, message.date) ?? ago(0) });
  }
  for (const [accountId, requests] of Object.entries(transactionRequests)) {
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
  for (const [accountId, list] of Object.entries(transactions)) {
    checkAccount('transactions', accountId);
    seedAccountTransactions(database, accountId, list, ago);
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
