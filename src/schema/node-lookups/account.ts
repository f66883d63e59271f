import { z } from 'zod';
import { unwrap } from '../../bank/response.ts';
import { type Account, getAccountsScope } from '../../contract/account.ts';
import type { Scope, ViewIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { connectionTo } from '../connection.ts';
import type { ReadContext } from '../context.ts';
import { findListItem } from '../list-item.ts';
import { defineNodeType, type NodeRef } from '../node-type.ts';
import { validateViewIds, viewKey } from '../view-ids.ts';

export type AccountNode = NodeRef<ViewIds, Account>;

/** Accounts by bank, account id and view. Read through getAccountsScope, in the scope that is configured for it. */
export const accountNode = defineNodeType({
  name: 'Account',
  key: z.tuple(viewKey),
  toKey: ({ bankId, accountId, viewId }: AccountNode) => [bankId, accountId, viewId] as const,
  toIds: (key) => validateViewIds(...key),
  read: readAccount,
});

function readAccount(ids: ViewIds, { session, defaults }: ReadContext): Promise<Account> {
  const { loaders } = session;
  const listed = loaders.listed.accounts.find(placeOf(ids), ids.accountId);
  if (listed !== null && isOfBank(listed, ids)) return Promise.resolve(listed);
  const reading = loaders.accountsScope.load({ ...ids, scope: defaults.accountScope ?? 'views' });
  return reading.then((accounts) => accountIn(accounts, ids, session));
}

/** Where an account would be asked for alone. No id holds a line's end. */
const placeOf = ({ bankId, viewId }: ViewIds) => `${bankId}\n${viewId}`;

/** A list may hold accounts of other banks; what this bank knows under the same id is another account. */
const isOfBank = ({ bank_id }: Account, { bankId }: ViewIds) => !bank_id || bank_id === bankId;

/** A list of accounts; what it brings is not asked for again during the operation. */
export function loadAccounts(ids: ViewIds, scope: Scope, { session }: ReadContext): Promise<Account[]> {
  // A write in the meantime puts other loaders in their place: what the list says is no news to those.
  const { accountsScope, listed } = session.loaders;
  return accountsScope.load({ ...ids, scope }).then((accounts) => {
    listed.accounts.add(placeOf(ids), accounts);
    return accounts;
  });
}

/**
 * The entry with the account's id, or the only entry. Banks have ids for paths alone (aliases, numbers in another form): an
 * only entry with another id is the account that was asked for, and counts as drift.
 */
function accountIn(
  accounts: readonly Account[],
  { accountId }: ViewIds,
  session: ReadContext['session'],
): Account {
  const [only] = accounts;
  if (only === undefined || accounts.length > 1) return findListItem(accounts, accountId, getAccountsScope);
  const account = unwrap(only) as Account;
  const id = unwrap(account.id);
  if (id && id !== accountId) session.noteDrift({ operation: getAccountsScope.id, field: 'id' }, accounts);
  return account;
}

/**
 * An entry of the account list: by its own id, or by the path's where the bank gave none.
 * Errors: BANK_BAD_RESPONSE where the bank gave an id that is none: it could be any account's.
 */
export const toAccountNode = ({ bankId, accountId, viewId }: ViewIds, record: Account): AccountNode => ({
  bankId,
  accountId: unwrap(record.id) || accountId,
  viewId,
  record,
});

export const AccountObject = builder.objectRef<AccountNode>('Account');

export const AccountConnection = connectionTo(AccountObject, {
  list: 'A list of accounts.',
  entry: 'An account and its place in a list.',
});
