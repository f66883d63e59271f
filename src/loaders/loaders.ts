import DataLoader from 'dataloader';
import { type CallObserver, observedRead } from '../bank/call-observer.ts';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import { validateBankId } from '../bank/ids.ts';
import { readKey } from '../bank/request.ts';
import type { ReadLimits } from '../bank/shared-reads.ts';
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

/** The values of `{scope}` in getAccountsScope. */
export type Scope = 'permissions' | 'views';

export type ReadableOperation = Operation & { readonly kind: 'read' };

/** The ids in the path of a read, and the body if it is a POST. */
export type Wanted<T extends Operation> = OwnIds<T> &
  (T['body'] extends null ? unknown : { readonly query: Body<T> });

/** The body of a read; undefined if its operation has none, even if `wanted` has other members. */
export const bodyIn = <T extends Operation>(operation: T, wanted: object): Body<T> | undefined =>
  operation.body === null ? undefined : Reflect.get(wanted, 'query');

/** A read that a loader was asked for. */
interface WantedRead<T extends ReadableOperation = ReadableOperation> {
  readonly operation: T;
  readonly wanted: Wanted<T>;
  /** Identifies the read in its GraphQL operation. The key of a read without a body is its path, if its ids are valid. */
  readonly key: string;
}

/** The caller of the loaders' reads, and the limits of their operation (schema/bank-session.ts). */
export interface LoaderSession extends ReadLimits {
  readonly bank: Pick<BankClient, 'prepare' | 'reads'>;
  readonly credentials: Credentials;
  readonly observer: CallObserver | null;
  /** Called at once for each read that is needed. Returns an error if the read may not be made. */
  admit(operation: Operation): Error | null;
}

/** The reads of one bank operation during one GraphQL operation. */
interface Loader<T extends Operation> {
  /** Errors: those of the read. */
  load(wanted: Wanted<T>): Promise<Answer<T>>;
}

class ReadLoader<T extends ReadableOperation> implements Loader<T> {
  readonly #operation: T;
  readonly #all: OperationLoaders;

  constructor(operation: T, all: OperationLoaders) {
    this.#operation = operation;
    this.#all = all;
  }

  load(wanted: Wanted<T>): Promise<Answer<T>> {
    const operation = this.#operation;
    const { session, known, batches, isForUpdate } = this.#all;
    const key = readKey(operation, wanted);
    if (!isForUpdate) session.observer?.requested(operation, key);
    // Reads are identified by their keys, so the answer has this operation's type.
    const earlier = known.get(key) as Promise<Answer<T>> | undefined;
    if (earlier !== undefined) return earlier;
    const refusal = session.admit(operation);
    const answer = (
      refusal === null
        ? batches.load({ operation, wanted, key } as unknown as WantedRead)
        : Promise.reject(refusal)
    ) as Promise<Answer<T>>;
    known.set(key, answer);
    return answer;
  }
}

/** The name of a read's loader: the operation without `get`, such as `branches` for getBranches. */
export const loaderName = ({ id }: Operation): string =>
  id.replace(/^get(.)/, (_, first: string) => first.toLowerCase());

/** The reads by the names of their loaders: the operation without `get`, such as `branches` for getBranches. */
const reads = Object.values<Operation>(operations)
  .filter((operation): operation is ReadableOperation => operation.kind === 'read')
  .map((operation) => [loaderName(operation), operation] as const);

/** The loaders of one GraphQL operation. Each loader is created at its first use. */
class OperationLoaders {
  readonly session: LoaderSession;
  readonly isForUpdate: boolean;
  /**
   * The answers by key. DataLoader's own cache is not used, because each hit in it would wait for a batch.
   */
  readonly known = new Map<string, Promise<unknown>>();
  // DataLoader resolves each key with the promise of its read, so no read waits for another. Its types do not express this.
  readonly batches = new DataLoader<WantedRead, unknown>(
    (batch) => Promise.resolve(batch.map((read) => this.#read(read))),
    { cache: false },
  );
  readonly #made: unknown[] = [];

  static {
    for (const [index, [name, operation]] of reads.entries())
      Object.defineProperty(OperationLoaders.prototype, name, {
        get(this: OperationLoaders) {
          this.#made[index] ??= new ReadLoader(operation, this);
          return this.#made[index];
        },
      });
  }

  constructor(session: LoaderSession, isForUpdate: boolean) {
    this.session = session;
    this.isForUpdate = isForUpdate;
  }

  /**
   * Makes an admitted read. Never throws: errors reject the promise.
   * Errors: those of SharedReads.read and BankClient.prepare.
   */
  #read({ operation, wanted, key }: WantedRead): Promise<unknown> {
    const { session } = this;
    const { bank, credentials, observer } = session;
    try {
      const call = bank.prepare(operation, {
        ids: wanted,
        path: operation.body === null && key.startsWith('/') ? key : undefined,
        body: bodyIn(operation, wanted),
        credentials,
        keepDigits: this.isForUpdate,
      });
      if (observer === null) return bank.reads.read(call, session, 'answer');
      return observedRead(bank.reads, call, session, observer.began(operation, key));
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

/**
 * Creates the loaders of one GraphQL operation: one for each read operation of the bank, all with one DataLoader. A record is
 * read once, however often it is requested. The bank has no endpoint for batches: the reads of a batch begin together, and each
 * ends by itself.
 *
 * Shape:  the operation's answer, as in contract/.
 * Errors: those of the read. Failures are cached like answers: one call for everyone who requests it.
 */
export const createLoaders = (session: LoaderSession, isForUpdate = false): Loaders =>
  // The class's static block defines the members that this type adds.
  new OperationLoaders(session, isForUpdate) as OperationLoaders & Loaders;

type LoaderName<Id extends string> = Id extends `get${infer Name}` ? Uncapitalize<Name> : Id;

export type Loaders = {
  readonly [Id in OperationId as (typeof operations)[Id] extends ReadableOperation
    ? LoaderName<Id>
    : never]: Loader<(typeof operations)[Id]>;
};
