import { type PaymentStore, type StoreStatus, StoreUnavailable } from '../store.ts';

/** The methods of a store that are timed. */
export type StoreOperation = Exclude<keyof PaymentStore, 'secret' | 'loss' | 'close'>;

/** Is told what becomes of a store's calls. None of these may throw. */
export interface StoreObserver {
  /** Of every call, failed ones included. */
  onStoreCall(operation: StoreOperation, seconds: number): void;
  /** Once for each outage; the reason holds no secret. */
  onStoreAway(reason: string): void;
  onStoreBack(awaySeconds: number): void;
}

export interface ObservedStore extends PaymentStore {
  /** False from the first call that failed until the store is known to take payments again, and while it misses records. */
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
/** A store that answers may still refuse payments (a full disk, replicas that do not confirm): for so long none must have failed. */
const quietMs = 5_000;

/**
 * A payment store whose calls are timed and whose outages are noticed.
 *
 * It goes away with the first StoreUnavailable. It is back with the first payment that it records, or, where none comes, as
 * soon as it answers, nothing has failed for a while, and it misses no records (`loss`).
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
  let recent: { readonly status: StoreStatus | null; readonly at: number } | null = null;
  let asking: Promise<StoreStatus | null> | null = null;

  function fail(reason: string): void {
    failedAt = clock();
    if (awaySince !== null) return;
    awaySince = failedAt;
    // Without payments nobody else would notice that it is back.
    probe = setInterval(() => void recentStatus(), retryMs).unref();
    observer.onStoreAway(reason);
  }

  function succeed(operation: StoreOperation): void {
    if (awaySince === null) return;
    const isQuiet = clock() - failedAt >= quietMs;
    if (operation !== 'begin' && !(isQuiet && store.loss === null)) return;
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
      succeed(operation);
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) fail(store.loss ?? error.message);
      throw error;
    } finally {
      observer.onStoreCall(operation, (clock() - began) / 1000);
    }
  }

  async function askStatus(): Promise<StoreStatus | null> {
    // Why it failed was told above; whoever watches only wants to know that it did.
    const status = await observed('status', () => store.status(now())).catch(() => null);
    recent = { status, at: clock() };
    return status;
  }

  async function recentStatus(): Promise<StoreStatus | null> {
    const maxAgeMs = awaySince === null ? statusMaxAgeMs : retryMs / 2;
    if (recent !== null && clock() - recent.at < maxAgeMs) return recent.status;
    asking ??= askStatus().finally(() => {
      asking = null;
    });
    return asking;
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
    close() {
      clearInterval(probe);
      return store.close();
    },
  };
}
