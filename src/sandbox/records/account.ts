import type { Account, AccountBody } from '../../contract/account.ts';
import { customers } from '../customers.ts';
import { type Database, rowsOf, table } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { iban } from '../iban.ts';
import { bankId, staffId } from '../identity.ts';
import { centsOf } from '../money.ts';
import { checkOfPath, found, HttpError } from '../request-checks.ts';

/**
 * The columns: id, owners, type, label, currency, balance before the transfers of the seeded requests, views, and number of
 * transactions. An account without transactions has no counterparties either. The balance of alice-trust has more digits than a
 * double can hold.
 */
const accountTable = `
  alice-current | alice | current | Everyday | EUR | 4250.10 | owner public | 40
  alice-savings | alice | savings | Διακοπές στη Νάξο | EUR | 12000.00 | owner public | 16
  alice-trust | alice | trust | Καταπίστευμα | EUR | 9007199254740993.25 | owner public | 16
  alice-yen | alice | current | 旅行用口座 | JPY | 384000 | owner public | 16
  bob-current | bob | business | Разплащателна сметка | EUR | 3501.10 | owner public | 16
  bob-savings | bob | savings | Нова кола | EUR | 8800.05 | owner public | 16
  bob-dollars | bob | current | Dollars | USD | 5400.20 | owner public | 16
  family-joint | alice carol | joint | Σπίτι · Home | EUR | 6120.33 | owner | 16
  carol-current | carol | current | Everyday | EUR | 2764.48 | owner public | 16
  carol-studio | carol | business | Studio Müller & Töchter | GBP | 15032.90 | owner public | 16
  carol-savings | carol | savings | Inis Oírr | EUR | 9182.50 | owner public | 16
  omar-current | omar | current | حساب جارٍ | EUR | -218.35 | owner public | 16
  yuki-current | yuki | current | 学生口座 | EUR | 0.00 | owner public | 0`;

/** The accounts, in the order in which the list of a caller gives them. */
export const seededAccounts = rowsOf(accountTable).map(
  ([id = '', owners = '', type = '', label, currency = '', amount = '', views = '', history], index) => {
    const number = String(357_001_200_000 + 137 * (index + 1)).padStart(16, '0');
    const account: Account = {
      id,
      bank_id: bankId,
      label,
      number,
      IBAN: iban('CY', `90100128${number}`),
      swift_bic: bankId,
      type: [type],
      owners: owners.split(' '),
      views_available: views.split(' '),
      balance: { currency, amount },
    };
    return { id, currency, amount, history: Number(history), account };
  },
);

export const accounts = table(seededAccounts.map(({ id, account }) => [id, account]));

/** The views that the sandbox knows; an account may offer fewer of them (`views_available`). */
export const views: readonly string[] = ['owner', 'public'];

/** The ids of a path that names a view. */
type ViewIds = Readonly<Record<'ACCOUNT_ID' | 'VIEW_ID', string>>;

/** Errors: HttpError 404. */
export const accountOf = (database: Database, accountId: string): Account =>
  found(accounts(database).get(accountId), 'Account not found');

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
 * The account that a path with a view names.
 * Errors: HttpError 404 if the account has no such view, 403 if the caller may not see it: `public` is
 *         for everybody, `owner` for the account's owners and the staff.
 */
function viewedAccount(database: Database, ids: ViewIds, caller: string | null): Account {
  const account = accountOf(database, ids.ACCOUNT_ID);
  if (!account.views_available?.includes(ids.VIEW_ID)) {
    throw new HttpError(404, `The account ${ids.ACCOUNT_ID} has no view ${ids.VIEW_ID}`);
  }
  return ids.VIEW_ID === 'public' || caller === staffId
    ? account
    : ownAccount(database, ids.ACCOUNT_ID, caller);
}

/**
 * The account in a path of data that only its owners see: counterparties, transactions and transaction
 * requests.
 * Errors: as viewedAccount, and HttpError 403 for the view `public`, for every caller.
 */
export function ownerView(database: Database, ids: ViewIds, caller: string | null): Account {
  const account = viewedAccount(database, ids, caller);
  if (ids.VIEW_ID !== 'owner') throw new HttpError(403, `The view ${ids.VIEW_ID} does not show this`);
  return account;
}

/** A list entry as seen through a view: `public` hides the owners, the account's numbers and the amount. */
function seenThrough(viewId: string, account: Account) {
  const balance = account.balance ?? {};
  if (viewId === 'owner') return { ...account, balance };
  const { id, bank_id, label, type, views_available } = account;
  return { id, bank_id, label, type, views_available, balance: { currency: balance.currency } };
}

/** Errors: HttpError 400 if the bank cannot store the body; the message names the field. */
function checkAccount(database: Database, accountId: string, body: AccountBody, caller: string): void {
  checkOfPath('id', body.id, accountId, 'id');
  if ((body.bank_id ?? bankId) !== bankId) throw new HttpError(400, `bank_id: this bank is ${bankId}`);
  if (body.owners && caller !== staffId && !body.owners.includes(caller))
    throw new HttpError(400, 'owners: have to name the caller');
  const stranger = body.owners?.find((owner) => !customers(database).get(owner));
  if (stranger !== undefined) throw new HttpError(400, `owners: there is no customer ${stranger}`);
  const unknown = body.views_available?.find((view) => !views.includes(view));
  if (unknown !== undefined) throw new HttpError(400, `views_available: there is no view ${unknown}`);
}

/**
 * The balance after the PUT. The body must have a balance; a customer's may repeat the current values or leave them out.
 * Errors: HttpError 400 for an amount that cannot be kept, 403 for a customer who would change it.
 */
function balanceOf(held: Account['balance'], given: AccountBody['balance'], caller: string) {
  const before = { currency: held?.currency ?? 'EUR', amount: held?.amount ?? '0' };
  const after = { ...before, ...given };
  const isSameAmount =
    centsOf('balance.amount', after.amount, after.currency) === centsOf('', before.amount, before.currency);
  const isSameCurrency = held === undefined || after.currency === before.currency;
  if (caller !== staffId && !(isSameAmount && isSameCurrency))
    throw new HttpError(403, 'Only the staff of the bank set balances');
  return after;
}

export const accountHandlers: Handlers<'getAccountsScope' | 'putAccountID'> = {
  /**
   * Scope `views`: only the path's account. Scope `permissions`: for the view `owner`, every account of the caller; for
   * `public`, every account with this view.
   * Errors: HttpError 404 for another scope, and as viewedAccount.
   */
  getAccountsScope: ({ ids, caller, database }) => {
    if (ids.scope !== 'views' && ids.scope !== 'permissions') {
      throw new HttpError(404, `There is no scope ${ids.scope}: only views and permissions`);
    }
    const account = viewedAccount(database, ids, caller);
    if (ids.scope === 'views') return [seenThrough(ids.VIEW_ID, account)];
    return accounts(database)
      .all.filter(({ views_available }) => views_available?.includes(ids.VIEW_ID))
      .filter(({ owners }) => ids.VIEW_ID === 'public' || owners?.some((owner) => owner === caller))
      .map((entry) => seenThrough(ids.VIEW_ID, entry));
  },

  /**
   * Creates or replaces an account; its transactions and counterparties stay. Defaults for absent fields: the
   * previous balance, or zero euros; the caller as the owner, but the previous owner if the staff put the account;
   * both views.
   * Errors: HttpError 403 if it belongs to another customer; those of checkAccount and balanceOf.
   */
  putAccountID: ({ ids, body, caller, database }) => {
    const held = accounts(database).get(ids.ACCOUNT_ID);
    const isStaff = caller === staffId;
    if (held && !isStaff) ownAccount(database, ids.ACCOUNT_ID, caller);
    checkAccount(database, ids.ACCOUNT_ID, body, caller);
    return accounts(database).put(ids.ACCOUNT_ID, {
      owners: isStaff ? (held?.owners ?? []) : [caller],
      views_available: [...views],
      ...body,
      id: ids.ACCOUNT_ID,
      bank_id: bankId,
      balance: balanceOf(held?.balance, body.balance, caller),
    });
  },
};
