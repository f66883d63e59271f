import type { Account } from '../contract/account.ts';
import type { AccountRef, MoneyBody } from '../contract/common-schemas.ts';
import { accountOf } from './access.ts';
import type { Database } from './database.ts';
import { add, checkDigits, compare, negate } from './decimal.ts';
import { HttpError } from './http-error.ts';
import { bankId } from './identity.ts';
import { uuidOf } from './uuid.ts';

/** A transfer whose accounts and value have been found to fit. */
export interface TransferOrder {
  readonly fromId: string;
  readonly toId: string;
  readonly currency: string;
  /** A positive decimal. */
  readonly amount: string;
}

/** The account that a request pays to. Errors: HttpError 400 without an id, 404 where this bank has none. */
export function payeeOf(database: Database, to: AccountRef): string {
  if (!to.account_id) throw new HttpError(400, 'to.account_id: is missing');
  if ((to.bank_id ?? bankId) !== bankId) throw new HttpError(404, `to.bank_id: this bank is ${bankId}`);
  accountOf(database, to.account_id);
  return to.account_id;
}

/**
 * Checks what is to move between two accounts.
 * Errors: HttpError 400 where the accounts are one, the amount is missing or not positive, or the currency is
 *         not that of both; 404 where an account is unknown. A missing currency means the accounts'.
 */
export function transferOrder(
  database: Database,
  fromId: string,
  toId: string,
  value: MoneyBody | undefined,
): TransferOrder {
  if (fromId === toId) throw new HttpError(400, 'to.account_id: is the account that pays');
  const amount = value?.amount;
  if (amount === undefined) throw new HttpError(400, 'value.amount: is missing');
  checkDigits('value.amount', amount);
  if (compare(amount, '0') <= 0) throw new HttpError(400, 'value.amount: has to be positive');
  const held = accountOf(database, fromId).balance?.currency ?? '';
  const currency = value?.currency ?? held;
  for (const holds of [held, accountOf(database, toId).balance?.currency ?? '']) {
    if (holds !== currency) throw new HttpError(400, `value.currency: an account holds ${holds}`);
  }
  return { fromId, toId, currency, amount };
}

/** What a transfer's transactions say besides the accounts and the value. */
export interface TransferText {
  readonly type: string;
  readonly description: string | undefined;
  /** The customer who asked for it. */
  readonly caller: string;
  /** When, as an ISO 8601 text. */
  readonly at: string;
}

/** Who holds an account of this bank, as the other side's counterparty; it is known by the account's id. */
function ensureCounterparty(database: Database, accountId: string, other: Account, otherId: string): void {
  if (database.otherAccounts.get(accountId, otherId)) return;
  const names = (other.owners ?? []).map((id) => database.customers.get(id)?.legal_name ?? id);
  database.otherAccounts.put(accountId, otherId, {
    bank: bankId,
    holder: { is_alias: false, name: names.join(', ') },
    IBAN: other.IBAN,
    id: otherId,
    kind: 'account of this bank',
    number: other.number,
    swift_bic: other.swift_bic,
  });
}

/**
 * Moves the money: both balances, a counterparty and a transaction on either side. The caller of this
 * function runs it within one database transaction.
 * Shape:  the transaction's id, the same on both accounts.
 * Errors: HttpError 400 where the funds do not suffice.
 */
export function transfer(database: Database, order: TransferOrder, text: TransferText): string {
  const from = accountOf(database, order.fromId);
  const to = accountOf(database, order.toId);
  if (compare(from.balance?.amount ?? '0', order.amount) < 0) throw new HttpError(400, 'Insufficient funds');

  const id = database.nextId('tx');
  const side = (account: Account, accountId: string, other: Account, otherId: string, amount: string) => {
    const balance = { currency: order.currency, amount: add(account.balance?.amount ?? '0', amount) };
    database.accounts.put(accountId, { ...account, balance });
    ensureCounterparty(database, accountId, other, otherId);
    database.transactions.put(accountId, id, {
      id,
      uuid: uuidOf(id),
      this_account: accountId,
      other_account: otherId,
      details: {
        type: text.type,
        status: 'COMPLETED',
        description: text.description,
        value: { currency: order.currency, amount },
        new_balance: balance,
        posted: text.at,
        posted_by_user_id: text.caller,
        completed: text.at,
      },
    });
  };
  side(from, order.fromId, to, order.toId, negate(order.amount));
  side(to, order.toId, from, order.fromId, add(order.amount, '0'));
  return id;
}
