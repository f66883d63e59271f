import { type ProductQuery, postProducts } from '../contract/product.ts';
import { badUserInput } from '../errors.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { AccountScope, accountsFrom } from './account.ts';
import { BranchConnection, BranchFilter, type BranchNode, loadBranches } from './branch.ts';
import {
  BranchOrder,
  type BranchSearch,
  branchQueryOf,
  branchSelection,
  NearInput,
} from './branch-search.ts';
import { builder } from './builder.ts';
import { bankIdOr, type ReadContext, viewIdOr } from './context.ts';
import { omitNullish } from './fields.ts';
import { notGlobalId, restId } from './global-id.ts';
import { byOwnId, identify } from './list-item.ts';
import { messagesFrom } from './message.ts';
import { defineNodeType, identifiedBy, idFromPath, NodeInterface, nodeFromIds } from './node.ts';
import { ProductConnection, ProductFilter, type ProductNode } from './product.ts';
import { connectionFromIds, pageArguments } from './relay-connection.ts';

/** Banks by their code. A bank has no record to read. */
const bankNode = defineNodeType({
  name: 'Bank',
  ...identifiedBy('bankId'),
  read: async () => ({}),
});

const BankObject = bankNode.object;

type Optional<T> = T | null | undefined;
interface AccountArguments {
  readonly accountId: string;
  readonly viewId?: Optional<string>;
}
type Filter = typeof ProductFilter.$inferInput;

const whichAccount = builder.args((t) => ({
  accountId: t.id({ required: true, description: "The account's id at the bank, as `accountId` shows it." }),
  viewId: t.id({
    description: 'The view through which the account is read; the configured one if it is left out.',
  }),
}));

const viewOf = (
  { bankId }: BankIds,
  { accountId, viewId }: AccountArguments,
  { defaults }: ReadContext,
): ViewIds => ({
  bankId,
  accountId: restId('accountId', accountId),
  viewId: viewIdOr(defaults, viewId),
});

/** The query of postProducts. Errors: BAD_USER_INPUT. */
function productQueryOf(filter: Optional<Filter>, { defaults }: ReadContext): ProductQuery {
  const { id = defaults.allProductsId, name } = filter ?? {};
  if (id == null)
    throw badUserInput(
      'Give filter: no id is configured under which this bank lists all of its products (BANK_ALL_PRODUCTS_ID).',
      'filter',
    );
  return omitNullish({ id: notGlobalId('filter.id', id), name });
}

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
    branches: t.field({
      description:
        'Branches of the bank, in the order of `orderBy`. REST: getBranches; with an id in `filter`, postBranches. bankql searches that list for all other arguments.',
      args: {
        ...pageArguments,
        filter: t.arg({
          type: BranchFilter,
          description: 'Only branches with this id, or with this text in their name.',
        }),
        near: t.arg({
          type: NearInput,
          description: 'Only branches near a place. With a radius, branches without a location are left out.',
        }),
        orderBy: t.arg({ type: BranchOrder, description: "The bank's own order if it is left out." }),
        acceptsDeposits: t.arg.boolean({
          description: 'With true, only branches that accept deposits; with false, only the others.',
        }),
        city: t.arg.string({ description: 'Only branches in this city. Case and accents do not matter.' }),
      },
      ...connectionFromIds(
        BranchConnection,
        ({ bankId }: BankIds, args: BranchSearch, context) => {
          const select = branchSelection(args);
          const listed = loadBranches({ bankId, query: branchQueryOf(args) }, context.session);
          return select === null ? listed : listed.then((list) => select(list, context.lists));
        },
        (list, { bankId }, args) => {
          const query = branchQueryOf(args);
          return (record, position): BranchNode => {
            const { id, index } = identify(record, position, list);
            return { bankId, branchId: id, query, index, record };
          };
        },
      ),
    }),
    branch: t.field({
      description: 'One branch, found in getBranches. REST: getBranches.',
      args: { branchId: t.arg.id({ required: true, description: "The branch's id in the list." }) },
      ...nodeFromIds('Branch', ({ bankId }: BankIds, { branchId }: { branchId: string }) => ({
        bankId,
        branchId: notGlobalId('branchId', branchId),
        ...byOwnId,
      })),
    }),
    product: t.field({
      description: 'A product by id; an unknown id is an error, not null. REST: getProduct.',
      args: { productId: t.arg.id({ required: true, description: "The product's id at the bank." }) },
      ...nodeFromIds('Product', ({ bankId }: BankIds, { productId }: { productId: string }) => ({
        bankId,
        productId: restId('productId', productId),
        ...byOwnId,
      })),
    }),
    products: t.field({
      description: 'Products of the bank. REST: postProducts.',
      args: {
        ...pageArguments,
        filter: t.arg({
          type: ProductFilter,
          description: 'Those with this id, or this id and name; all of them if it is left out.',
        }),
      },
      ...connectionFromIds(
        ProductConnection,
        ({ bankId }: BankIds, { filter }: { readonly filter?: Optional<Filter> }, context) =>
          context.session.loaders.load(postProducts, { bankId, query: productQueryOf(filter, context) }),
        (list, { bankId }, { filter }, context) => {
          const query = productQueryOf(filter, context);
          return (record, position): ProductNode => {
            const { id, index } = identify(record, position, list);
            return { bankId, productId: id, query, index, record };
          };
        },
      ),
    }),
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
    ...nodeFromIds('Bank', (_root: object, { bankId }: { bankId?: Optional<string> }, { defaults }) => ({
      bankId: bankIdOr(defaults, bankId),
    })),
  }),
);
