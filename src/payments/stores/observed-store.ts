import { type PaymentStore, type StoreStatus, StoreUnavailable } from '../store.ts';

/** The methods of a store that are timed. */
export type StoreOperation = Exclude<keyof PaymentStore, 'secret' | 'loss' | 'unwritten' | 'drain' | 'close'>;

/** Observes a store's calls and outages. None of its methods may throw. */
export interface StoreObserver {
  /** Of every call, failed ones included. */
  onStoreCall(operation: StoreOperation, seconds: number): void;
  /** Once for each outage; the reason holds no secret. */
  onStoreAway(reason: string): void;
  onStoreBack(awaySeconds: number): void;
}

export interface ObservedStore extends PaymentStore {
  /**
   * False from the first failed call until the store is known to accept payments again, and while records are missing.
   */
  readonly isUp: boolean;
  /** `status`, asked at most once in a few seconds however often it is read; null while the store cannot say. */
  recentStatus(): Promise<StoreStatus | null>;
}

export interface ObserveOptions {
  /** Milliseconds of a monotonic clock. */
  readonly clock?: () => number;
  readonly now?: () => number;
}

const statusMaxAgeMs = 5_000;
const retryMs = 1_000;
/**
 * How long no call may have failed before the store counts as recovered: one that answers may still refuse payments (a
 * full disk, replicas that do not confirm).
 */
const quietMs = 5_000;

/**
 * A payment store whose calls are timed and whose outages are noticed.
 *
 * An outage begins with the first StoreUnavailable. It ends when a payment is recorded or, if none comes, when the
 * store answers, nothing has failed for a while, it has taken all ends, and no records are missing (`loss`).
 * Shape:  the store, with the same behaviour and errors.
 */
export function observeStore(
  store: PaymentStore,
  observer: StoreObserver,
  { clock = () => performance.now(), now = Date.now }: ObserveOptions = {},
): ObservedStore {
  let awaySince: number | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  let probe: NodeJS.Timeout | undefined;
  let recent: { readonly status: Promise<StoreStatus | null>; readonly at: number } | null = null;

  function fail(reason: string): void {
    failedAt = clock();
    if (awaySince !== null) return;
    awaySince = failedAt;
    // Without payments nothing else would notice the recovery.
    probe = setInterval(() => void recentStatus(), retryMs).unref();
    observer.onStoreAway(reason);
  }

  function succeed(isRecorded: boolean): void {
    if (awaySince === null) return;
    const isQuiet = clock() - failedAt >= quietMs;
    if (!isRecorded && !(isQuiet && store.loss === null && store.unwritten().length === 0)) return;
    const awayMs = clock() - awaySince;
    awaySince = null;
    recent = null;
    clearInterval(probe);
    observer.onStoreBack(awayMs / 1000);
  }

  async function observed<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const began = clock();
    try {
      const result = await call();
      // A beginning that was there may have been answered from memory.
      succeed(operation === 'begin' && result === null);
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) fail(store.loss ?? error.message);
      throw error;
    } finally {
      observer.onStoreCall(operation, (clock() - began) / 1000);
    }
  }

  function recentStatus(): Promise<StoreStatus | null> {
    const maxAgeMs = awaySince === null ? statusMaxAgeMs : retryMs / 2;
    const at = clock();
    if (recent !== null && at - recent.at < maxAgeMs) return recent.status;
    // The reason was reported; the caller only needs to know that it failed.
    const status = observed('status', () => store.status(now())).catch(() => null);
    // It is shared while it is under way, however long that takes.
    const asked = { status, at: Number.POSITIVE_INFINITY };
    recent = asked;
    void status.then(() => {
      asked.at = clock();
    });
    return status;
  }

  if (store.loss !== null) fail(store.loss);
  return {
    get isUp() {
      // A loss may be noticed without a call, at a new connection.
      return awaySince === null && store.loss === null;
    },
    recentStatus,
    get secret() {
      return store.secret;
    },
    get loss() {
      return store.loss;
    },
    acceptLoss: (...args) => observed('acceptLoss', () => store.acceptLoss(...args)),
    status: (...args) => observed('status', () => store.status(...args)),
    begin: (...args) => observed('begin', () => store.begin(...args)),
    finish: (...args) => observed('finish', () => store.finish(...args)),
    release: (...args) => observed('release', () => store.release(...args)),
    find: (...args) => observed('find', () => store.find(...args)),
    search: (...args) => observed('search', () => store.search(...args)),
    settle: (...args) => observed('settle', () => store.settle(...args)),
    unwritten: () => store.unwritten(),
    drain: (timeoutMs) => store.drain(timeoutMs),
    close() {
      clearInterval(probe);
      return store.close();
    },
  };
}
