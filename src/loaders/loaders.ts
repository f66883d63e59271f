import DataLoader from 'dataloader';
import type { CallInput } from '../bank/call.ts';
import { getAccountsScope } from '../contract/account.ts';
import { type BranchQuery, getBranches, postBranches } from '../contract/branch.ts';
import { getCustomer } from '../contract/customer.ts';
import { getMessagesOwner } from '../contract/message.ts';
import { type MetadataQuery, postMetadata } from '../contract/metadata.ts';
import type { Answer, Body, Operation, PathIds } from '../contract/operation.ts';
import { getOtherAccounts, type OtherAccountQuery, postOtherAccounts } from '../contract/other-account.ts';
import { getProduct, type ProductQuery, postProducts } from '../contract/product.ts';
import { getTransaction } from '../contract/transaction.ts';
import { getTransactionsRequest } from '../contract/transaction-request.ts';

export interface BankIds {
  readonly bankId: string;
}
export interface CustomerIds extends BankIds {
  readonly customerId: string;
}
export interface ProductIds extends BankIds {
  readonly productId: string;
}
/** An account as seen through one of its views. */
export interface ViewIds extends BankIds {
  readonly accountId: string;
  readonly viewId: string;
}
export interface TransactionIds extends ViewIds {
  readonly transactionId: string;
}
/** `{scope}` of getAccountsScope. */
export type Scope = 'permissions' | 'views';

/** Reads one record or list of the bank. Errors: BankqlError. */
export type ReadOperation = <T extends Operation & { readonly kind: 'read' }>(
  operation: T,
  input: Omit<CallInput<T>, 'credentials'>,
) => Promise<Answer<T>>;

/** The body of a POST query. */
interface Query<Body> {
  readonly query: Body;
}
const query = <Body>(key: Query<Body>) => key.query;

const inBank = ({ bankId }: BankIds) => ({ BANK_ID: bankId });
const inView = ({ bankId, accountId, viewId }: ViewIds) => ({
  BANK_ID: bankId,
  ACCOUNT_ID: accountId,
  VIEW_ID: viewId,
});

/**
 * Every read of the bank, for one GraphQL operation: each loader asks for a record once, however often it is named,
 * and for the records that are named in the same turn at once. A loader bears the operation's name without `get`.
 *
 * Shape:  the operation's answer, as contract/ has it.
 * Errors: those of `read`. A failure is kept as an answer is: it is one call for all who ask.
 * `schedule` decides when what was asked for is read; at the end of the turn where it is left out.
 */
export function createLoaders(read: ReadOperation, schedule?: (dispatch: () => void) => void) {
  const loader = <T extends Operation & { readonly kind: 'read' }, Key>(
    operation: T,
    ids: (key: Key) => PathIds<T>,
    body?: (key: Key) => Body<T>,
  ) =>
    new DataLoader<Key, Answer<T>, string>(
      (keys) =>
        Promise.all(keys.map((key) => read(operation, { ids: ids(key), body: body?.(key) }).catch(asError))),
      {
        cacheKeyFn: (key) => JSON.stringify([ids(key), body?.(key)]),
        ...(schedule === undefined ? {} : { batchScheduleFn: schedule }),
      },
    );

  return {
    customer: loader(getCustomer, (key: CustomerIds) => ({ ...inBank(key), CUSTOMER_ID: key.customerId })),
    accountsScope: loader(getAccountsScope, (key: ViewIds & { readonly scope: Scope }) => ({
      ...inView(key),
      scope: key.scope,
    })),
    otherAccounts: loader(getOtherAccounts, (key: ViewIds) => inView(key)),
    postOtherAccounts: loader(
      postOtherAccounts,
      (key: ViewIds & Query<OtherAccountQuery>) => inView(key),
      query,
    ),
    transaction: loader(getTransaction, (key: TransactionIds) => ({
      ...inView(key),
      TRANSACTION_ID: key.transactionId,
    })),
    transactionsRequest: loader(getTransactionsRequest, (key: ViewIds) => inView(key)),
    branches: loader(getBranches, (key: BankIds) => inBank(key)),
    postBranches: loader(postBranches, (key: BankIds & Query<BranchQuery>) => inBank(key), query),
    product: loader(getProduct, (key: ProductIds) => ({ ...inBank(key), PRODUCT_ID: key.productId })),
    postProducts: loader(postProducts, (key: BankIds & Query<ProductQuery>) => inBank(key), query),
    messagesOwner: loader(getMessagesOwner, (key: BankIds) => inBank(key)),
    postMetadata: loader(postMetadata, (_key: Query<MetadataQuery>) => ({}), query),
  };
}

export type Loaders = ReturnType<typeof createLoaders>;

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
