import { createHash } from 'node:crypto';
import type { Account } from '../contract/account.ts';
import type { MoneyBody } from '../contract/shared-parts.ts';
import type { Transaction } from '../contract/transaction.ts';
import type { TransactionRequest } from '../contract/transaction-request.ts';
import { childTable, type Database } from './database.ts';
import { bankId } from './identity.ts';
import { amountOf, centsOf } from './money.ts';
import { ensureCounterparty, outcomes, type Payee } from './payee.ts';
import { accountOf, accounts } from './records/account.ts';
import { HttpError } from './request-checks.ts';

/**
 * The transactions by account id. A transfer within the bank has one transaction id, and a record for each of the two accounts.
 */
export const transactions = childTable<Transaction>();

/** The transaction requests by account id. */
export const transactionRequests = childTable<TransactionRequest>();

/** A transaction as a statement lists it. */
interface StatementLine {
  readonly transactionId: string;
  /** The time at which it was posted, as an ISO 8601 text. */
  readonly at: string;
}

/**
 * Adds transactions to the statements of their months. No operation lists an account's transactions, so clients find them
 * through transaction requests. A statement is a monthly transaction request that the bank makes. It names the account's
 * transactions that no other request names: incoming money, card payments, and transfers by make-transaction.
 */
export function addToStatement(
  database: Database,
  accountId: string,
  ...lines: readonly StatementLine[]
): void {
  for (const [month, added] of Map.groupBy(lines, ({ at }) => at.slice(0, 7))) {
    const id = `statement-${month}`;
    const found = transactionRequests(database, accountId).get(id);
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
    transactionRequests(database, accountId).put(id, statement);
  }
}

/**
 * A transaction request's `resource_url`. No operation reads a single request, so this is the address of the account's list,
 * with the request's id after `#`.
 */
export function requestUrl(accountId: string, requestId: string): string {
  return `/v1/api/banks/${bankId}/accounts/${encodeURIComponent(accountId)}/owner/transaction-requests#${requestId}`;
}

/** A UUID (version 8) made from a name. The same name gives the same UUID, in every sandbox. */
export function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(12, 15)}`, `a${hex.slice(15, 18)}`];
  return [...parts, hex.slice(18, 30)].join('-');
}

/**
 * Checks a transfer to a payee.
 * Shape:  the accounts, and the cents of their currency.
 * Errors: HttpError 400 if the account pays itself, the amount or the currency is missing, the amount is not
 *         positive or finer than the currency, or the currency is not that of each account of this bank; 404 if an account is unknown.
 */
export function transferOrder(
  database: Database,
  fromId: string,
  payee: Payee,
  value: MoneyBody | undefined,
) {
  if (fromId === payee.id) throw new HttpError(400, 'Invalid payee');
  const { amount, currency } = value ?? {};
  if (amount === undefined) throw new HttpError(400, 'Invalid amount');
  if (currency === undefined) throw new HttpError(400, 'Invalid currency');
  const cents = centsOf('value.amount', amount, currency);
  if (cents <= 0n) throw new HttpError(400, 'The amount must be positive');
  const held = accountOf(database, fromId).balance?.currency ?? '';
  const ofPayee = payee.outside ? held : (accountOf(database, payee.id).balance?.currency ?? '');
  for (const holds of [held, ofPayee]) {
    if (holds !== currency) throw new HttpError(400, 'Invalid currency');
  }
  return { fromId, payee, currency, cents };
}

type Order = ReturnType<typeof transferOrder>;

/** The balance of an account, in cents. */
const heldBy = ({ balance }: Account): bigint =>
  centsOf('balance.amount', balance?.amount ?? '0', balance?.currency);

/** The details of a transfer's transactions besides the accounts and the value. */
interface TransferText {
  readonly type: string;
  readonly description: string | undefined;
  /** The customer who requested the transfer. */
  readonly caller: string;
  /** The time of the transfer, as an ISO 8601 text. */
  readonly at: string;
}

/** The status of a transfer. Only a COMPLETED transfer moves money. */
export type TransferStatus = 'COMPLETED' | 'PENDING' | 'FAILED';

/** The result of a transfer; the transaction's id is the same on both accounts. */
export interface Transferred {
  readonly id: string;
  readonly status: TransferStatus;
}

/** Writes one side of a transfer: the balance, if it is completed, the counterparty and the transaction. */
function book(
  database: Database,
  accountId: string,
  payee: Payee,
  { id, status }: Transferred,
  { currency, cents }: Pick<Order, 'currency' | 'cents'>,
  text: TransferText,
): void {
  const account = accountOf(database, accountId);
  const moved = status === 'COMPLETED' ? cents : 0n;
  const balance = { currency, amount: amountOf(heldBy(account) + moved, currency) };
  if (status === 'COMPLETED') accounts(database).put(accountId, { ...account, balance });
  ensureCounterparty(database, accountId, payee);
  const transaction: Transaction = {
    id,
    uuid: uuidOf(id),
    this_account: accountId,
    other_account: payee.id,
    details: {
      type: text.type,
      status,
      description: text.description,
      value: { currency, amount: amountOf(cents, currency) },
      new_balance: balance,
      posted: text.at,
      posted_by_user_id: text.caller,
      ...(status === 'COMPLETED' && { completed: text.at }),
    },
  };
  transactions(database, accountId).put(id, transaction);
}

/**
 * Makes a transfer. The account that pays gets a transaction and a counterparty. So does the payee, if the transfer is
 * completed and the payee is an account of this bank. A completed transfer changes the balances. The payee's statement names
 * the transaction. With `isListed`, the payer's statement does too, because no request names it.
 * Errors: HttpError 400 if the funds do not suffice.
 */
export function transfer(
  database: Database,
  { fromId, payee, currency, cents }: Order,
  text: TransferText,
  { status = outcomeOf(payee), isListed = false }: { status?: TransferStatus; isListed?: boolean } = {},
): Transferred {
  if (status !== 'FAILED' && heldBy(accountOf(database, fromId)) < cents)
    throw new HttpError(400, 'Insufficient funds');

  const made = { id: database.nextId('tx'), status };
  const line = { transactionId: made.id, at: text.at };
  book(database, fromId, payee, made, { currency, cents: -cents }, text);
  if (isListed) addToStatement(database, fromId, line);
  if (!payee.outside && status === 'COMPLETED') {
    const payer = { id: fromId, outside: null };
    book(database, payee.id, payer, made, { currency, cents }, text);
    addToStatement(database, payee.id, line);
  }
  return made;
}

/** Transfers to other banks complete, except to two accounts that exist for testing other outcomes. */
const outcomeOf = ({ outside }: Payee): TransferStatus => outcomes[outside?.IBAN ?? ''] ?? 'COMPLETED';
