import DataLoader from 'dataloader';
import { type CallInput, requestKey } from '../bank/request.ts';
import { type Account, getAccountsScope } from '../contract/account.ts';
import { type Branch, type BranchQuery, getBranches, postBranches } from '../contract/branch.ts';
import { getCustomer } from '../contract/customer.ts';
import { getMessagesOwner } from '../contract/message.ts';
import { type MetadataQuery, postMetadata } from '../contract/metadata.ts';
import type { Answer, Body, Operation, PathIds } from '../contract/operation.ts';
import { getOtherAccounts, type OtherAccountQuery, postOtherAccounts } from '../contract/other-account.ts';
import { getProduct, type ProductQuery, postProducts } from '../contract/product.ts';
import { getTransaction } from '../contract/transaction.ts';
import { getTransactionsRequest } from '../contract/transaction-request.ts';
import { ListedRecords } from './listed-records.ts';
import {
  type BankIds,
  inBank,
  inCustomer,
  inProduct,
  inTransaction,
  inView,
  type ViewIds,
} from './rest-ids.ts';

export type { BankIds, CustomerIds, ProductIds, TransactionIds, ViewIds } from './rest-ids.ts';

/** `{scope}` of getAccountsScope, where accounts are listed. */
export type Scope = 'permissions' | 'views';

type ReadableOperation = Operation & { readonly kind: 'read' };

/** Reads one record or list of the bank. Errors: BankqlError. */
export type ReadOperation = <T extends ReadableOperation>(
  operation: T,
  input: Omit<CallInput<T>, 'credentials'>,
) => Promise<Answer<T>>;

/** A read that is asked for, and what tells it apart from others. */
interface QueuedRead {
  readonly key: string;
  readonly read: () => Promise<unknown>;
}

/** Reads of one operation, as fields ask for them. */
interface Loader<T extends ReadableOperation, Key> {
  load(key: Key): Promise<Answer<T>>;
}

/** The body of a POST query. */
interface Query<Body> {
  readonly query: Body;
}
const query = <Body>(key: Query<Body>) => key.query;

export interface LoadersOptions {
  /** Decides when what was asked for is read; at the end of the turn where it is left out. */
  readonly schedule?: (dispatch: () => void) => void;
  /** Is told of each question, by its key, before it is known whether it takes a read. */
  readonly onAsk?: ((operation: Operation, key: string) => void) | undefined;
}

/**
 * Every read of the bank, for one GraphQL operation: a record is asked for once, however often it is named, and all that
 * is named in the same turn at once. A loader bears its operation's name without `get`.
 *
 * Shape:  the operation's answer, as contract/ has it; each comes when it is there, and waits for no other.
 * Errors: those of `read`. A failure is kept as an answer is: it is one call for all who ask.
 */
export function createLoaders(read: ReadOperation, { schedule, onAsk }: LoadersOptions = {}) {
  // What was asked for before is answered from here: DataLoader would make a batch, and a promise, of the question alone.
  const cache = new Map<string, Promise<unknown>>();
  const reads = new DataLoader<QueuedRead, unknown, string>(
    async (batch) => batch.map(({ read }) => read()),
    {
      cacheKeyFn: ({ key }) => key,
      cacheMap: cache,
      ...(schedule === undefined ? {} : { batchScheduleFn: schedule }),
    },
  );
  const loader = <T extends ReadableOperation, Key>(
    operation: T,
    idsOf: (key: Key) => PathIds<T>,
    bodyOf?: (key: Key) => Body<T>,
  ): Loader<T, Key> => ({
    load(key) {
      const ids = idsOf(key);
      const body = bodyOf?.(key);
      const name = requestKey(operation, ids, body);
      onAsk?.(operation, name);
      const input = { ids, body, key: name };
      // Reads are named by their operation, so that the answer is one of this operation's.
      return (cache.get(name) ?? reads.load({ key: name, read: () => read(operation, input) })) as Promise<
        Answer<T>
      >;
    },
  });

  return {
    customer: loader(getCustomer, inCustomer),
    accountsScope: loader(getAccountsScope, (key: ViewIds & { readonly scope: string }) => ({
      ...inView(key),
      scope: key.scope,
    })),
    otherAccounts: loader(getOtherAccounts, inView),
    postOtherAccounts: loader(
      postOtherAccounts,
      (key: ViewIds & Query<OtherAccountQuery>) => inView(key),
      query,
    ),
    transaction: loader(getTransaction, inTransaction),
    transactionsRequest: loader(getTransactionsRequest, inView),
    branches: loader(getBranches, inBank),
    postBranches: loader(postBranches, (key: BankIds & Query<BranchQuery>) => inBank(key), query),
    product: loader(getProduct, inProduct),
    postProducts: loader(postProducts, (key: BankIds & Query<ProductQuery>) => inBank(key), query),
    messagesOwner: loader(getMessagesOwner, inBank),
    postMetadata: loader(postMetadata, (_key: Query<MetadataQuery>) => ({}), query),
    /** What lists brought of records that can also be asked for alone, in the same shape. */
    listed: { accounts: new ListedRecords<Account>(), branches: new ListedRecords<Branch>() },
  };
}

export type Loaders = ReturnType<typeof createLoaders>;
