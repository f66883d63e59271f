import type { StoreDriver } from './driver.ts';
import { StoreUnavailable } from './store.ts';

/** The kinds of timed calls of a database. */
export type StoreCall = Exclude<
  keyof StoreDriver,
  'secret' | 'loss' | 'uncertainMs' | 'acceptLoss' | 'close'
>;

/** Observes the calls and outages of a payment store's database. None of its methods may throw. */
export interface StoreObserver {
  /** Called for every call, including failed ones. */
  onStoreCall(method: StoreCall, seconds: number): void;
  /**
   * Called once for each outage. A call that fails because the process ends is no outage. The reason contains no
   * secret.
   */
  onStoreAway(reason: string): void;
  onStoreBack(awaySeconds: number): void;
}

const retryMs = 1_000;
/**
 * The time without a failed call after which the database counts as recovered. An answer alone is no proof: with a full disk,
 * the database answers, but refuses payments. The time is longer than the pause between two attempts to write an outcome.
 */
const quietMs = 5_000;

/**
 * A driver whose calls are timed and whose outages are noticed.
 *
 * An outage begins with the first StoreUnavailable. It ends when a payment is recorded. Without payments, it ends when the
 * database answers, no call has failed for a while, and no records are missing (`loss`). `clock`: milliseconds of a clock that
 * cannot be set.
 * Shape:  the driver, with the same behaviour and errors.
 */
export function observeDriver(
  driver: StoreDriver,
  observer: StoreObserver,
  clock = performance.now.bind(performance),
): StoreDriver {
  let awaySince: number | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  let probe: NodeJS.Timeout | undefined;
  let isClosing = false;

  function fail(reason: string): void {
    failedAt = clock();
    if (awaySince !== null || isClosing) return;
    awaySince = failedAt;
    // Without payments, only this probe notices the recovery.
    probe = setInterval(() => void count().catch(() => {}), retryMs).unref();
    observer.onStoreAway(reason);
  }

  function succeed(since: number, isRecorded: boolean): void {
    const isQuiet = clock() - failedAt >= quietMs;
    if (!isRecorded && !(isQuiet && driver.loss === null)) return;
    awaySince = null;
    clearInterval(probe);
    observer.onStoreBack(Math.round(clock() - since) / 1000);
  }

  const observed =
    <Args extends unknown[], T>(
      method: StoreCall,
      call: (...args: Args) => Promise<T>,
      isRecorded = (_: T, ..._args: Args): boolean => false,
    ) =>
    async (...args: Args): Promise<T> => {
      const began = clock();
      try {
        const result = await call(...args);
        if (awaySince !== null) succeed(awaySince, isRecorded(result, ...args));
        return result;
      } catch (error) {
        if (error instanceof StoreUnavailable) fail(driver.loss ?? error.message);
        throw error;
      } finally {
        observer.onStoreCall(method, (clock() - began) / 1000);
      }
    };
  const count = observed('count', driver.count);

  if (driver.loss !== null) fail(driver.loss);
  return {
    get secret() {
      return driver.secret;
    },
    get loss() {
      return driver.loss;
    },
    uncertainMs: driver.uncertainMs,
    insert: observed('insert', driver.insert, (stored, { version }) => stored.version === version),
    compareAndSet: observed('compareAndSet', driver.compareAndSet),
    recover: observed('recover', driver.recover),
    find: observed('find', driver.find),
    search: observed('search', driver.search),
    count,
    purge: observed('purge', driver.purge),
    acceptLoss: driver.acceptLoss,
    close() {
      isClosing = true;
      clearInterval(probe);
      return driver.close();
    },
  };
}
