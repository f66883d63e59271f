import type { InputShapeFromFields } from '@pothos/core';
import { unwrap } from '../bank/answer.ts';
import { validateBankId, withoutHeadOffice } from '../bank/ids.ts';
import { type Account as AccountRecord, account, getAccountsScope } from '../contract/account.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import { type ReadContext, viewIdOr } from './context.ts';
import { Customer } from './customer.ts';
import { forged } from './plugin/global-id.ts';
import { checkPage, Page } from './plugin/list.ts';
import type { Listed } from './plugin/list-item.ts';

/** The ids of a list of getAccountsScope. Without a scope, it is the list from which a single account is read. */
interface ListIds extends ViewIds {
  readonly scope?: Scope;
}

interface AccountIds extends Listed<ListIds, AccountRecord> {
  readonly bankId: string;
  /** Null for an account that the bank listed without an id among others. */
  readonly accountId: string | null;
  readonly viewId: string;
}

export interface AccountTypes {
  Ids: AccountIds;
  Path: ViewIds;
  ListIds: ListIds;
  Item: AccountRecord;
}

/** Accounts by bank, account id and view. No operation reads a single one: it is found in the list that its path answers. */
export const Account = builder.bankRef<AccountTypes>(account, {
  key: [Bank, 'accountId', 'viewId'],
  list: {
    operation: getAccountsScope,
    key: [Bank, 'accountId', 'viewId', { name: 'scope', check: scopeIn }],
    load: ({ scope, ...ids }, { session, defaults }) =>
      session.loaders.accountsScope.load({ ...ids, scope: scope ?? defaults.accountScope ?? 'views' }),
    idsIn: accountsIn,
    find: onlyAccount,
  },
});

function scopeIn(part: unknown): Scope {
  if (part !== 'permissions' && part !== 'views') throw forged();
  return part;
}

/** Whether a code in a record is the code of a bank. */
export const isCodeOf = (bankId: string, code: unknown): boolean =>
  typeof code === 'string' && withoutHeadOffice(code) === withoutHeadOffice(bankId);

/**
 * The ids of the accounts in a list. An only entry without an id has the path's. An account with another bank's code is an account
 * there, unless no entry has this bank's: its code in records then differs from the one in paths.
 * Errors: BANK_BAD_RESPONSE if the bank gave an invalid id: it could be any account. Fields that need the id of an entry
 * without one among several have the same error.
 */
function accountsIn(list: readonly AccountRecord[], { bankId, accountId, viewId }: ListIds) {
  const namesBank = ({ bank_id }: AccountRecord) => isCodeOf(bankId, bank_id);
  const isNamed = list.some(namesBank);
  const onlyId = list.length <= 1 ? accountId : null;
  return (record: AccountRecord): AccountIds => {
    const { bank_id } = record;
    const isForeign = isNamed && typeof bank_id === 'string' && bank_id !== '' && !namesBank(record);
    return {
      bankId: isForeign ? validateBankId('a bank', bank_id) : bankId,
      accountId: unwrap(record.id) || onlyId,
      viewId,
    };
  };
}

/** The account of a list with one entry, whatever its id; null if there are several entries. */
function onlyAccount(accounts: readonly AccountRecord[]): AccountRecord | null {
  const [only] = accounts;
  if (only === undefined || accounts.length > 1) return null;
  unwrap(unwrap(only).id);
  return only;
}

builder.bankNode(Account, {
  fields: (t) => ({
    viewId: t.exposeID('viewId', {
      nullable: false,
      description: 'The view through which the account is seen, from the path.',
    }),
    accountId: t.exposeID('accountId', {
      description: "The bank's id; null if the bank lists the account without one.",
    }),
    view: t.link(Account, {
      description: 'The same account through another of its views.',
      args: { viewId: t.arg.id({ required: true, description: 'The other view, such as `public`.' }) },
    }),
    views: t.field({
      type: [Account],
      nullable: { list: true, items: true },
      description: 'The account as its views show it, which the bank lists.',
      fromIds: true,
      async resolve(ids, _args, { bankql }) {
        const list = { ...Account.pathOf(ids), scope: 'views' as const };
        const accounts = await bankql.session.loaders.accountsScope.load(list);
        return new Page(accounts, checkPage({}), Account.nodesIn(accounts, list), bankql).nodes;
      },
    }),
    owners: t.links(Customer, {
      description: 'The customers that `ownerIds` names.',
      entries: ({ record }) => record.owners,
      ids: ({ bankId }, customerId) => ({ bankId, customerId: validateBankId('an owner', customerId) }),
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
): ViewIds => ({ bankId, accountId, viewId: viewIdOr(defaults, viewId) });

builder.objectFields(Bank, (t) => ({
  account: t.link(Account, {
    description: 'An account through one of its views.',
    args: whichAccount,
    ids: viewOf,
  }),
  accounts: t.bankList(Account, {
    description: 'The accounts that the caller may use, as this one lists them.',
    args: whichAccount,
    ids: (bank, args, context) => ({ ...viewOf(bank, args, context), scope: 'permissions' as const }),
  }),
}));
