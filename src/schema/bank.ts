import { z } from 'zod';
import { checkId } from '../bank/path.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { AccountConnection, AccountRef, accountEntry, accountLink } from './account.ts';
import {
  BranchConnection,
  BranchFilter,
  type BranchNode,
  BranchRef,
  branchLink,
  loadBranches,
} from './branch.ts';
import { builder } from './builder.ts';
import { connectionFromIds } from './connection.ts';
import { type Asking, bankIdOr, viewIdOr } from './context.ts';
import { CustomerRef, customerLink } from './customer.ts';
import { createLink, fromPath, linkFromIds } from './link.ts';
import { idOf } from './list-entry.ts';
import { MessageConnection, MessageRef } from './message.ts';
import { ProductConnection, ProductFilter, type ProductNode, ProductRef, productLink } from './product.ts';
import { optionally, present } from './values.ts';

/** Banks by their code. There is nothing to read of one. */
export const bankLink = createLink({
  name: 'Bank',
  key: z.tuple([z.string()]),
  toKey: ({ bankId }: BankIds) => [bankId] as const,
  toIds: ([bankId]): BankIds => ({ bankId: checkId('bankId', bankId) }),
  read: async () => ({}),
});

const AccountScope = builder.enumType('AccountScope', {
  description: "The path's {scope} of getAccountsScope.",
  values: {
    PERMISSIONS: { value: 'permissions', description: 'REST `permissions`.' },
    VIEWS: { value: 'views', description: 'REST `views`.' },
  } as const satisfies Record<string, { value: Scope; description: string }>,
});

type Optional<T> = T | null | undefined;
interface AccountArguments {
  readonly accountId: string;
  readonly viewId?: Optional<string>;
}
interface Filter {
  readonly id: string;
  readonly name?: Optional<string>;
}

const viewOf = (
  { bankId }: BankIds,
  { accountId, viewId }: AccountArguments,
  { defaults }: Asking,
): ViewIds => ({
  bankId,
  accountId: checkId('accountId', accountId),
  viewId: viewIdOr(defaults, viewId),
});

const queryOf = ({ id, name }: Filter) => present({ id, name });

export const BankRef = builder.objectRef<BankIds>('Bank');
BankRef.implement({
  description: 'A bank, by its Swift bank code. Costs no REST call; all that is read of a bank hangs on it.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(bankLink.idField),
    bankId: t.exposeID('bankId', fromPath("The bank's code.")),
    customer: t.field({
      type: CustomerRef,
      nullable: true,
      description: 'One customer. REST: getCustomer.',
      args: { customerId: t.arg.id({ required: true, description: "The path's customer." }) },
      ...linkFromIds(
        () => customerLink,
        ({ bankId }: BankIds, { customerId }: { customerId: string }) => ({
          bankId,
          customerId: checkId('customerId', customerId),
        }),
      ),
    }),
    account: t.field({
      type: AccountRef,
      nullable: true,
      description:
        'The account as seen through a view; the configured default view where none is given. REST: getAccountsScope.',
      args: {
        accountId: t.arg.id({ required: true, description: "The path's account." }),
        viewId: t.arg.id({ description: "The path's view; the configured default view where left out." }),
      },
      ...linkFromIds(() => accountLink, viewOf),
    }),
    accounts: t.connection(
      {
        type: AccountRef,
        nullable: true,
        description:
          'All that getAccountsScope answers for this account, view and scope. REST: getAccountsScope.',
        args: {
          accountId: t.arg.id({ required: true, description: "The path's account." }),
          viewId: t.arg.id({ description: "The path's view; the configured default view where left out." }),
          scope: t.arg({
            type: AccountScope,
            required: true,
            defaultValue: 'views',
            description: "The path's scope.",
          }),
        },
        ...connectionFromIds(
          (bank: BankIds, args: AccountArguments & { readonly scope: Scope }, context) =>
            context.reader.loaders.accountsScope.load({ ...viewOf(bank, args, context), scope: args.scope }),
          (bank, record, _index, args, context) => accountEntry(viewOf(bank, args, context), record),
        ),
      },
      AccountConnection,
    ),
    branches: t.connection(
      {
        type: BranchRef,
        nullable: true,
        description: 'Branches of the bank. REST: getBranches; with a filter, postBranches.',
        args: { filter: t.arg({ type: BranchFilter, description: 'The query body of postBranches.' }) },
        ...connectionFromIds(
          ({ bankId }: BankIds, { filter }: { readonly filter?: Optional<Filter> }, { reader }) =>
            loadBranches({ bankId, query: optionally(filter, queryOf) ?? null }, reader),
          ({ bankId }, record, index, { filter }): BranchNode => ({
            bankId,
            branchId: idOf(record),
            query: optionally(filter, queryOf) ?? null,
            index,
            record,
          }),
        ),
      },
      BranchConnection,
    ),
    branch: t.field({
      type: BranchRef,
      nullable: true,
      description: 'One branch, found in getBranches. REST: getBranches.',
      args: { branchId: t.arg.id({ required: true, description: "The branch's id in the list." }) },
      ...linkFromIds(
        () => branchLink,
        ({ bankId }: BankIds, { branchId }: { branchId: string }) => ({
          bankId,
          branchId,
          index: 0,
          query: null,
        }),
      ),
    }),
    product: t.field({
      type: ProductRef,
      nullable: true,
      description: 'One product. REST: getProduct.',
      args: { productId: t.arg.id({ required: true, description: "The path's product." }) },
      ...linkFromIds(
        () => productLink,
        ({ bankId }: BankIds, { productId }: { productId: string }) => ({
          bankId,
          productId: checkId('productId', productId),
          index: 0,
          query: null,
        }),
      ),
    }),
    products: t.connection(
      {
        type: ProductRef,
        nullable: true,
        description: 'Products of the bank. REST: postProducts.',
        args: {
          filter: t.arg({
            type: ProductFilter,
            required: true,
            description: 'The query body of postProducts.',
          }),
        },
        ...connectionFromIds(
          ({ bankId }: BankIds, { filter }: { readonly filter: Filter }, { reader }) =>
            reader.loaders.postProducts.load({ bankId, query: queryOf(filter) }),
          ({ bankId }, record, index, { filter }): ProductNode => ({
            bankId,
            productId: idOf(record),
            query: queryOf(filter),
            index,
            record,
          }),
        ),
      },
      ProductConnection,
    ),
    messages: t.connection(
      {
        type: MessageRef,
        nullable: true,
        description: 'Messages of the calling customer. REST: getMessagesOwner.',
        ...connectionFromIds(
          ({ bankId }: BankIds, _args: object, { reader }) => reader.loaders.messagesOwner.load({ bankId }),
          (_bank, record) => record,
        ),
      },
      MessageConnection,
    ),
  }),
});

builder.queryField('bank', (t) =>
  t.field({
    type: BankRef,
    nullable: true,
    description:
      'A bank by its Swift bank code; the configured bank where none is given. Costs no REST call.',
    args: { bankId: t.arg.id({ description: "The bank's code; the configured one where left out." }) },
    ...linkFromIds(
      () => bankLink,
      (_root: object, { bankId }: { bankId?: Optional<string> }, { defaults }) => ({
        bankId: bankIdOr(defaults, bankId),
      }),
    ),
  }),
);
