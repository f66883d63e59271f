import type { Account } from '../contract/account.ts';
import type { Database } from './database.ts';
import { staffId } from './identity.ts';
import { found, HttpError } from './request-checks.ts';

/** The views that the sandbox knows; an account may offer fewer of them (`views_available`). */
export const views: readonly string[] = ['owner', 'public'];

/** The ids of a path that names a view. */
type ViewIds = Readonly<Record<'ACCOUNT_ID' | 'VIEW_ID', string>>;

/** Errors: HttpError 404. */
export const accountOf = (database: Database, accountId: string): Account =>
  found(database.accounts.get(accountId), 'Account not found');

/**
 * An account that the caller owns.
 * Errors: HttpError 404 if there is no account with this id, 403 if it belongs to another customer.
 */
export function ownAccount(database: Database, accountId: string, caller: string | null): Account {
  const account = accountOf(database, accountId);
  if (caller === null || !account.owners?.includes(caller)) {
    throw new HttpError(403, 'Access denied');
  }
  return account;
}

/**
 * An account as named by a path with a view.
 * Errors: HttpError 404 if the account has no such view, 403 if the caller may not see it: `public` is
 *         for everybody, `owner` for the account's owners and the staff.
 */
export function viewedAccount(database: Database, ids: ViewIds, caller: string | null): Account {
  const account = accountOf(database, ids.ACCOUNT_ID);
  if (!account.views_available?.includes(ids.VIEW_ID)) {
    throw new HttpError(404, `The account ${ids.ACCOUNT_ID} has no view ${ids.VIEW_ID}`);
  }
  return ids.VIEW_ID === 'public' || caller === staffId
    ? account
    : ownAccount(database, ids.ACCOUNT_ID, caller);
}

/**
 * The account of a path whose data only its owners see: counterparties, transactions, transaction requests.
 * Errors: as viewedAccount, and HttpError 403 for the view `public`, for every caller.
 */
export function ownerView(database: Database, ids: ViewIds, caller: string | null): Account {
  const account = viewedAccount(database, ids, caller);
  if (ids.VIEW_ID !== 'owner') throw new HttpError(403, `The view ${ids.VIEW_ID} does not show this`);
  return account;
}
