import type { InputShapeFromFields } from '@pothos/core';
import { unwrap } from '../bank/answer.ts';
import { validateBankId, validateId, withoutHeadOffice } from '../bank/ids.ts';
import { type Account as AccountRecord, account, getAccountsScope } from '../contract/account.ts';
import { type Field, recordField } from '../contract/record.ts';
import { BankqlError } from '../errors.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import { type ReadContext, viewIdOr } from './context.ts';
import { Customer } from './customer.ts';
import { restId, textOf } from './plugin/global-id.ts';
import {
  checkNotRepeated,
  contentHashOf,
  findByContent,
  findListItem,
  isContentHash,
  isRepeatedIn,
  itemId,
} from './plugin/list-item.ts';
import { type Linked, noteOtherId } from './plugin/node.ts';

export const AccountScope = builder.enumType('AccountScope', {
  description: 'Which accounts: the segment `{scope}` of getAccountsScope.',
  values: {
    PERMISSIONS: {
      value: 'permissions',
      description: 'Accounts that the caller may use.',
    },
    VIEWS: { value: 'views', description: 'The account as its views show it.' },
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
interface ListIds extends ViewIds {
  readonly scope: Scope;
}

interface AccountList {
  readonly ids: ListIds;
  /** The list itself and the names of its accounts, if it has been read. */
  readonly read?: {
    readonly list: readonly AccountRecord[];
    readonly nameOf: (account: AccountRecord) => string | null;
  };
}

export interface AccountTypes {
  Ids: AccountEntry;
  Path: ViewIds;
  ListIds: ListIds;
  Item: AccountRecord;
}

type AccountNode = Linked<AccountEntry, AccountRecord>;

const keyOf = ({ bankId, accountId, viewId }: ViewIds) => [bankId, accountId, viewId];

/**
 * Accounts by bank, account id and view. Read through getAccountsScope, with the configured scope. In a list, the content of an
 * account without an id, or with a repeated one, identifies it.
 */
export const Account = builder.bankRef<AccountTypes>(account, {
  key: [Bank, 'accountId', 'viewId'],
  pathOf: accountOf,
  read: { load: readAccount, forUpdate: readForUpdate },
  list: { operation: getAccountsScope, load: loadAccounts, nodesIn: accountsIn },
  identity: {
    toKey(node) {
      const { from, record } = node;
      const contentHash =
        node.contentHash ?? (record && from?.read && sharedContent(node, record, from.read));
      return from && contentHash ? [...keyOf(from.ids), from.ids.scope, contentHash] : keyOf(accountOf(node));
    },
    toIds(key) {
      const [bankId, accountId, viewId] = ['bankId', 'accountId', 'viewId'].map((name, at) =>
        validateId(name, textOf(key[at])),
      ) as [string, string, string];
      const ids = { bankId, accountId, viewId };
      const [scope, contentHash] = key.slice(3);
      const isByContent = isContentHash(contentHash) && (scope === 'permissions' || scope === 'views');
      return isByContent ? { ...ids, accountId: null, from: { ids: { ...ids, scope } }, contentHash } : ids;
    },
    readByContent,
  },
});

/** The hash of an account's content, if the bank's list does not identify it by an id of its own; else undefined. */
function sharedContent(
  { accountId }: AccountNode,
  record: AccountRecord,
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
  const list = await loadAccounts(from.ids, context);
  const record = await findByContent(list, contentHash, account, getAccountsScope, context);
  return { ...accountsIn(list, from.ids)(record), contentHash };
}

function readAccount(
  ids: ViewIds,
  context: ReadContext,
  needed: readonly Field[] | null = null,
): Promise<AccountRecord> {
  const { session } = context;
  const listed = session.loaders.listedAccounts.find(placeOf(ids), ids.accountId, needed);
  if (listed !== null && isOfBank(listed, ids)) return Promise.resolve(listed);
  return loadSingle(ids, context).then((accounts) => accountIn(accounts, ids, session));
}

/** The list that a single account is read from. */
const loadSingle = (ids: ViewIds, { session, defaults }: ReadContext): Promise<AccountRecord[]> =>
  session.loaders.accountsScope.load({ ...ids, scope: defaults.accountScope ?? 'views' });

/** Joins the other ids of a single read. An id cannot contain a line break. */
const placeOf = ({ bankId, viewId }: ViewIds) => `${bankId}\n${viewId}`;

/** Whether a code in a record is that of a bank. */
export const isCodeOf = (bankId: string, code: unknown): boolean =>
  typeof code === 'string' && withoutHeadOffice(code) === withoutHeadOffice(bankId);

/** A list may contain accounts of other banks; under the same id, this bank may have a different account. */
const isOfBank = (account: AccountRecord, ids: ViewIds): boolean =>
  typeof account.bank_id !== 'string' || account.bank_id === '' || namesBank(account, ids);

const namesBank = ({ bank_id }: AccountRecord, { bankId }: ViewIds): boolean => isCodeOf(bankId, bank_id);

/**
 * Finds the accounts of a list that belong to other banks: those with another bank's code. If no entry has this bank's code,
 * its code in records differs from the one in paths, and no account is foreign.
 */
function foreignIn(list: readonly AccountRecord[], ids: ViewIds): (account: AccountRecord) => boolean {
  let isBankNamed: boolean | null = null;
  return (account) => {
    if (isOfBank(account, ids)) return false;
    isBankNamed ??= list.some((entry) => namesBank(entry, ids));
    return isBankNamed;
  };
}

/** The names of accounts in a list: their ids, with their bank if that is another one. An id cannot contain a line break. */
function namesIn(list: readonly AccountRecord[], ids: ViewIds): (account: AccountRecord) => string | null {
  const isForeign = foreignIn(list, ids);
  return (account) => {
    const id = itemId(account);
    return id !== null && isForeign(account) ? `${account.bank_id}\n${id}` : id;
  };
}

/** A list of accounts. Entries are not read again during the operation for fields in which they have a value. */
function loadAccounts(ids: ListIds, { session }: ReadContext): Promise<AccountRecord[]> {
  // A write in the meantime replaces the loaders: the list is outdated for the new ones.
  const { loaders } = session;
  return loaders.accountsScope.load(ids).then((accounts) => {
    loaders.listedAccounts.add(placeOf(ids), accounts);
    return accounts;
  });
}

/** The entry with the account's id (the bank's own, if another bank's has it too), or the only entry, whatever its id. */
function accountIn(
  accounts: readonly AccountRecord[],
  ids: ViewIds,
  session: ReadContext['session'],
): AccountRecord {
  const { accountId } = ids;
  const [only] = accounts;
  if (only === undefined || accounts.length > 1) {
    const found = findListItem(accounts, accountId, getAccountsScope);
    if (isOfBank(found, ids)) return found;
    return accounts.find((other) => other.id === accountId && namesBank(other, ids)) ?? found;
  }
  const account = unwrap(only) as AccountRecord;
  noteOtherId(session, getAccountsScope, accountId, unwrap(account.id), accounts);
  return account;
}

/**
 * The one account of the bank with an id.
 * Errors: BANK_BAD_RESPONSE if there are several, or if it is another bank's.
 */
async function readForUpdate(ids: ViewIds, context: ReadContext): Promise<AccountRecord> {
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
function accountsIn(list: readonly AccountRecord[], ids: ListIds): (record: AccountRecord) => AccountNode {
  const { viewId } = ids;
  const isForeign = foreignIn(list, ids);
  const onlyId = list.length <= 1 ? ids.accountId : null;
  const from = { ids, read: { list, nameOf: namesIn(list, ids) } };
  return (record) => {
    const accountId = unwrap(record.id) || onlyId;
    const bankId = isForeign(record) ? validateBankId('a bank', String(record.bank_id)) : ids.bankId;
    return { bankId, accountId, viewId, from, record };
  };
}

builder.bankNode(Account, {
  fields: (t) => ({
    viewId: t.exposeID('viewId', {
      nullable: false,
      description: 'The view through which the account is seen, from the path.',
    }),
    accountId: t.id({
      description:
        "The bank's id; the requested one if it answers none. Null for an account that the bank lists without an id among others.",
      fromIds: true,
      resolve: ({ accountId }) => accountId,
    }),
    view: t.link(Account, {
      description: 'The same account through another of its views.',
      args: { viewId: t.arg.id({ required: true, description: 'The other view, such as `public`.' }) },
      ids: (account, { viewId }) => ({ ...accountOf(account), viewId: restId('viewId', viewId) }),
    }),
    accounts: t.bankList(Account, {
      description: 'Accounts, as this one and the scope list them.',
      args: {
        scope: t.arg({
          type: AccountScope,
          required: true,
          defaultValue: 'permissions',
          description: 'All accounts of the caller, or the views of this one.',
        }),
      },
      ids: (account, { scope }) => ({ ...accountOf(account), scope }),
    }),
    owners: t.links(Customer, {
      description: 'The customers that `ownerIds` names; one that cannot be read is null with an error.',
      entries: ({ record }) => record.owners,
      ids: ({ bankId }, customerId) => ({ bankId, customerId: validateBankId('an owner', customerId) }),
      shows: recordField(account, 'owners'),
    }),
  }),
});

const whichAccount = builder.args((t) => ({
  accountId: t.id({ required: true, description: "The account's id at the bank, as `accountId` shows it." }),
  viewId: t.id({ description: 'The view of the account; the configured one by default.' }),
}));

const viewOf = (
  { bankId }: BankIds,
  { accountId, viewId }: InputShapeFromFields<typeof whichAccount>,
  { defaults }: ReadContext,
): ViewIds => ({ bankId, accountId: restId('accountId', accountId), viewId: viewIdOr(defaults, viewId) });

builder.objectFields(Bank, (t) => ({
  account: t.link(Account, {
    description: 'An account through one of its views.',
    args: whichAccount,
    ids: viewOf,
  }),
  accounts: t.bankList(Account, {
    description: 'Accounts, as this one and the scope list them.',
    args: {
      ...whichAccount,
      scope: t.arg({
        type: AccountScope,
        required: true,
        defaultValue: 'views',
        description: 'All accounts of the caller, or the views of this one.',
      }),
    },
    ids: (bank, args, context) => ({ ...viewOf(bank, args, context), scope: args.scope }),
  }),
}));
