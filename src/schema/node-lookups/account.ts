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

/** Accounts by bank, account id and view. Read through getAccountsScope, with the configured scope. */
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

/** The other ids that a single read of an account takes. An id cannot contain a line break. */
const placeOf = ({ bankId, viewId }: ViewIds) => `${bankId}\n${viewId}`;

/** A list may contain accounts of other banks; under the same id, this bank may have a different account. */
const isOfBank = ({ bank_id }: Account, { bankId }: ViewIds) => !bank_id || bank_id === bankId;

/** A list of accounts, whose entries are not read again during the operation. */
export function loadAccounts(ids: ViewIds, scope: Scope, { session }: ReadContext): Promise<Account[]> {
  // A write in the meantime replaces the loaders: the list is outdated for the new ones.
  const { accountsScope, listed } = session.loaders;
  return accountsScope.load({ ...ids, scope }).then((accounts) => {
    listed.accounts.add(placeOf(ids), accounts);
    return accounts;
  });
}

/**
 * The entry with the account's id, or the only entry. Some banks accept other ids in paths (aliases, numbers in
 * another format): a single entry with another id is the requested account, and counts as drift.
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
 * An entry of the account list, identified by its own id, or by the path's if the bank gave none.
 * Errors: BANK_BAD_RESPONSE if the bank gave an invalid id: it could be any account.
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
