import { LRUCache } from 'lru-cache';
import { BankqlError, type ErrorCode } from '../errors.ts';
import type { Cancellation, OperationDeadline, Waiter } from './deadline.ts';
import { TransportFailure } from './http-message.ts';
import type { PreparedCall } from './request.ts';
import type { CallLimits, ReadBudget } from './transport.ts';

/** Where an answer came from: a call of its own, one that others share, the cache, or what the cache kept for an unavailable bank. */
export type ReadSource = 'bank' | SharedSource;
export type SharedSource = 'joined' | 'cached' | 'stale';

export interface ReadsOptions {
  /** How long public data counts as fresh, in milliseconds; 0 for no cache. */
  readonly publicCacheTtlMs: number;
  /** The memory that cached public data may take, in bytes. */
  readonly publicCacheBytes: number;
  /** The memory that answers to reads may take until they are parsed, in bytes. No bound if omitted. */
  readonly arrivingBytes?: number;
  /** The deadline of a call, in milliseconds. */
  readonly timeoutMs: number;
  /** Called when a read was answered without a call of its own; it must not throw. */
  readonly onShared?: ((operation: string, how: SharedSource) => void) | undefined;
}

/** How long a reader waits, and whether it may share another's call. */
export interface ReadLimits {
  /** Shared by all reads of an operation; as long as the call itself takes if omitted. */
  readonly operationDeadline?: OperationDeadline | null;
  /** The budget of the GraphQL operation (default: none, so that nothing is bounded). */
  readonly readBudget?: ReadBudget | null;
  /** Whether to join no call and skip the cache, so that the reads of a mutation see its writes. */
  readonly unshared?: boolean;
  /**
   * Called with the answer's source, unless the read made a call itself; `ageMs` is the age of a stale answer. It must not
   * throw.
   */
  readonly onSource?: ((source: SharedSource, operation: string, ageMs: number) => void) | undefined;
}

/** The result of a read. It may be shared, and must not be modified. */
export interface ReadResult {
  readonly answer: unknown;
  /** The Track-ID of the call that was answered; null for an operation without one. */
  readonly trackId: string | null;
  /** The size of the bank's response, in bytes on the wire. */
  readonly bytes: number;
  /** The HTTP status of the bank's response. */
  readonly status: number;
  /** False if a value in it is an error: such answers are not cached. */
  readonly isValid: boolean;
}

/** Makes a call and parses the answer. Errors: BankqlError. */
export type Fetch = (call: PreparedCall, limits: CallLimits) => Promise<ReadResult>;

/** Errors of an unavailable bank, for which a stale answer may be served. */
const unavailableCodes: ReadonlySet<ErrorCode> = new Set(['BANK_UNAVAILABLE', 'BANK_TIMEOUT', 'OVERLOADED']);
const isUnavailable = (error: unknown) =>
  error instanceof BankqlError
    ? unavailableCodes.has(error.code)
    : error instanceof TransportFailure && error.reason === 'timeout';

/** How long a stale answer may be served while the bank is unavailable. */
const staleMs = 10 * 60 * 1000;
/**
 * The memory that a parsed answer takes, as a multiple of its bytes: measured 1.7 for usual records, 4.5 for the shortest. The
 * overhead of an entry is added, in bytes: answers may be as short as `{}`.
 */
const parsedTimes = 5;
const entryBytes = 500;
/** An answer up to this size may always arrive, in bytes. */
const smallAnswer = 128 * 1024;
/** How many readers of one call continue in one iteration of the event loop. */
const settledAtOnce = 8;
const publicGroup = 'public';

interface CachedRead {
  readonly result: ReadResult;
  readonly storedAt: number;
}

/**
 * Shares reads. If the same caller (all three credentials, byte for byte) repeats a read while it is in flight, both use one
 * call. Public data, which is requested without caller headers, is shared by all callers with the same subscription key, cached
 * for a while, and served for ten minutes more while the bank is unavailable.
 *
 * All errors of public data are shared. If a read of a caller's own data fails, only BANK_UNAVAILABLE is shared: after any other
 * error each reader that joined makes a call of its own within its remaining time.
 *
 * Reads belong to groups (one per caller; one for public data). A write invalidates the group: later reads do not join calls
 * started before it, and the answers of those are not cached. Other processes notice no write.
 */
export class Reads {
  readonly #options: ReadsOptions;
  readonly #fetch: Fetch;
  readonly #cache: LRUCache<string, CachedRead> | null;
  /** The calls that can be joined, by group and key. */
  readonly #open = new Map<string, Map<string, SharedCall>>();
  /** The bytes of all answers that are not parsed yet. */
  #arriving = 0;

  constructor(options: ReadsOptions, fetch: Fetch) {
    const { publicCacheTtlMs, publicCacheBytes } = options;
    this.#options = options;
    this.#fetch = fetch;
    this.#cache =
      publicCacheTtlMs === 0
        ? null
        : new LRUCache({
            maxSize: publicCacheBytes,
            sizeCalculation: ({ result }, key) => parsedTimes * result.bytes + 2 * key.length + entryBytes,
            ttl: publicCacheTtlMs + staleMs,
          });
  }

  /**
   * Reads, joining the same read in flight if there is one. `deadline` ends a call of its own, by performance.now().
   * Errors: those of the call; TransportFailure for a reader that gives up.
   */
  read(
    call: PreparedCall,
    limits: ReadLimits = {},
    deadline = performance.now() + this.#options.timeoutMs,
  ): Promise<ReadResult> {
    const ended = limits.operationDeadline?.ended ?? null;
    if (ended !== null) return Promise.reject(ended);
    const { operation, caller } = call;
    const isPublic = operation.audience === 'public';
    const group = isPublic ? publicGroup : caller.id;
    const key = isPublic ? `${caller.keyId} ${call.key}` : call.key;
    const known = isPublic && !limits.unshared ? this.#cache?.get(key) : undefined;
    if (known !== undefined && performance.now() - known.storedAt < this.#options.publicCacheTtlMs) {
      this.#note(call, limits, 'cached');
      return Promise.resolve(known.result);
    }
    const joined = limits.unshared ? undefined : this.#open.get(group)?.get(key);
    const shared = joined ?? this.#start(call, limits, group, key, deadline);
    const answer = this.#join(shared, limits);
    if (joined === undefined && known === undefined) return answer;
    return this.#sharedAnswer(answer, known, joined !== undefined, call, limits, deadline);
  }

  /** The answer of a call that another reader began; if the call fails, perhaps a stale answer. */
  async #sharedAnswer(
    answer: Promise<ReadResult>,
    known: CachedRead | undefined,
    isJoined: boolean,
    call: PreparedCall,
    limits: ReadLimits,
    deadline: number,
  ): Promise<ReadResult> {
    try {
      const result = await answer;
      if (isJoined) this.#note(call, limits, 'joined');
      return result;
    } catch (error) {
      if (known !== undefined && isUnavailable(error)) {
        this.#note(call, limits, 'stale', performance.now() - known.storedAt);
        return known.result;
      }
      if (!isJoined || error instanceof TransportFailure) throw error;
      const isShared =
        call.operation.audience === 'public' ||
        (error instanceof BankqlError && error.code === 'BANK_UNAVAILABLE');
      if (!isShared) return this.read(call, { ...limits, unshared: true }, deadline);
      this.#note(call, limits, 'joined');
      throw error;
    }
  }

  /** Invalidates the reads that a write affects. Call it before and after the write. */
  invalidate({ operation, caller }: PreparedCall): void {
    this.#open.delete(caller.id);
    if (operation.audience !== 'public') return;
    this.#open.delete(publicGroup);
    this.#cache?.clear();
  }

  #start(call: PreparedCall, limits: ReadLimits, group: string, key: string, deadline: number): SharedCall {
    const cancellation: SharedCall['cancellation'] = { pending: null, isCancelled: false };
    const shared: SharedCall = { group, key, cancellation, readers: new Set(), bytes: 0 };
    if (!limits.unshared) {
      const open = this.#open.get(group) ?? new Map<string, SharedCall>();
      this.#open.set(group, open.set(key, shared));
    }
    const { operationDeadline = null } = limits;
    const { arrivingBytes = Number.POSITIVE_INFINITY } = this.#options;
    const readBudget: ReadBudget = {
      // A long answer may take at most half of the free bytes, so that there is always room for one more.
      keep: (bytes) => {
        shared.bytes += bytes;
        this.#arriving += bytes;
        return shared.bytes <= Math.max(smallAnswer, arrivingBytes - this.#arriving);
      },
    };
    this.#fetch(call, { deadline, cancellation, operationDeadline, readBudget }).then(
      (result) => {
        if (this.#close(shared) && group === publicGroup && result.isValid)
          this.#cache?.set(key, { result, storedAt: performance.now() });
        this.#settle(shared, result);
      },
      (error) => {
        this.#close(shared);
        this.#settle(shared, null, error);
      },
    );
    return shared;
  }

  /** Nobody joins this call any more. Returns whether others could until now. */
  #close(shared: SharedCall): boolean {
    const open = this.#open.get(shared.group);
    if (open?.get(shared.key) !== shared) return false;
    open.delete(shared.key);
    if (open.size === 0) this.#open.delete(shared.group);
    return true;
  }

  /**
   * Adds a reader to a call, until it is settled or its operation ends. The last one to leave cancels the call.
   * Errors: those of the call; TransportFailure if its operation ends before, or has no room for the answer.
   */
  #join(shared: SharedCall, limits: ReadLimits): Promise<ReadResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ReadResult>();
    const onEnd = (failure: TransportFailure) => {
      reject(failure);
      shared.readers.delete(reader);
      if (shared.readers.size > 0) return;
      this.#close(shared);
      shared.cancellation.isCancelled = true;
      shared.cancellation.pending?.onCancel();
    };
    const reader = { limits, resolve, reject, onEnd };
    limits.operationDeadline?.addWaiter(reader);
    shared.readers.add(reader);
    return promise;
  }

  /** Ends the wait of all readers with the result or an error: some readers continue now, the others in later iterations. */
  #settle(shared: SharedCall, result: ReadResult | null, error?: unknown): void {
    this.#arriving -= shared.bytes;
    shared.bytes = 0;
    let left = settledAtOnce;
    for (const reader of shared.readers) {
      if (left-- === 0) {
        setImmediate(() => this.#settle(shared, result, error));
        return;
      }
      shared.readers.delete(reader);
      const { operationDeadline, readBudget } = reader.limits;
      operationDeadline?.removeWaiter(reader);
      if (result === null) reader.reject(error);
      else if (readBudget?.keep(result.bytes) !== false) reader.resolve(result);
      else reader.reject(new TransportFailure('no room', true, 'there is no room for the answer'));
    }
  }

  #note({ operation: { id } }: PreparedCall, limits: ReadLimits, source: SharedSource, ageMs = 0): void {
    this.#options.onShared?.(id, source);
    limits.onSource?.(source, id, ageMs);
  }
}

/**
 * A call and its readers. The call belongs to no reader: it has its own deadline, and its bytes count in no reader's budget
 * until they are parsed.
 */
interface SharedCall {
  readonly group: string;
  readonly key: string;
  readonly cancellation: { pending: Cancellation['pending']; isCancelled: boolean };
  readonly readers: Set<Reader>;
  bytes: number;
}

/** A read that waits for a call, until its GraphQL operation ends. */
interface Reader extends Waiter {
  readonly limits: ReadLimits;
  resolve(result: ReadResult): void;
  reject(error: unknown): void;
}
