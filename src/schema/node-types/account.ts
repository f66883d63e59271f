import { z } from 'zod';
import { unwrap } from '../../bank/response.ts';
import { type Account, getAccountsScope } from '../../contract/account.ts';
import type { ViewIds } from '../../loaders/loaders.ts';
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

function readAccount(ids: ViewIds, { session }: ReadContext): Promise<Account> {
  const reading = session.loaders.accountsScope.load({ ...ids, scope: 'views' });
  return reading.then((accounts) => accountIn(accounts, ids));
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
