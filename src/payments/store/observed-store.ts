import type { RowCounts } from './driver.ts';
import { type PaymentStore, StoreUnavailable } from './store.ts';

/** The calls of a store that are timed. */
export type StoreOperation =
  | Exclude<
      keyof PaymentStore,
      'secret' | 'loss' | 'recover' | 'end' | 'unwritten' | 'unconfirmed' | 'drain' | 'close'
    >
  | 'finish'
  | 'release';

/** Observes a store's calls and outages. None of its methods may throw. */
interface StoreObserver {
  /** Called for every call, including failed ones. */
  onStoreCall(operation: StoreOperation, seconds: number): void;
  /** Called once for each outage. The reason contains no secret. */
  onStoreAway(reason: string): void;
  onStoreBack(awaySeconds: number): void;
}

export interface ObservedStore extends PaymentStore {
  /** False from the first failed call until the store is known to accept payments again, and while records are missing. */
  readonly isUp: boolean;
  /** The result of `count`, called at most once in a few seconds; null while the store does not answer. */
  recentCounts(): Promise<RowCounts | null>;
}

const countsMaxAgeMs = 5_000;
const retryMs = 1_000;
/**
 * The time without a failed call after which the store counts as recovered: a store with a full disk answers, but refuses
 * payments.
 */
const quietMs = 5_000;

/**
 * A payment store whose calls are timed and whose outages are noticed.
 *
 * An outage begins with the first StoreUnavailable. It ends when a payment is recorded or, if none comes, when the
 * store answers, nothing has failed for a while, it has taken all outcomes, and no records are missing (`loss`).
 * `clock`: milliseconds of a clock that cannot be set.
 * Shape:  the store, with the same behaviour and errors.
 */
export function observeStore(
  store: PaymentStore,
  observer: StoreObserver,
  clock = performance.now.bind(performance),
): ObservedStore {
  let awaySince: number | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  let probe: NodeJS.Timeout | undefined;
  let recent: { readonly counts: Promise<RowCounts | null>; at: number } | null = null;

  function fail(reason: string): void {
    failedAt = clock();
    if (awaySince !== null) return;
    awaySince = failedAt;
    // Without payments nothing else would notice the recovery.
    probe = setInterval(() => void recentCounts(), retryMs).unref();
    observer.onStoreAway(reason);
  }

  function succeed(since: number, isRecorded: boolean): void {
    const isQuiet = clock() - failedAt >= quietMs;
    if (!isRecorded && !(isQuiet && store.loss === null && store.unwritten === 0)) return;
    awaySince = null;
    recent = null;
    clearInterval(probe);
    observer.onStoreBack(Math.round(clock() - since) / 1000);
  }

  const observed =
    <Args extends unknown[], T>(operation: StoreOperation, call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      const began = clock();
      try {
        const result = await call(...args);
        // If `begin` found a record, the answer may have come from memory.
        if (awaySince !== null) succeed(awaySince, operation === 'begin' && result === null);
        return result;
      } catch (error) {
        if (error instanceof StoreUnavailable) fail(store.loss ?? error.message);
        throw error;
      } finally {
        observer.onStoreCall(operation, (clock() - began) / 1000);
      }
    };
  const count = observed('count', store.count);
  const [finish, release] = [observed('finish', store.end), observed('release', store.end)];

  function recentCounts(): Promise<RowCounts | null> {
    const maxAgeMs = awaySince === null ? countsMaxAgeMs : retryMs / 2;
    if (recent !== null && clock() - recent.at < maxAgeMs) return recent.counts;
    // The reason was reported already: the caller only needs to know that `count` failed. Concurrent callers share one call.
    const asked = { counts: count().catch(() => null), at: Number.POSITIVE_INFINITY };
    recent = asked;
    void asked.counts.then(() => {
      asked.at = clock();
    });
    return asked.counts;
  }

  if (store.loss !== null) fail(store.loss);
  return {
    get isUp() {
      // A loss may be noticed without a call, at a new connection.
      return awaySince === null && store.loss === null;
    },
    recentCounts,
    get secret() {
      return store.secret;
    },
    get loss() {
      return store.loss;
    },
    get unwritten() {
      return store.unwritten;
    },
    unconfirmed: store.unconfirmed,
    recover: store.recover,
    acceptLoss: observed('acceptLoss', store.acceptLoss),
    count,
    begin: observed('begin', store.begin),
    end: (attempt) => (attempt.outcome === null ? release : finish)(attempt),
    find: observed('find', store.find),
    search: observed('search', store.search),
    settle: observed('settle', store.settle),
    drain: store.drain,
    close() {
      clearInterval(probe);
      return store.close();
    },
  };
}
