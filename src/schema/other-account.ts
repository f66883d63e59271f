import { getOtherAccounts, otherAccount } from '../contract/other-account.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import {
  counterpartySearch,
  findOtherAccount,
  linkedAccountOf,
  loadOtherAccounts,
  payeeOf,
} from './counterparties.ts';
import { Payee } from './payee.ts';
import { calls } from './rest-extensions.ts';

/**
 * Counterparties by account, view and id. No operation reads a single counterparty: it is looked up in the
 * list. Fields: contract/other-account.ts.
 */
export const OtherAccount = builder.bankRef(otherAccount, {
  key: [Account, 'otherAccountId'],
  noun: 'counterparty',
  plural: 'counterparties',
  list: { operation: getOtherAccounts, find: findOtherAccount },
});

builder.bankNode(OtherAccount, {
  through: 'whose counterparty it is',
  omit: ['version'],
  fields: (t) => ({
    linkedAccount: t.link(Account, {
      description: "The counterparty's account; null if it is at another bank.",
      args: {
        viewId: t.arg.id({
          description: "The view through which it is read; the counterparty's by default.",
        }),
      },
      fromRecord: true,
      ids: linkedAccountOf,
    }),
    payee: t.field({
      type: Payee,
      description:
        "The value for `to` of a payment; null if the bank does not identify the counterparty's account.",
      extensions: calls(getOtherAccounts),
      resolve: (other, _args, { bankql }) => payeeOf(other, bankql),
    }),
  }),
});

builder.objectFields(Account, (t) => ({
  otherAccount: t.link(OtherAccount, {
    description: 'One counterparty of the account.',
    args: {
      otherAccountId: t.arg.id({ required: true, description: "The counterparty's id in the list." }),
    },
  }),
  otherAccounts: t.bankList(OtherAccount, {
    description: 'Counterparties of the account.',
    args: counterpartySearch,
    load: loadOtherAccounts,
  }),
}));
