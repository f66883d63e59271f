import type { PreparedCall } from './call.ts';
import type { Cancel } from './cancel.ts';
import { callerOf, keyOf } from './credentials.ts';
import { BankqlError, type ErrorCode } from './error.ts';
import { failureOf } from './failure.ts';
import { createFlights, Passenger } from './flights.ts';
import type { Patience } from './patience.ts';
import { createPublicCache, type Kept } from './public-cache.ts';
import { TransportFailure } from './wire.ts';

/** What is read, and may be shared: nobody may change it. */
export interface Fetched {
  readonly answer: unknown;
  /** The Track-ID of the call that was answered; null for an operation without one. */
  readonly trackId: string | null;
  /** Where the bank is away and an answer of before stands in: how old that is, in milliseconds. */
  readonly staleMs?: number;
  /** What it measured on the wire. */
  readonly bytes: number;
  /** False where an error stands in a value's place: errors are kept for nobody. */
  readonly isWhole: boolean;
}

export interface SharingOptions {
  /** How long public data counts as fresh, in milliseconds; 0 for no cache. */
  readonly publicCacheTtlMs: number;
  /** The deadline of a call that is shared, in milliseconds. */
  readonly timeoutMs: number;
  /** Is told how a read was answered without a call of its own; it must not throw. */
  readonly onShared?: ((operation: string, how: 'joined' | 'cached' | 'stale') => void) | undefined;
}

const isAway = (error: unknown) =>
  error instanceof BankqlError
    ? away.has(error.code)
    : error instanceof TransportFailure && error.reason === 'timeout';

/** Makes a call of its own. Errors: BankqlError. */
type Fetch = (call: PreparedCall, deadline: number, cancel: Cancel) => Promise<Fetched>;

const publicGroup = 'public';
const publicCacheBytes = 32 * 1024 * 1024;

/** Errors of a bank that is away, for which an answer of before may stand in. */
const away: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['BANK_UNAVAILABLE', 'BANK_TIMEOUT', 'OVERLOADED']);

/**
 * Reads that are shared. The same caller (all three credentials, byte for byte) who asks the same again while the
 * answer is under way gets that answer, or is told that the bank is away; where the call fails otherwise, they ask again
 * on their own within the time that they have left. Public data, for which no caller is sent, is shared by all who have the same
 * subscription key, and kept for a while; while the bank is away, for ten minutes more.
 */
export function createSharing({ publicCacheTtlMs, timeoutMs, onShared }: SharingOptions, fetch: Fetch) {
  const cache = createPublicCache<Fetched>({ ttlMs: publicCacheTtlMs, maxBytes: publicCacheBytes });
  const flights = createFlights<Fetched, Reading>({
    start: ({ call, deadline }, cancel) => fetch(call, deadline, cancel),
    keep({ group, key }, fetched) {
      if (group === publicGroup && key !== null && fetched.isWhole) cache?.keep(key, fetched, fetched.bytes);
    },
  });

  /** One who reads. */
  class Reading extends Passenger<Fetched> {
    readonly call: PreparedCall;
    /** Of the call that it makes, in milliseconds of performance.now(). */
    readonly deadline = performance.now() + timeoutMs;
    readonly #stale: Kept<Fetched> | null;
    readonly #resolve: (fetched: Fetched) => void;
    readonly #reject: (error: unknown) => void;

    constructor(
      call: PreparedCall,
      { group, key, kept }: Shared,
      patience: Patience,
      resolve: (fetched: Fetched) => void,
      reject: (error: unknown) => void,
    ) {
      super(group, key, patience);
      this.call = call;
      this.#stale = kept;
      this.#resolve = resolve;
      this.#reject = reject;
    }

    onAnswer(fetched: Fetched): void {
      if (this.joined) onShared?.(this.call.operation.id, 'joined');
      this.#resolve(fetched);
    }

    /** That the bank is away is true for all. What it says of a request may hold for that alone: they ask themselves. */
    onJoinedFailure(error: unknown): void {
      if (error instanceof BankqlError && error.code === 'BANK_UNAVAILABLE') {
        onShared?.(this.call.operation.id, 'joined');
        this.onFailure(error);
        return;
      }
      const { call, deadline, patience } = this;
      read(call, patience.until(deadline), true).then(this.#resolve, (error) => this.onFailure(error));
    }

    onFailure(error: unknown): void {
      const stale = this.#stale;
      if (stale !== null && isAway(error)) {
        onShared?.(this.call.operation.id, 'stale');
        this.#resolve({ ...stale.answer, staleMs: stale.ageMs });
      } else this.#reject(error instanceof TransportFailure ? failureOf(this.call, error) : error);
    }
  }

  /** What a call is shared as, and what is kept of it. */
  function sharedAs({ operation, credentials, name }: PreparedCall, alone: boolean): Shared {
    const isPublic = operation.audience === 'public';
    const group = isPublic ? publicGroup : callerOf(credentials);
    if (alone) return { group, key: null, kept: null };
    if (!isPublic) return { group, key: name, kept: null };
    const key = `${keyOf(credentials)} ${name}`;
    return { group, key, kept: cache?.find(key) ?? null };
  }

  /**
   * Reads, alone or together with who asks the same.
   * Errors: BankqlError; for who gave up, as for a call that did not end.
   */
  function read(call: PreparedCall, patience: Patience, alone: boolean): Promise<Fetched> {
    const { ended } = patience;
    if (ended !== null) return Promise.reject(failureOf(call, ended));
    const shared = sharedAs(call, alone);
    if (shared.kept?.isFresh) {
      onShared?.(call.operation.id, 'cached');
      return Promise.resolve(shared.kept.answer);
    }
    return new Promise((resolve, reject) => {
      flights.take(new Reading(call, shared, patience, resolve, reject));
    });
  }

  return {
    read,

    /** What was read of these before is out of date: said before the bank is asked to change it, and after. */
    changed({ operation, credentials }: PreparedCall): void {
      flights.close(callerOf(credentials));
      if (operation.audience !== 'public') return;
      flights.close(publicGroup);
      cache?.clear();
    },
  };
}

interface Shared {
  readonly group: string;
  readonly key: string | null;
  readonly kept: Kept<Fetched> | null;
}
