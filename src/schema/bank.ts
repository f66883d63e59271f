import type { InputShapeFromFields } from '@pothos/core';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { AccountScope, accountsFrom } from './account.ts';
import { branches } from './branch.ts';
import { builder } from './builder.ts';
import { bankIdOr, type ReadContext, viewIdOr } from './context.ts';
import { notGlobalId, restId } from './global-id.ts';
import { messagesFrom } from './message.ts';
import { defineNodeType, identifiedBy, idFromPath, NodeInterface, nodeFromIds } from './node.ts';
import { products } from './product.ts';
import { pageArguments } from './relay-connection.ts';

/** Banks by their code. A bank has no record to read. */
const bankNode = defineNodeType({
  name: 'Bank',
  ...identifiedBy('bankId'),
  read: async () => ({}),
});

const BankObject = bankNode.object;

const whichAccount = builder.args((t) => ({
  accountId: t.id({ required: true, description: "The account's id at the bank, as `accountId` shows it." }),
  viewId: t.id({
    description: 'The view through which the account is read; the configured one if it is left out.',
  }),
}));

type AccountArguments = InputShapeFromFields<typeof whichAccount>;

const viewOf = (
  { bankId }: BankIds,
  { accountId, viewId }: AccountArguments,
  { defaults }: ReadContext,
): ViewIds => ({
  bankId,
  accountId: restId('accountId', accountId),
  viewId: viewIdOr(defaults, viewId),
});

BankObject.implement({
  description: 'A bank, by its Swift bank code. Costs no REST call. All data of a bank is read through it.',
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id(bankNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's Swift code (BIC). Costs no REST call.")),
    customer: t.field({
      description:
        'A customer by id: the caller, or somebody who owns an account with them. An unknown id is an error, not null. REST: getCustomer.',
      args: { customerId: t.arg.id({ required: true, description: "The customer's id at the bank." }) },
      ...nodeFromIds('Customer', ({ bankId }: BankIds, { customerId }: { customerId: string }) => ({
        bankId,
        customerId: restId('customerId', customerId),
      })),
    }),
    account: t.field({
      description:
        'The account as seen through a view; the configured default view if you name none. REST: getAccountsScope.',
      args: whichAccount,
      ...nodeFromIds('Account', viewOf),
    }),
    accounts: t.field({
      description:
        'The list that getAccountsScope returns for this account, view and scope. REST: getAccountsScope.',
      args: {
        ...pageArguments,
        ...whichAccount,
        scope: t.arg({
          type: AccountScope,
          required: true,
          defaultValue: 'views',
          description: 'Accounts that the caller has permissions for, or the views of the account.',
        }),
      },
      ...accountsFrom(viewOf, ({ scope }: AccountArguments & { readonly scope: Scope }) => scope),
    }),
    branches: t.field(branches),
    branch: t.field({
      description: 'One branch, found in getBranches. REST: getBranches.',
      args: { branchId: t.arg.id({ required: true, description: "The branch's id in the list." }) },
      ...nodeFromIds('Branch', ({ bankId }: BankIds, { branchId }: { branchId: string }) => ({
        bankId,
        branchId: notGlobalId('branchId', branchId),
      })),
    }),
    product: t.field({
      description: 'A product by id; an unknown id is an error, not null. REST: getProduct.',
      args: { productId: t.arg.id({ required: true, description: "The product's id at the bank." }) },
      ...nodeFromIds('Product', ({ bankId }: BankIds, { productId }: { productId: string }) => ({
        bankId,
        productId: restId('productId', productId),
      })),
    }),
    products: t.field(products),
    messages: t.field({
      description: 'Messages of the calling customer. REST: getMessagesOwner.',
      args: pageArguments,
      ...messagesFrom((bank: BankIds) => bank),
    }),
  }),
});

builder.queryField('bank', (t) =>
  t.field({
    description:
      'A bank by its Swift bank code; the configured bank if none is given. Costs no REST call: bankql does not ask whether there is such a bank, and what is read of another is NOT_FOUND.',
    args: { bankId: t.arg.id({ description: "The bank's code; the configured one if it is left out." }) },
    ...nodeFromIds(
      'Bank',
      (_root: object, { bankId }: { bankId?: string | null | undefined }, { defaults }) => ({
        bankId: bankIdOr(defaults, bankId),
      }),
    ),
  }),
);
