import type { Account, AccountBody } from '../../contract/account.ts';
import { ownAccount, viewedAccount, views } from '../access.ts';
import type { Database } from '../database.ts';
import { checkDigits, compare } from '../decimal.ts';
import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { bankId } from '../identity.ts';

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
  const { amount } = body.balance;
  if (amount !== undefined) {
    checkDigits('balance.amount', amount);
    // An overdrawn account can still be put with its current balance, for example with another label.
    const held = database.accounts.get(accountId)?.balance?.amount ?? '0';
    if (compare(amount, '0') < 0 && compare(amount, held) < 0) {
      throw new HttpError(400, 'balance.amount: must not be negative, or below what it is');
    }
  }
  if ((body.id ?? accountId) !== accountId) throw new HttpError(400, 'id: is not the id of the path');
  if ((body.bank_id ?? bankId) !== bankId) throw new HttpError(400, `bank_id: this bank is ${bankId}`);
  if (body.owners && !body.owners.includes(caller))
    throw new HttpError(400, 'owners: have to name the caller');
  const stranger = body.owners?.find((owner) => !database.customers.get(owner));
  if (stranger !== undefined) throw new HttpError(400, `owners: there is no customer ${stranger}`);
  const unknown = body.views_available?.find((view) => !views.includes(view));
  if (unknown !== undefined) throw new HttpError(400, `views_available: there is no view ${unknown}`);
}

/**
 * Creates or replaces an account, its balance included; what belongs to it stays. Absent fields: the balance
 * is zero, in euros; the owner is the caller; both views are available.
 * Errors: HttpError 403 if it belongs to another customer, 400 as checkAccount.
 */
export const putAccountID: Handler<'putAccountID'> = ({ ids, body, caller, database }) => {
  if (database.accounts.get(ids.ACCOUNT_ID)) ownAccount(database, ids.ACCOUNT_ID, caller);
  checkAccount(database, ids.ACCOUNT_ID, body, caller);
  const account = {
    owners: [caller],
    views_available: [...views],
    ...body,
    id: ids.ACCOUNT_ID,
    bank_id: bankId,
    balance: { currency: 'EUR', amount: '0', ...body.balance },
  };
  database.accounts.put(ids.ACCOUNT_ID, account);
  return account;
};
