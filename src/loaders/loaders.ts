import DataLoader from 'dataloader';
import { validateBankId } from '../bank/ids.ts';
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
interface AccountIds extends BankIds {
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

/** A transaction of an account, by an id that the bank gave. Errors: BANK_BAD_RESPONSE if it cannot be read. */
export const transactionIn = (
  { bankId, accountId, viewId }: ViewIds,
  transactionId: string,
): TransactionIds => ({
  bankId,
  accountId,
  viewId,
  transactionId: validateBankId('a transaction', transactionId),
});

/** An entry of a list of the bank: a record, or the error of an invalid one. */
type Entry = { readonly id?: string | null | undefined };

/** Longer lists are indexed. */
const shortList = 16;

const indexes = new WeakMap<readonly Entry[], Map<string, Entry>>();

/**
 * The entry of a loaded list with this id (the first, if there are several); null if there is no such entry. A long
 * list is indexed once, so that a thousand links into it cost a thousand look-ups and not a million comparisons.
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

/** A read that was asked for. */
type QueuedRead = () => Promise<unknown>;

/** The body of a POST query. */
interface Query<Body> {
  readonly query: Body;
}
const query = <Body>(key: Query<Body>) => key.query;

interface LoadersOptions {
  /** Decides when the requested reads are made; by default at the end of the turn. */
  readonly schedule?: (dispatch: () => void) => void;
  /** Called with the key of each request, before it is known whether that takes a read. */
  readonly onAsk?: ((operation: Operation, key: string) => void) | undefined;
}

/** What the loaders of one GraphQL operation share. */
interface Reads {
  readonly read: ReadOperation;
  readonly queue: DataLoader<QueuedRead, unknown>;
  /** Known keys are answered from here: DataLoader would create a batch and a promise for each request. */
  readonly answers: Map<string, Promise<unknown>>;
  readonly onAsk: LoadersOptions['onAsk'];
}

/** The reads of one REST operation. A loader has no functions of its own: each GraphQL operation makes all of them. */
interface Loader<T extends ReadableOperation, Key> {
  readonly reads: Reads;
  readonly operation: T;
  readonly idsOf: (key: Key) => PathIds<T>;
  readonly bodyOf?: (key: Key) => Body<T>;
  readonly load: (this: Loader<T, Key>, key: Key) => Promise<Answer<T>>;
}

function load<T extends ReadableOperation, Key>(this: Loader<T, Key>, key: Key): Promise<Answer<T>> {
  const { operation } = this;
  const { read, queue, answers, onAsk } = this.reads;
  const ids = this.idsOf(key);
  const body = this.bodyOf?.(key);
  const name = requestKey(operation, ids, body);
  onAsk?.(operation, name);
  let answer = answers.get(name);
  if (answer === undefined) {
    const input = { ids, body, key: name };
    answer = queue.load(() => read(operation, input));
    answers.set(name, answer);
  }
  // Keys contain the operation, so that the answer has this operation's type.
  return answer as Promise<Answer<T>>;
}

/** The loaders of one GraphQL operation. */
export interface Loaders {
  readonly customer: Loader<typeof getCustomer, CustomerIds>;
  readonly accountsScope: Loader<typeof getAccountsScope, ViewIds & { readonly scope: string }>;
  readonly otherAccounts: Loader<typeof getOtherAccounts, ViewIds>;
  readonly postOtherAccounts: Loader<typeof postOtherAccounts, ViewIds & Query<OtherAccountQuery>>;
  readonly transaction: Loader<typeof getTransaction, TransactionIds>;
  readonly transactionsRequest: Loader<typeof getTransactionsRequest, ViewIds>;
  readonly branches: Loader<typeof getBranches, BankIds>;
  readonly postBranches: Loader<typeof postBranches, BankIds & Query<BranchQuery>>;
  readonly product: Loader<typeof getProduct, ProductIds>;
  readonly postProducts: Loader<typeof postProducts, BankIds & Query<ProductQuery>>;
  readonly messagesOwner: Loader<typeof getMessagesOwner, BankIds>;
  readonly postMetadata: Loader<typeof postMetadata, Query<MetadataQuery>>;
  /** Records from lists that a single read would return in the same shape. */
  readonly listed: {
    readonly accounts: ListedRecords<Account>;
    readonly branches: ListedRecords<Branch>;
  };
}

const nowhere = () => ({});
const inScope = (key: ViewIds & { readonly scope: string }) => ({ ...inView(key), scope: key.scope });

/**
 * All reads of the bank for one GraphQL operation. A record is read once, however often it is requested; all reads
 * that are requested in the same turn are made at once. A loader has its operation's name without `get`.
 *
 * Shape:  the operation's answer, as in contract/; each resolves when it arrives, and waits for no other.
 * Errors: those of `read`. Failures are cached like answers: one call for everyone who requests it.
 */
export function createLoaders(read: ReadOperation, { schedule, onAsk }: LoadersOptions = {}): Loaders {
  const queue = new DataLoader<QueuedRead, unknown>(
    async (batch) => {
      const answers: Promise<unknown>[] = [];
      for (const read of batch) answers.push(read());
      return answers;
    },
    { cache: false, ...(schedule === undefined ? {} : { batchScheduleFn: schedule }) },
  );
  const reads: Reads = { read, queue, answers: new Map(), onAsk };
  return {
    customer: { reads, operation: getCustomer, idsOf: inCustomer, load },
    accountsScope: { reads, operation: getAccountsScope, idsOf: inScope, load },
    otherAccounts: { reads, operation: getOtherAccounts, idsOf: inView, load },
    postOtherAccounts: { reads, operation: postOtherAccounts, idsOf: inView, bodyOf: query, load },
    transaction: { reads, operation: getTransaction, idsOf: inTransaction, load },
    transactionsRequest: { reads, operation: getTransactionsRequest, idsOf: inView, load },
    branches: { reads, operation: getBranches, idsOf: inBank, load },
    postBranches: { reads, operation: postBranches, idsOf: inBank, bodyOf: query, load },
    product: { reads, operation: getProduct, idsOf: inProduct, load },
    postProducts: { reads, operation: postProducts, idsOf: inBank, bodyOf: query, load },
    messagesOwner: { reads, operation: getMessagesOwner, idsOf: inBank, load },
    postMetadata: { reads, operation: postMetadata, idsOf: nowhere, bodyOf: query, load },
    listed: { accounts: new ListedRecords(), branches: new ListedRecords() },
  };
}
