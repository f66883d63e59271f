import DataLoader from 'dataloader';
import { validateBankId } from '../bank/ids.ts';
import { readKey } from '../bank/request.ts';
import type { getBranches } from '../contract/branch.ts';
import type { getCustomer } from '../contract/customer.ts';
import type { Answer, Body, Operation, OwnIds } from '../contract/operation.ts';
import { type OperationId, operations } from '../contract/operations.ts';
import type { getOtherAccounts } from '../contract/other-account.ts';
import type { getTransaction } from '../contract/transaction.ts';

/** The ids of the bank's records. An account is seen through one of its views. */
export type BankIds = OwnIds<typeof getBranches>;
export type CustomerIds = OwnIds<typeof getCustomer>;
export type ViewIds = OwnIds<typeof getOtherAccounts>;
export type TransactionIds = OwnIds<typeof getTransaction>;

/** A transaction of an account, by an id that the bank gave. Errors: BANK_BAD_RESPONSE if it cannot be read. */
export const transactionIn = <Account extends ViewIds>(account: Account, transactionId: string) => ({
  ...account,
  transactionId: validateBankId('a transaction', transactionId),
});

/** `{scope}` of getAccountsScope for lists of accounts. */
export type Scope = 'permissions' | 'views';

type ReadableOperation = Operation & { readonly kind: 'read' };

/** The ids in the path of a read, and the body if it is a POST. */
export type Wanted<T extends Operation> = OwnIds<T> &
  (T['body'] extends null ? unknown : { readonly query: Body<T> });

/**
 * Makes a read of the bank. `key`: as in createLoaders; it is the path of a read without a body, if its ids are valid.
 * Errors: those of the read; it never throws.
 */
export type Read = <T extends ReadableOperation>(
  operation: T,
  wanted: Wanted<T>,
  key: string,
) => Promise<Answer<T>>;

/** The body of a read; undefined if its operation has none, whatever else `wanted` has. */
export const bodyIn = <T extends Operation>(operation: T, wanted: object): Body<T> | undefined =>
  operation.body === null ? undefined : Reflect.get(wanted, 'query');

interface LoadersOptions {
  /** Called with the key of each request, whether or not it causes a read. */
  readonly onAsk?: ((operation: Operation, key: string) => void) | undefined;
  /** Called at once for each read that has to be made; returns the error of a read that may not be made (default: all may). */
  readonly admit?: ((operation: Operation) => Error | null) | undefined;
}

/** What is wanted, with its key, which is made once. */
interface Keyed<T extends Operation> {
  readonly wanted: Wanted<T>;
  readonly key: string;
}

/** The reads of one bank operation during one GraphQL operation. */
interface Loader<T extends Operation> {
  /** Errors: those of the read. */
  load(wanted: Wanted<T>): Promise<Answer<T>>;
}

class ReadLoader<T extends ReadableOperation> implements Loader<T> {
  readonly #operation: T;
  readonly #options: LoadersOptions;
  readonly #cache = new Map<string, Promise<Answer<T>>>();
  readonly #loader: DataLoader<Keyed<T>, Answer<T>, string>;

  constructor(operation: T, read: Read, options: LoadersOptions) {
    this.#operation = operation;
    this.#options = options;
    const start = (batch: readonly Keyed<T>[]) =>
      batch.map(({ wanted, key }) => read(operation, wanted, key));
    this.#loader = new DataLoader(
      // DataLoader resolves each key with its promise, so that no read waits for another. Its types do not know that.
      (batch) => Promise.resolve(start(batch) as unknown as Answer<T>[]),
      { cacheKeyFn: ({ key }) => key, cacheMap: this.#cache },
    );
  }

  load(wanted: Wanted<T>): Promise<Answer<T>> {
    const key = readKey(this.#operation, wanted);
    const { onAsk, admit } = this.#options;
    onAsk?.(this.#operation, key);
    // DataLoader would make a batch and a promise for a hit, which waits for the batch.
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const refusal = admit?.(this.#operation) ?? null;
    if (refusal === null) return this.#loader.load({ wanted, key });
    const refused = Promise.reject(refusal);
    this.#cache.set(key, refused);
    return refused;
  }
}

/** The reads by the names of their loaders: the operation without `get`, such as `branches` for getBranches. */
const reads = Object.values<Operation>(operations)
  .filter((operation): operation is ReadableOperation => operation.kind === 'read')
  .map((operation) => {
    const name = operation.id.replace(/^get(.)/, (_, first: string) => first.toLowerCase());
    return [name, operation] as const;
  });

/** The loaders of one GraphQL operation. Each is made when it is first asked for. */
class OperationLoaders {
  readonly #read: Read;
  readonly #options: LoadersOptions;
  readonly #made: unknown[] = [];

  static {
    for (const [index, [name, operation]] of reads.entries())
      Object.defineProperty(OperationLoaders.prototype, name, {
        get(this: OperationLoaders) {
          this.#made[index] ??= new ReadLoader(operation, this.#read, this.#options);
          return this.#made[index];
        },
      });
  }

  constructor(read: Read, options: LoadersOptions) {
    this.#read = read;
    this.#options = options;
  }
}

/**
 * One DataLoader per read operation, for one GraphQL operation: a record is read once, however often it is requested. The bank has no
 * endpoint for batches: the reads of a batch begin together, and each ends by itself.
 *
 * Shape:  the operation's answer, as in contract/.
 * Errors: those of the read. Failures are cached like answers: one call for everyone who requests it.
 */
export const createLoaders = (read: Read, options: LoadersOptions = {}): Loaders =>
  // The static block defines what the type says.
  new OperationLoaders(read, options) as OperationLoaders & Loaders;

type LoaderName<Id extends string> = Id extends `get${infer Name}` ? Uncapitalize<Name> : Id;

export type Loaders = {
  readonly [Id in OperationId as (typeof operations)[Id] extends ReadableOperation
    ? LoaderName<Id>
    : never]: Loader<(typeof operations)[Id]>;
};
