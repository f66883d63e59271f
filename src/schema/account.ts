import { validateBankId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { type Account, account, getAccountsScope } from '../contract/account.ts';
import { type Field, recordField } from '../contract/record.ts';
import { BankqlError } from '../errors.ts';
import type { Scope, ViewIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { implementNode } from './fields.ts';
import { notGlobalId, restId } from './global-id.ts';
import { knownTransactions } from './known-transactions.ts';
import { byOwnId, checkNotRepeated, findListItem, itemId } from './list-item.ts';
import {
  accountOf,
  defineNodeType,
  identifiedBy,
  type NodeRef,
  nodeFromIds,
  nodesFromRecord,
  noteOtherId,
  pathFields,
  recordOf,
} from './node.ts';
import { isCodeOf, otherAccounts } from './other-account.ts';
import { versionField, versionOf } from './record-version.ts';
import { connectionFromIds, connectionTo, pageArguments, type ToNode } from './relay-connection.ts';
import { transactionRequests } from './transaction-request.ts';

export const AccountScope = builder.enumType('AccountScope', {
  description: 'Selects the accounts of a list: the path segment `{scope}` of getAccountsScope.',
  values: {
    PERMISSIONS: {
      value: 'permissions',
      description: 'Accounts that the caller may use. REST `permissions`.',
    },
    VIEWS: { value: 'views', description: 'The account as its views show it. REST `views`.' },
  } as const satisfies Record<string, { value: Scope; description: string }>,
});

export type AccountNode = NodeRef<ViewIds, Account>;

/** Accounts by bank, account id and view. Read through getAccountsScope, with the configured scope. */
export const accountNode = defineNodeType({
  name: 'Account',
  ...identifiedBy('bankId', 'accountId', 'viewId'),
  read: readAccount,
});

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

/** The other ids that a single read of an account takes. An id cannot contain a line break. */
const placeOf = ({ bankId, viewId }: ViewIds) => `${bankId}\n${viewId}`;

/** A list may contain accounts of other banks; under the same id, this bank may have a different account. */
const isOfBank = (account: Account, ids: ViewIds): boolean =>
  typeof account.bank_id !== 'string' || account.bank_id === '' || namesBank(account, ids);

const namesBank = ({ bank_id }: Account, { bankId }: ViewIds): boolean => isCodeOf(bankId, bank_id);

/**
 * Tells which accounts of a list belong to other banks: those that name another bank. If no entry names this bank, its code in
 * records differs from that in paths, and none does.
 */
function foreignIn(list: readonly Account[], ids: ViewIds): (account: Account) => boolean {
  let isBankNamed: boolean | null = null;
  return (account) => {
    if (isOfBank(account, ids)) return false;
    isBankNamed ??= list.some((entry) => namesBank(entry, ids));
    return isBankNamed;
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
  const ownId = (entry: Account) => (isForeign(entry) ? null : itemId(entry));
  checkNotRepeated(list, ids.accountId, getAccountsScope, 'accounts', ownId);
  const record = accountIn(list, ids, context.session);
  if (!isForeign(record)) return record;
  throw new BankqlError(
    'BANK_BAD_RESPONSE',
    `The bank's ${getAccountsScope.id} answered with an account of another bank. Nothing was written.`,
    { operation: getAccountsScope.id },
  );
}

export const accountVersion = (record: Account) => versionOf(account, record);

/**
 * Creates the entries of an account list. Each is identified by its own id, or by the path's if it is the only entry and has none.
 * Another bank's account is an account there.
 * Errors: BANK_BAD_RESPONSE if the bank gave an invalid id: it could be any account. An entry without an id among
 * several could be any account too, and the same error is that of every field that needs its id.
 */
function accountsIn(list: readonly Account[], ids: ViewIds): ToNode<Account, AccountNode> {
  const { accountId, viewId } = ids;
  const isForeign = foreignIn(list, ids);
  const bankOf = (record: Account): string =>
    isForeign(record) ? validateBankId('a bank', String(record.bank_id)) : ids.bankId;
  return (record) => {
    const id = unwrap(record.id);
    const bankId = bankOf(record);
    if (id || list.length <= 1) return { bankId, accountId: id || accountId, viewId, record };
    return {
      bankId,
      get accountId(): string {
        throw new BankqlError(
          'BANK_BAD_RESPONSE',
          'The bank listed this account without an id among others: nothing tells which one it is.',
          { operation: getAccountsScope.id },
        );
      },
      viewId,
      record,
    };
  };
}

const AccountConnection = connectionTo(accountNode.object, 'accounts', 'An account');

/** A list of accounts: those that the bank lists for this one, through which they are read. */
export const accountsFrom = <Parent, Args extends object = object>(
  idsOf: (parent: Parent, args: Args, context: ReadContext) => ViewIds,
  scopeOf: (args: Args) => Scope = () => 'permissions',
) =>
  connectionFromIds(
    AccountConnection,
    (parent: Parent, args: Args, context) =>
      loadAccounts(idsOf(parent, args, context), scopeOf(args), context),
    (list, parent, args, context) => accountsIn(list, idsOf(parent, args, context)),
  );

implementNode(accountNode, account, (t) => ({
  ...pathFields(t, 'account', {
    accountId: "The account's id at the bank, or the requested id if the bank's answer has none. REST `id`.",
    viewId: 'The view through which the account is seen, from the path.',
  }),
  version: t.string(versionField(accountVersion)),
  view: t.field({
    description: 'The same account through another of its views. REST: getAccountsScope.',
    args: { viewId: t.arg.id({ required: true, description: 'The other view, such as `public`.' }) },
    ...nodeFromIds('Account', ({ bankId, accountId }: AccountNode, { viewId }: { viewId: string }) => ({
      bankId,
      accountId,
      viewId: restId('viewId', viewId),
    })),
  }),
  accounts: t.field({
    description:
      'The list that getAccountsScope returns for this account, its view and the scope. REST: getAccountsScope.',
    args: {
      ...pageArguments,
      scope: t.arg({
        type: AccountScope,
        required: true,
        defaultValue: 'permissions',
        description: 'Accounts that the caller has permissions for, or the views of this one.',
      }),
    },
    ...accountsFrom(accountOf, ({ scope }: { readonly scope: Scope }) => scope),
  }),
  owners: t.field({
    description:
      'The customers that `ownerIds` names. Null if the bank leaves it out; an entry is null with an error if it cannot be read. REST: one getCustomer for each distinct owner.',
    ...nodesFromRecord(
      'Customer',
      (account: AccountNode) => recordOf(account).owners,
      ({ bankId }, customerId) => ({ bankId, customerId: validateBankId('an owner', customerId) }),
      recordField(account, 'owners'),
    ),
  }),
  otherAccounts: t.field(otherAccounts),
  otherAccount: t.field({
    description: 'One counterparty, found in getOtherAccounts. REST: getOtherAccounts.',
    args: {
      otherAccountId: t.arg.id({ required: true, description: "The counterparty's id in the list." }),
    },
    ...nodeFromIds(
      'OtherAccount',
      (account: AccountNode, { otherAccountId }: { otherAccountId: string }) => ({
        ...accountOf(account),
        otherAccountId: notGlobalId('otherAccountId', otherAccountId),
        ...byOwnId,
      }),
    ),
  }),
  transaction: t.field({
    description: 'One transaction of the account. REST: getTransaction.',
    args: { transactionId: t.arg.id({ required: true, description: "The transaction's id at the bank." }) },
    ...nodeFromIds('Transaction', (account: AccountNode, { transactionId }: { transactionId: string }) => ({
      ...accountOf(account),
      transactionId: restId('transactionId', transactionId),
    })),
  }),
  transactionRequests: t.field(transactionRequests),
  knownTransactions: t.field(knownTransactions),
}));
