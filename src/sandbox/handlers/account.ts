import type { Account, AccountBody } from '../../contract/account.ts';
import { ownAccount, viewedAccount, views } from '../access.ts';
import type { Database } from '../database.ts';
import { checkDigits, compare } from '../decimal.ts';
import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { bankId, staffId } from '../identity.ts';

/** A list entry as seen through a view: `public` hides the owners, how to pay to the account, and its amount. */
function seenThrough(viewId: string, account: Account) {
  const balance = account.balance ?? {};
  if (viewId === 'owner') return { ...account, balance };
  const { id, bank_id, label, type, views_available } = account;
  return { id, bank_id, label, type, views_available, balance: { currency: balance.currency } };
}

/**
 * Scope `views`: the path's account alone. Scope `permissions`: every account that the caller may see through
 * the path's view, which is the caller's own for `owner` and all that have it for `public`.
 * Errors: HttpError 404 for another scope, and as viewedAccount.
 */
export const getAccountsScope: Handler<'getAccountsScope'> = ({ ids, caller, database }) => {
  if (ids.scope !== 'views' && ids.scope !== 'permissions') {
    throw new HttpError(404, `There is no scope ${ids.scope}: only views and permissions`);
  }
  const account = viewedAccount(database, ids, caller);
  if (ids.scope === 'views') return [seenThrough(ids.VIEW_ID, account)];
  return database.accounts
    .naming('views_available', ids.VIEW_ID)
    .filter(({ owners }) => ids.VIEW_ID === 'public' || owners?.some((owner) => owner === caller))
    .map((entry) => seenThrough(ids.VIEW_ID, entry));
};

/** Errors: HttpError 400 if the bank cannot store the body; the text names the field. */
function checkAccount(database: Database, accountId: string, body: AccountBody, caller: string): void {
  if ((body.id ?? accountId) !== accountId) throw new HttpError(400, 'id: is not the id of the path');
  if ((body.bank_id ?? bankId) !== bankId) throw new HttpError(400, `bank_id: this bank is ${bankId}`);
  if (body.owners && caller !== staffId && !body.owners.includes(caller))
    throw new HttpError(400, 'owners: have to name the caller');
  const stranger = body.owners?.find((owner) => !database.customers.get(owner));
  if (stranger !== undefined) throw new HttpError(400, `owners: there is no customer ${stranger}`);
  const unknown = body.views_available?.find((view) => !views.includes(view));
  if (unknown !== undefined) throw new HttpError(400, `views_available: there is no view ${unknown}`);
}

/**
 * The balance after the PUT. Customers may send the balance as it is, or leave it out: the PUT's body has to have one.
 * Errors: HttpError 400 for an amount that cannot be kept, or that staff put below zero and below what it was;
 *         403 for a customer who would change it.
 */
function balanceOf(held: Account['balance'], given: AccountBody['balance'], caller: string) {
  const before = { currency: held?.currency ?? 'EUR', amount: held?.amount ?? '0' };
  const after = { ...before, ...given };
  checkDigits('balance.amount', after.amount);
  const difference = compare(after.amount, before.amount);
  const isNew = held === undefined;
  if (caller !== staffId && (difference !== 0 || (!isNew && after.currency !== before.currency)))
    throw new HttpError(403, 'Only the staff of the bank set balances');
  // An overdrawn account can still be put with its current balance, for example with another label.
  if (compare(after.amount, '0') < 0 && difference < 0)
    throw new HttpError(400, 'balance.amount: must not be negative, or below what it is');
  return after;
}

/**
 * Creates or replaces an account; what belongs to it stays. Absent fields: the balance stays as it is, zero euros at
 * first; the owner is the caller, and where the staff put it who it was; both views are available.
 * Errors: HttpError 403 if it belongs to another customer; those of checkAccount and balanceOf.
 */
export const putAccountID: Handler<'putAccountID'> = ({ ids, body, caller, database }) => {
  const held = database.accounts.get(ids.ACCOUNT_ID);
  const isStaff = caller === staffId;
  if (held && !isStaff) ownAccount(database, ids.ACCOUNT_ID, caller);
  checkAccount(database, ids.ACCOUNT_ID, body, caller);
  const account = {
    owners: isStaff ? (held?.owners ?? []) : [caller],
    views_available: [...views],
    ...body,
    id: ids.ACCOUNT_ID,
    bank_id: bankId,
    balance: balanceOf(held?.balance, body.balance, caller),
  };
  database.accounts.put(ids.ACCOUNT_ID, account);
  return account;
};
