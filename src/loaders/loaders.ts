import DataLoader from 'dataloader';
import { validateBankId } from '../bank/ids.ts';
import type { Reader, ReadResult } from '../bank/parsed-responses.ts';
import { pathOf, requestKey } from '../bank/request.ts';
import { brokenValueIn } from '../bank/response.ts';
import { type Account, account } from '../contract/account.ts';
import type { getBranches } from '../contract/branch.ts';
import type { getCustomer } from '../contract/customer.ts';
import type { Answer, Body, Operation, OwnIds } from '../contract/operation.ts';
import type { getOtherAccounts } from '../contract/other-account.ts';
import { type Field, type Fields, isEmpty } from '../contract/resource.ts';
import type { getTransaction } from '../contract/transaction.ts';
import { getOrMake } from '../get-or-make.ts';

/** The ids of the bank's records. An account is seen through one of its views. */
export type BankIds = OwnIds<typeof getBranches>;
export type CustomerIds = OwnIds<typeof getCustomer>;
export type ViewIds = OwnIds<typeof getOtherAccounts>;
export type TransactionIds = OwnIds<typeof getTransaction>;

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
export type ListItem = { readonly id?: string | null | undefined };

/** Longer lists are indexed. */
export const shortList = 16;

const indexes = new WeakMap<readonly ListItem[], Map<string, ListItem>>();

function indexById(list: readonly ListItem[]): Map<string, ListItem> {
  const index = new Map<string, ListItem>();
  for (const entry of list)
    if (typeof entry.id === 'string' && !index.has(entry.id)) index.set(entry.id, entry);
  return index;
}

/**
 * The entry of a loaded list with this id (the first, if there are several); null if there is no such entry. A long
 * list is indexed once, so that a thousand links into it cost a thousand look-ups and not a million comparisons.
 */
export function findById<T extends ListItem>(list: readonly T[], id: string): T | null;
export function findById(list: readonly ListItem[], id: string): ListItem | null {
  if (list.length <= shortList) return list.find((entry) => entry.id === id) ?? null;
  return getOrMake(indexes, list, indexById).get(id) ?? null;
}

/** Whether a record has a value in each of these fields. Banks may write an empty one in lists, and the whole in a single read. */
const hasAll = (fields: readonly Field[], record: object): boolean =>
  fields.every(({ rest, type: { of, isList } }) => {
    const value: unknown = Reflect.get(record, rest);
    if (isEmpty(value)) return false;
    return typeof of !== 'object' || isList === true || hasAll(Object.values(of.fields), Object(value));
  });

/**
 * Records from lists that were read during the operation, so that they need not be read one by one. A record is
 * identified by its place (the other ids that a single read takes) and its id.
 */
export class ListedRecords<T extends ListItem> {
  readonly #fields: readonly Field[];
  #lists: Map<string, Set<readonly T[]>> | null = null;

  constructor(fields: Fields) {
    this.#fields = Object.values(fields);
  }

  add(place: string, list: readonly T[]): void {
    this.#lists ??= new Map();
    getOrMake(this.#lists, place, () => new Set()).add(list);
  }

  /**
   * Null if no list contains it, or only with broken values or without those that are needed (null: all of them): a single read may
   * return them.
   */
  find(place: string, id: string, needed: readonly Field[] | null): T | null {
    for (const list of this.#lists?.get(place) ?? []) {
      const record = findById(list, id);
      if (record !== null && brokenValueIn(record) === null && hasAll(needed ?? this.#fields, record))
        return record;
    }
    return null;
  }
}

/** `{scope}` of getAccountsScope for lists of accounts. */
export type Scope = 'permissions' | 'views';

type ReadableOperation = Operation & { readonly kind: 'read' };

/** A read of one record or list of the bank that a loader asks for. It settles the loader's promise. */
export class LoaderRead implements Reader {
  declare readonly operation: ReadableOperation;
  /** The ids in its path, by bankql's names. */
  declare readonly ids: object;
  declare readonly path: string;
  /** Undefined if the operation has none. */
  declare readonly body: unknown;
  /** What it asks for: its path, or what requestKey returns. */
  declare readonly key: string;
  declare readonly answer: Promise<unknown>;
  declare private readonly resolve: (answer: unknown) => void;
  declare readonly onError: (error: unknown) => void;

  constructor(operation: ReadableOperation, ids: object, path: string, body: unknown, key: string) {
    const { promise, resolve, reject } = Promise.withResolvers();
    this.operation = operation;
    this.ids = ids;
    this.path = path;
    this.body = body;
    this.key = key;
    this.answer = promise;
    this.resolve = resolve;
    this.onError = reject;
  }

  onAnswer({ answer }: ReadResult): void {
    this.resolve(answer);
  }
}

/** Starts a read, which settles itself. It must not throw. */
export type StartRead = (read: LoaderRead) => void;

/** What a read asks for: the ids in its path, and the body of a POST query. */
type Wanted<T extends Operation> = OwnIds<T> &
  (T['body'] extends null ? unknown : { readonly query: Body<T> });

interface LoadersOptions {
  /** Decides when the requested reads are made; by default at the end of the turn. */
  readonly schedule?: (dispatch: () => void) => void;
  /** Makes the path of a read. By default it refuses ids that are no segments of a path: BAD_USER_INPUT. */
  readonly pathOf?: (operation: Operation, ids: never) => string;
  /** Called with the key of each request, before it is known whether that takes a read. */
  readonly onAsk?: ((operation: Operation, key: string) => void) | undefined;
}

/**
 * All reads of the bank for one GraphQL operation. A record is read once, however often it is requested; all reads
 * that are requested in the same turn are made at once.
 */
export class Loaders {
  /** Accounts from lists, which a single read would return in the same shape. */
  readonly listedAccounts: ListedRecords<Account>;
  readonly #queue: DataLoader<LoaderRead, LoaderRead>;
  readonly #pathOf: NonNullable<LoadersOptions['pathOf']>;
  readonly #onAsk: LoadersOptions['onAsk'];
  /** Known keys are answered from here: DataLoader would create a batch and a promise for each request. */
  readonly #answers: Map<string, Promise<unknown>>;

  constructor(start: StartRead, { schedule, pathOf: makePath = pathOf, onAsk }: LoadersOptions = {}) {
    this.#pathOf = makePath;
    this.#onAsk = onAsk;
    this.#answers = new Map();
    this.listedAccounts = new ListedRecords(account.fields);
    this.#queue = new DataLoader(
      async (batch) => {
        // Each read settles by itself: DataLoader would add three promises to each.
        for (const read of batch) start(read);
        return batch;
      },
      { cache: false, ...(schedule === undefined ? {} : { batchScheduleFn: schedule }) },
    );
  }

  /**
   * Shape:  the operation's answer, as in contract/; each resolves when it arrives, and waits for no other.
   * Errors: those of the read. Failures are cached like answers: one call for everyone who requests it.
   */
  load<T extends ReadableOperation>(operation: T, wanted: Wanted<T>): Promise<Answer<T>> {
    let path: string;
    try {
      path = this.#pathOf(operation, wanted as never);
    } catch (error) {
      return Promise.reject(error);
    }
    const asked: object = wanted;
    const body: unknown = operation.body === null ? undefined : Reflect.get(asked, 'query');
    const key = body === undefined ? path : requestKey(path, JSON.stringify(body));
    this.#onAsk?.(operation, key);
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      const read = new LoaderRead(operation, wanted, path, body, key);
      void this.#queue.load(read);
      answer = read.answer;
      this.#answers.set(key, answer);
    }
    // Keys differ between operations, so that the answer has its type.
    return answer as Promise<Answer<T>>;
  }
}
