import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { validateBankId, withoutHeadOffice } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { type Account, account, getAccountsScope } from '../contract/account.ts';
import { type Field, recordField } from '../contract/record.ts';
import { BankqlError } from '../errors.ts';
import { ofSource } from '../executor/known-resolvers.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { BankObject, bankFields } from './bank.ts';
import { builder, type Fields } from './builder.ts';
import { type ReadContext, viewIdOr } from './context.ts';
import { customerNode } from './customer.ts';
import { implementNode } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { link, links, recordOf } from './plugin/link.ts';
import {
  checkNotRepeated,
  contentHashOf,
  findByContent,
  findListItem,
  isContentHash,
  isRepeatedIn,
  itemId,
} from './plugin/list-item.ts';
import { defineNodeType, identifiedBy, idFromPath, type NodeRef, noteOtherId } from './plugin/node.ts';
import { connectionTo, listField, type ToNode } from './plugin/relay-connection.ts';
import { versionField } from './record-version.ts';

export const AccountScope = builder.enumType('AccountScope', {
  description: 'Which accounts: the segment `{scope}` of getAccountsScope.',
  values: {
    PERMISSIONS: {
      value: 'permissions',
      description: 'Accounts that the caller may use. REST `permissions`.',
    },
    VIEWS: { value: 'views', description: 'The account as its views show it. REST `views`.' },
  } as const satisfies Record<string, { value: Scope; description: string }>,
});

export interface AccountIds {
  readonly bankId: string;
  /** Null for an account that the bank listed without an id among others. */
  readonly accountId: string | null;
  readonly viewId: string;
}

/**
 * The account of a record that is seen through it.
 * Errors: BANK_BAD_RESPONSE for an account that the bank listed without an id among others: it could be any account.
 */
export function accountOf({ bankId, accountId, viewId }: AccountIds): ViewIds {
  if (accountId !== null) return { bankId, accountId, viewId };
  throw new BankqlError(
    'BANK_BAD_RESPONSE',
    'The bank listed this account without an id among others: nothing tells which one it is.',
    { operation: getAccountsScope.id },
  );
}

/** An account, with the list that contains it if it came from one. */
interface AccountEntry extends AccountIds {
  readonly from?: AccountList | undefined;
  readonly contentHash?: string | undefined;
}

/** A list of getAccountsScope, by its path. */
interface AccountList {
  readonly ids: ViewIds;
  readonly scope: Scope;
  /** The list itself and the names of its accounts, if it has been read. */
  readonly read?: { readonly list: readonly Account[]; readonly nameOf: (account: Account) => string | null };
}

type AccountNode = NodeRef<AccountEntry, Account>;

const single = identifiedBy('bankId', 'accountId', 'viewId');

/**
 * Accounts by bank, account id and view. Read through getAccountsScope, with the configured scope. In a list, the content of an
 * account without an id, or with a repeated one, identifies it.
 */
export const accountNode = defineNodeType({
  name: 'Account',
  bankIdField: 'accountId',
  toKey(node: AccountNode) {
    const { from, record } = node;
    const contentHash = node.contentHash ?? (record && from?.read && sharedContent(node, record, from.read));
    return from && contentHash
      ? [...single.toKey(from.ids), from.scope, contentHash]
      : single.toKey(accountOf(node));
  },
  toIds(key): AccountEntry {
    const ids = single.toIds(key);
    const [scope, contentHash] = key.slice(3);
    const isByContent = isContentHash(contentHash) && (scope === 'permissions' || scope === 'views');
    return isByContent ? { ...ids, accountId: null, from: { ids, scope }, contentHash } : ids;
  },
  read: (ids: AccountEntry, context, needed) => readAccount(accountOf(ids), context, needed),
  readByContent,
});

/** The hash of an account's content, if the bank's list does not identify it by an id of its own; else undefined. */
function sharedContent(
  { accountId }: AccountNode,
  record: Account,
  { list, nameOf }: NonNullable<AccountList['read']>,
): string | undefined {
  const name = nameOf(record);
  const isOwn = name === null ? accountId !== null : !isRepeatedIn(list, nameOf, name);
  return isOwn ? undefined : contentHashOf(account, record);
}

async function readByContent(
  { from }: AccountEntry,
  contentHash: string,
  context: ReadContext,
): Promise<AccountNode> {
  if (from === undefined) throw new Error('an account that its content identifies has a list');
  const { ids, scope } = from;
  const list = await loadAccounts(ids, scope, context);
  const record = await findByContent(list, contentHash, account, getAccountsScope, context);
  return { ...accountsIn(list, ids, scope)(record, 0), contentHash };
}

function readAccount(
  ids: ViewIds,
  context: ReadContext,
  needed: readonly Field[] | null = null,
): Promise<Account> {
  const { session } = context;
  const listed = session.loaders.listedAccounts.find(placeOf(ids), ids.accountId, needed);
  if (listed !== null && isOfBank(listed, ids)) return Promise.resolve(listed);
  return loadSingle(ids, context).then((accounts) => accountIn(accounts, ids, session));
}

/** The list that a single account is read from. */
const loadSingle = (ids: ViewIds, { session, defaults }: ReadContext): Promise<Account[]> =>
  session.loaders.accountsScope.load({ ...ids, scope: defaults.accountScope ?? 'views' });

/** Joins the other ids of a single read. An id cannot contain a line break. */
const placeOf = ({ bankId, viewId }: ViewIds) => `${bankId}\n${viewId}`;

/** Whether a code in a record is that of a bank. */
export const isCodeOf = (bankId: string, code: unknown): boolean =>
  typeof code === 'string' && withoutHeadOffice(code) === withoutHeadOffice(bankId);

/** A list may contain accounts of other banks; under the same id, this bank may have a different account. */
const isOfBank = (account: Account, ids: ViewIds): boolean =>
  typeof account.bank_id !== 'string' || account.bank_id === '' || namesBank(account, ids);

const namesBank = ({ bank_id }: Account, { bankId }: ViewIds): boolean => isCodeOf(bankId, bank_id);

/**
 * Finds the accounts of a list that belong to other banks: those with another bank's code. If no entry has this bank's code,
 * its code in records differs from the one in paths, and no account is foreign.
 */
function foreignIn(list: readonly Account[], ids: ViewIds): (account: Account) => boolean {
  let isBankNamed: boolean | null = null;
  return (account) => {
    if (isOfBank(account, ids)) return false;
    isBankNamed ??= list.some((entry) => namesBank(entry, ids));
    return isBankNamed;
  };
}

/** The names of accounts in a list: their ids, with their bank if that is another one. An id cannot contain a line break. */
function namesIn(list: readonly Account[], ids: ViewIds): (account: Account) => string | null {
  const isForeign = foreignIn(list, ids);
  return (account) => {
    const id = itemId(account);
    return id !== null && isForeign(account) ? `${account.bank_id}\n${id}` : id;
  };
}

/** A list of accounts. Entries are not read again during the operation for fields in which they have a value. */
function loadAccounts(ids: ViewIds, scope: Scope, { session }: ReadContext): Promise<Account[]> {
  // A write in the meantime replaces the loaders: the list is outdated for the new ones.
  const { loaders } = session;
  return loaders.accountsScope.load({ ...ids, scope }).then((accounts) => {
    loaders.listedAccounts.add(placeOf(ids), accounts);
    return accounts;
  });
}

/** The entry with the account's id (the bank's own, if another bank's has it too), or the only entry, whatever its id. */
function accountIn(accounts: readonly Account[], ids: ViewIds, session: ReadContext['session']): Account {
  const { accountId } = ids;
  const [only] = accounts;
  if (only === undefined || accounts.length > 1) {
    const found = findListItem(accounts, accountId, getAccountsScope);
    if (isOfBank(found, ids)) return found;
    return accounts.find((other) => other.id === accountId && namesBank(other, ids)) ?? found;
  }
  const account = unwrap(only) as Account;
  noteOtherId(session, getAccountsScope, accountId, unwrap(account.id), accounts);
  return account;
}

/**
 * The one account of the bank with an id.
 * Errors: BANK_BAD_RESPONSE if there are several, or if it is another bank's.
 */
export async function readAccountForUpdate(ids: ViewIds, context: ReadContext): Promise<Account> {
  const list = await loadSingle(ids, context);
  const isForeign = foreignIn(list, ids);
  checkNotRepeated(list, ids.accountId, getAccountsScope, 'accounts', namesIn(list, ids));
  const record = accountIn(list, ids, context.session);
  if (!isForeign(record)) return record;
  throw new BankqlError(
    'BANK_BAD_RESPONSE',
    `The bank's ${getAccountsScope.id} answered with an account of another bank. Nothing was written.`,
    { operation: getAccountsScope.id },
  );
}

/**
 * Creates the entries of an account list. An only entry without an id has the path's. Another bank's account is an account there.
 * Errors: BANK_BAD_RESPONSE if the bank gave an invalid id: it could be any account. Fields that need the id of an entry
 * without one among several have the same error.
 */
function accountsIn(list: readonly Account[], ids: ViewIds, scope: Scope): ToNode<Account, AccountNode> {
  const { viewId } = ids;
  const isForeign = foreignIn(list, ids);
  const onlyId = list.length <= 1 ? ids.accountId : null;
  const from = { ids, scope, read: { list, nameOf: namesIn(list, ids) } };
  return (record) => {
    const accountId = unwrap(record.id) || onlyId;
    const bankId = isForeign(record) ? validateBankId('a bank', String(record.bank_id)) : ids.bankId;
    return { bankId, accountId, viewId, from, record };
  };
}

const AccountConnection = connectionTo(accountNode.object, 'accounts');

/** A field that lists accounts: the accounts that the bank lists in the path of one account. */
export const accountsField = <Parent extends object, Args extends InputFieldMap>(
  t: Fields<Parent>,
  {
    description,
    args,
    ids,
    scopeOf = () => 'permissions',
  }: {
    readonly description: string;
    readonly args?: Args;
    readonly ids: (parent: Parent, args: InputShapeFromFields<Args>, context: ReadContext) => ViewIds;
    readonly scopeOf?: (args: InputShapeFromFields<Args>) => Scope;
  },
) =>
  listField(t, AccountConnection, {
    description,
    args: args as Args,
    load: (parent, given, context) => loadAccounts(ids(parent, given, context), scopeOf(given), context),
    nodesIn: (list, parent, given, context) => accountsIn(list, ids(parent, given, context), scopeOf(given)),
  });

implementNode(accountNode, account, (t) => ({
  ...bankFields(t, 'account'),
  viewId: t.exposeID('viewId', idFromPath('The view through which the account is seen, from the path.')),
  accountId: t.id({
    ...idFromPath("The bank's id; the requested one if it answers none. REST `id`."),
    resolve: ofSource((node: AccountNode) => accountOf(node).accountId),
  }),
  version: t.string(versionField(account)),
  view: link(t, accountNode, {
    description: 'The same account through another of its views. REST: getAccountsScope.',
    args: { viewId: t.arg.id({ required: true, description: 'The other view, such as `public`.' }) },
    ids: (account, { viewId }) => ({ ...accountOf(account), viewId: restId('viewId', viewId) }),
  }),
  accounts: accountsField(t, {
    description: 'Accounts, as this one and the scope list them. REST: getAccountsScope.',
    args: {
      scope: t.arg({
        type: AccountScope,
        required: true,
        defaultValue: 'permissions',
        description: 'All accounts of the caller, or the views of this one.',
      }),
    },
    ids: accountOf,
    scopeOf: ({ scope }) => scope,
  }),
  owners: links(t, customerNode, {
    description:
      'The customers that `ownerIds` names; one that cannot be read is null with an error. REST: getCustomer for each distinct owner.',
    entries: (account) => recordOf(account).owners,
    ids: ({ bankId }, customerId) => ({ bankId, customerId: validateBankId('an owner', customerId) }),
    shows: recordField(account, 'owners'),
  }),
}));

const whichAccount = builder.args((t) => ({
  accountId: t.id({ required: true, description: "The account's id at the bank, as `accountId` shows it." }),
  viewId: t.id({ description: 'The view of the account; the configured one by default.' }),
}));

const viewOf = (
  { bankId }: BankIds,
  { accountId, viewId }: InputShapeFromFields<typeof whichAccount>,
  { defaults }: ReadContext,
): ViewIds => ({ bankId, accountId: restId('accountId', accountId), viewId: viewIdOr(defaults, viewId) });

builder.objectFields(BankObject, (t) => ({
  account: link(t, accountNode, {
    description: 'An account through one of its views. REST: getAccountsScope.',
    args: whichAccount,
    ids: viewOf,
  }),
  accounts: accountsField(t, {
    description: 'Accounts, as this one and the scope list them. REST: getAccountsScope.',
    args: {
      ...whichAccount,
      scope: t.arg({
        type: AccountScope,
        required: true,
        defaultValue: 'views',
        description: 'All accounts of the caller, or the views of this one.',
      }),
    },
    ids: viewOf,
    scopeOf: ({ scope }) => scope,
  }),
}));
