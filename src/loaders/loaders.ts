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

/**
 * The ids that paths of REST operations need, from the names that GraphQL gives them, for reads and writes alike.
 */

export interface BankIds {
  readonly bankId: string;
}
export interface CustomerIds extends BankIds {
  readonly customerId: string;
}
export interface BranchIds extends BankIds {
  readonly branchId: string;
}
export interface ProductIds extends BankIds {
  readonly productId: string;
}
export interface AccountIds extends BankIds {
  readonly accountId: string;
}
/** An account as seen through one of its views. */
export interface ViewIds extends AccountIds {
  readonly viewId: string;
}
export interface TransactionIds extends ViewIds {
  readonly transactionId: string;
}

export const inBank = ({ bankId }: BankIds) => ({ BANK_ID: bankId });

export const inCustomer = ({ bankId, customerId }: CustomerIds) => ({
  BANK_ID: bankId,
  CUSTOMER_ID: customerId,
});

export const inBranch = ({ bankId, branchId }: BranchIds) => ({ BANK_ID: bankId, BRANCH_ID: branchId });

export const inProduct = ({ bankId, productId }: ProductIds) => ({ BANK_ID: bankId, PRODUCT_ID: productId });

export const inAccount = ({ bankId, accountId }: AccountIds) => ({ BANK_ID: bankId, ACCOUNT_ID: accountId });

export const inView = ({ bankId, accountId, viewId }: ViewIds) => ({
  BANK_ID: bankId,
  ACCOUNT_ID: accountId,
  VIEW_ID: viewId,
});

export const inTransaction = ({ transactionId, ...view }: TransactionIds) => ({
  ...inView(view),
  TRANSACTION_ID: transactionId,
});

/** An entry of a list of the bank: a record, or the error of an invalid one. */
type Entry = { readonly id?: string | null | undefined };

/** Longer lists are indexed. */
const shortList = 16;

const indexes = new WeakMap<readonly Entry[], Map<string, Entry>>();

/**
 * The entry of a loaded list with this id (the first, if there are several); null if there is none. A long list is
 * indexed once, so that a thousand links into it cost a thousand look-ups and not a million comparisons.
 */
export function findById<T extends Entry>(list: readonly T[], id: string): T | null;
export function findById(list: readonly Entry[], id: string): Entry | null {
  if (list.length <= shortList) return list.find((entry) => entry.id === id) ?? null;
  let index = indexes.get(list);
  if (index === undefined) {
    index = new Map();
    for (const entry of list)
      if (typeof entry.id === 'string' && !index.has(entry.id)) index.set(entry.id, entry);
    indexes.set(list, index);
  }
  return index.get(id) ?? null;
}

/**
 * Records from lists that were read during the operation, so that they need not be read one by one. A record is
 * identified by its place (the other ids that a single read takes) and its id.
 */
export class ListedRecords<T extends Entry> {
  #lists: Map<string, Set<readonly T[]>> | null = null;

  add(place: string, list: readonly T[]): void {
    this.#lists ??= new Map();
    const lists = this.#lists.get(place);
    if (lists === undefined) this.#lists.set(place, new Set([list]));
    else lists.add(list);
  }

  /** Null if no list contains it, or only with broken values: a single read may return it whole. */
  find(place: string, id: string): T | null {
    for (const list of this.#lists?.get(place) ?? []) {
      const record = findById(list, id);
      if (record !== null && isWhole(record)) return record;
    }
    return null;
  }
}

/** Whether none of its values is replaced by an error. */
const isWhole = (value: unknown): boolean =>
  !(value instanceof Error) &&
  (typeof value !== 'object' || value === null || Object.values(value).every(isWhole));

/** `{scope}` of getAccountsScope for lists of accounts. */
export type Scope = 'permissions' | 'views';

type ReadableOperation = Operation & { readonly kind: 'read' };

/** Reads one record or list of the bank. Errors: BankqlError. */
export type ReadOperation = <T extends ReadableOperation>(
  operation: T,
  input: Omit<CallInput<T>, 'credentials'>,
) => Promise<Answer<T>>;

/** A requested read. */
type QueuedRead = () => Promise<unknown>;

/** The reads of one REST operation. */
interface Loader<T extends ReadableOperation, Key> {
  load(key: Key): Promise<Answer<T>>;
}

/** The body of a POST query. */
interface Query<Body> {
  readonly query: Body;
}
const query = <Body>(key: Query<Body>) => key.query;

export interface LoadersOptions {
  /** Decides when the requested reads are made; by default at the end of the turn. */
  readonly schedule?: (dispatch: () => void) => void;
  /** Called with the key of each request, before it is known whether that takes a read. */
  readonly onAsk?: ((operation: Operation, key: string) => void) | undefined;
}

/**
 * All reads of the bank for one GraphQL operation. A record is read once, however often it is requested; all reads
 * that are requested in the same turn are made at once. A loader has its operation's name without `get`.
 *
 * Shape:  the operation's answer, as in contract/; each resolves when it arrives, and waits for no other.
 * Errors: those of `read`. Failures are cached like answers: one call for everyone who requests it.
 */
export function createLoaders(read: ReadOperation, { schedule, onAsk }: LoadersOptions = {}) {
  // Known keys are answered from here: DataLoader would create a batch and a promise for each request.
  const cache = new Map<string, Promise<unknown>>();
  const reads = new DataLoader<QueuedRead, unknown>(
    async (batch) => {
      const answers: Promise<unknown>[] = [];
      for (const read of batch) answers.push(read());
      return answers;
    },
    { cache: false, ...(schedule === undefined ? {} : { batchScheduleFn: schedule }) },
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
      let answer = cache.get(name);
      if (answer === undefined) {
        const input = { ids, body, key: name };
        answer = reads.load(() => read(operation, input));
        cache.set(name, answer);
      }
      // Keys contain the operation, so that the answer has this operation's type.
      return answer as Promise<Answer<T>>;
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
    /** Records from lists that a single read would return in the same shape. */
    listed: { accounts: new ListedRecords<Account>(), branches: new ListedRecords<Branch>() },
  };
}

export type Loaders = ReturnType<typeof createLoaders>;
