import type { FieldMap, InputShapeFromFields } from '@pothos/core';
import { ofSource } from '../executor/selection.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { AccountScope, accountNode, accountsFrom } from './account.ts';
import { branches, branchNode } from './branch.ts';
import { builder, type ObjectFields } from './builder.ts';
import { bankIdOr, type ReadContext, viewIdOr } from './context.ts';
import { customerNode } from './customer.ts';
import { notGlobalId, restId } from './global-id.ts';
import { link } from './link.ts';
import { messagesFrom } from './message.ts';
import { defineNodeType, identifiedBy, idFromPath, NodeInterface } from './node.ts';
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
    customer: link(t, customerNode, {
      description:
        'A customer by id: the caller, or somebody who owns an account with them. An unknown id is an error, not null. REST: getCustomer.',
      args: { customerId: t.arg.id({ required: true, description: "The customer's id at the bank." }) },
      ids: ({ bankId }, { customerId }) => ({ bankId, customerId: restId('customerId', customerId) }),
    }),
    account: link(t, accountNode, {
      description:
        'The account as seen through a view; the configured default view if you name none. REST: getAccountsScope.',
      args: whichAccount,
      ids: viewOf,
    }),
    accounts: t.field({
      description: 'Accounts, as this one and the scope list them. REST: getAccountsScope.',
      args: {
        ...pageArguments,
        ...whichAccount,
        scope: t.arg({
          type: AccountScope,
          required: true,
          defaultValue: 'views',
          description: 'All accounts that the caller may see, or the views of this one.',
        }),
      },
      ...accountsFrom(viewOf, ({ scope }: AccountArguments & { readonly scope: Scope }) => scope),
    }),
    branches: t.field(branches),
    branch: link(t, branchNode, {
      description: 'One branch, found in getBranches. REST: getBranches.',
      args: { branchId: t.arg.id({ required: true, description: "The branch's id in the list." }) },
      ids: ({ bankId }, { branchId }) => ({ bankId, branchId: notGlobalId('branchId', branchId) }),
    }),
    product: link(t, productNode, {
      description: 'A product by id. REST: getProduct.',
      args: { productId: t.arg.id({ required: true, description: "The product's id at the bank." }) },
      ids: ({ bankId }, { productId }) => ({ bankId, productId: restId('productId', productId) }),
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
  link(t, bankNode, {
    description:
      'A bank by its Swift bank code; the configured bank if none is given. Costs no REST call: bankql does not ask whether there is such a bank, and what is read of another is NOT_FOUND.',
    args: { bankId: t.arg.id({ description: "The bank's code; the configured one if it is left out." }) },
    ids: (_root, { bankId }, { defaults }) => ({ bankId: bankIdOr(defaults, bankId) }),
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
  bank: link(t, bankNode, {
    description: `The bank through which the ${noun} is read. Costs no REST call.`,
    isNonNull: true,
    ids: ({ bankId }) => ({ bankId }),
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
