import type { FieldMap, InputShapeFromFields } from '@pothos/core';
import { ofSource } from '../executor/selection.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { AccountScope, accountNode, accountsFrom } from './account.ts';
import { branches, branchNode } from './branch.ts';
import { builder, type ObjectFields } from './builder.ts';
import { bankIdOr, type ReadContext, viewIdOr } from './context.ts';
import { customerNode } from './customer.ts';
import { notGlobalId, restId } from './global-id.ts';
import { messagesFrom } from './message.ts';
import { defineNodeType, identifiedBy, idFromPath, NodeInterface, nodeFromIds } from './node.ts';
import { productNode, products } from './product.ts';
import { pageArguments } from './relay-connection.ts';

/** Banks by their code. A bank has no record to read. */
export const bankNode = defineNodeType({
  name: 'Bank',
  ...identifiedBy('bankId'),
  read: async () => ({}),
});

const BankObject = bankNode.object;

const whichAccount = builder.args((t) => ({
  accountId: t.id({ required: true, description: "The account's id at the bank, as `accountId` shows it." }),
  viewId: t.id({
    description: 'The view of the account; the configured one by default.',
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
      ...nodeFromIds(customerNode, ({ bankId }: BankIds, { customerId }: { customerId: string }) => ({
        bankId,
        customerId: restId('customerId', customerId),
      })),
    }),
    account: t.field({
      description:
        'The account as seen through a view; the configured default view if you name none. REST: getAccountsScope.',
      args: whichAccount,
      ...nodeFromIds(accountNode, viewOf),
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
      ...nodeFromIds(branchNode, ({ bankId }: BankIds, { branchId }: { branchId: string }) => ({
        bankId,
        branchId: notGlobalId('branchId', branchId),
      })),
    }),
    product: t.field({
      description: 'A product by id; an unknown id is an error, not null. REST: getProduct.',
      args: { productId: t.arg.id({ required: true, description: "The product's id at the bank." }) },
      ...nodeFromIds(productNode, ({ bankId }: BankIds, { productId }: { productId: string }) => ({
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
      bankNode,
      (_root: object, { bankId }: { bankId?: string | null | undefined }, { defaults }) => ({
        bankId: bankIdOr(defaults, bankId),
      }),
    ),
  }),
);

/** The fields of a record that the path of its request answers: its bank, and the ids that have a description. */
export const pathFields = <Parent extends BankIds>(
  t: ObjectFields<Parent>,
  noun: string,
  ids: { readonly [Id in Exclude<keyof Parent, 'bankId'>]?: string } = {},
): FieldMap => ({
  bankId: t.id({
    ...idFromPath('The code of the bank through which it is read. Costs no REST call.'),
    resolve: ofSource(({ bankId }: BankIds) => bankId),
  }),
  bank: t.field({
    description: `The bank through which the ${noun} is read. Costs no REST call.`,
    ...nodeFromIds(bankNode, ({ bankId }: BankIds) => ({ bankId })),
    nullable: false,
  }),
  ...Object.fromEntries(
    Object.entries<string | undefined>(ids).map(([id, description = '']) => [
      id,
      t.id({
        ...idFromPath(description),
        resolve: ofSource((parent: Parent) => String(Reflect.get(parent, id))),
      }),
    ]),
  ),
});
