import { z } from 'zod';
import { account, getAccountsScope } from '../contract/account.ts';
import { accountsIn, onlyAccount, scope } from './account-list.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import { Customer } from './customer.ts';

const view = { name: 'viewId', schema: z.string() } as const;

/**
 * Accounts by bank, account id and view. No operation reads a single account: the account is found in the list that its path
 * returns.
 * Fields: contract/account.ts.
 */
export const Account = builder.bankRef(account, {
  key: [Bank, 'accountId', view],
  list: {
    operation: getAccountsScope,
    key: [Bank, 'accountId', view, { name: 'scope', schema: scope }],
    // A single account is read from the list with the configured scope.
    load: (ids, { session, defaults }) =>
      session.loaders.accountsScope.load({ ...ids, scope: ids.scope ?? defaults.accountScope ?? 'views' }),
    idsIn: accountsIn,
    find: onlyAccount,
  },
});

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
    views: t.bankList(Account, {
      description: 'The account through each of the views that the bank lists for it.',
      ids: () => ({ scope: 'views' as const }),
      isPlain: true,
    }),
    owners: t.links(Customer, {
      description: 'The customers that `ownerIds` names.',
      entries: ({ record }) => record.owners,
    }),
  }),
});

const whichAccount = builder.args((t) => ({
  accountId: t.id({ required: true, description: "The account's id at the bank, as `accountId` shows it." }),
  viewId: t.id({ description: 'The view of the account; the configured one by default.' }),
}));

builder.objectFields(Bank, (t) => ({
  account: t.link(Account, {
    description: 'An account through one of its views.',
    args: whichAccount,
  }),
  accounts: t.bankList(Account, {
    description: 'The accounts that the caller may use, as this one lists them.',
    args: whichAccount,
    ids: () => ({ scope: 'permissions' as const }),
  }),
}));
