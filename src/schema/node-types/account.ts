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

/** Accounts by bank, account id and view. Read through getAccountsScope, scope `views`. */
export const accountNode = defineNodeType({
  name: 'Account',
  key: z.tuple(viewKey),
  toKey: ({ bankId, accountId, viewId }: AccountNode) => [bankId, accountId, viewId] as const,
  toIds: (key) => validateViewIds(...key),
  read: readAccount,
});

function readAccount(ids: ViewIds, { session: { loaders } }: ReadContext): Promise<Account> {
  const listed = loaders.listed.accounts.find(placeOf(ids), ids.accountId);
  if (listed !== null && isOfBank(listed, ids)) return Promise.resolve(listed);
  const reading = loaders.accountsScope.load({ ...ids, scope: 'views' });
  return reading.then((accounts) => accountIn(accounts, ids));
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

/** The entry with the account's id, or the only entry where it has none. */
function accountIn(accounts: readonly Account[], { accountId }: ViewIds): Account {
  const [only] = accounts;
  if (accounts.length === 1 && only !== undefined && !unwrap(unwrap(only).id)) return only;
  return findListItem(accounts, accountId, getAccountsScope);
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
