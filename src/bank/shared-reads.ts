import { LRUCache } from 'lru-cache';
import type { Answer, Operation } from '../contract/operation.ts';
import { BankqlError, type ErrorCode } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import type { Caller } from '../load/callers.ts';
import { parsedTimes } from '../load/capacity.ts';
import type { Call } from './call.ts';
import { mapTransportFailure } from './errors.ts';
import { type HttpResult, TransportFailure } from './http-message.ts';
import { OperationDeadline, type Waiter } from './operation-deadline.ts';
import { keyOf } from './request.ts';

/**
 * The source of an answer: its own call, a shared call, the cache, or a stale entry of the cache because the bank is
 * unavailable.
 */
export type ReadSource = 'bank' | SharedSource;
export type SharedSource = 'joined' | 'cached' | 'stale';

export interface SharedReadsOptions {
  /** The time for which public data counts as fresh, in milliseconds; 0 for no cache. */
  readonly publicCacheTtlMs: number;
  /** The memory that cached public data may use, in bytes. */
  readonly publicCacheBytes: number;
  /** The memory that answers to reads may use until they are parsed, in bytes; unlimited if omitted. */
  readonly arrivingBytes?: number;
  /** The deadline of a read, in milliseconds. */
  readonly timeoutMs: number;
  /** Called when a read was answered without a call of its own; it must not throw. */
  readonly onShared?: ((operation: string, how: SharedSource) => void) | undefined;
}

/** Limits the bytes of bank answers that a GraphQL operation may hold. */
export interface ReadBudget {
  /**
   * Counts bytes of an answer, which is kept until the operation ends. Returns false if there are too many. A negative number
   * releases bytes.
   */
  keep(bytes: number): boolean;
}

/** The limits of a reader's wait, and whether it may share another's call. */
export interface ReadLimits {
  /** The deadline that all reads of an operation share; by default that of the call. */
  readonly operationDeadline?: OperationDeadline | null;
  /** The memory limit of the GraphQL operation (default: unlimited). */
  readonly readBudget?: ReadBudget | null;
  /**
   * Whether the read makes a call of its own and skips the cache, so that the reads of a mutation see its
   * writes.
   */
  readonly unshared?: boolean;
  /**
   * Called with the answer's source, unless the read made a call itself. `ageMs`: the age of a stale answer. Must not
   * throw.
   */
  onSource?(source: SharedSource, operation: string, ageMs: number): void;
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
  /** False if one of its values is an error: such answers are not cached. */
  readonly isValid: boolean;
}

/** A read's result with the type of its operation's answer. */
export interface BankRead<T> extends ReadResult {
  readonly answer: T;
}

/**
 * Charges a call to its caller's rate limit; null if there is no limit. A retry is not charged.
 * Errors: RATE_LIMITED; the call must then not be made.
 */
export type Admit = ((call: Call) => Promise<void>) | null;

/** Errors of an unavailable bank, for which a stale answer may be served. */
const unavailableCodes: ReadonlySet<ErrorCode> = new Set(['BANK_UNAVAILABLE', 'BANK_TIMEOUT', 'OVERLOADED']);

/** The time for which a stale answer may be served while the bank is unavailable, in milliseconds. */
const staleMs = 10 * 60 * 1000;
/** The memory of a cache entry in addition to its answer, in bytes. */
const entryBytes = 500;
/** The size in bytes up to which an answer is accepted however much memory is in use. */
const smallAnswer = 128 * 1024;
/** The number of readers of one call that are served in one iteration of the event loop. */
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
 * All readers of a call get the same result, even a failure. Only a cancellation, a deadline or an exceeded memory budget ends
 * a single reader.
 *
 * Reads belong to groups (one per caller; one for public data). A write invalidates the group: later reads do not share calls
 * that began before it, and the answers of these calls are not cached. Other processes do not notice a write.
 */
export class SharedReads {
  readonly #options: SharedReadsOptions;
  readonly #admit: Admit;
  readonly #cache: LRUCache<string, CachedRead> | null;
  /**
   * The calls that further readers may share, by group and key. A Map that grows and shrinks all the time leaves a chain of old
   * tables, whose entries V8 keeps until it collects the old generation. Here such an entry is an empty Map, and not a call.
   */
  readonly #open = new Map<string, Map<string, Call>>();
  /** The bytes of all answers that are not parsed yet. */
  #arriving = 0;

  constructor(options: SharedReadsOptions, admit: Admit = null) {
    const { publicCacheTtlMs, publicCacheBytes } = options;
    this.#options = options;
    this.#admit = admit;
    this.#cache =
      publicCacheTtlMs === 0
        ? null
        : new LRUCache({
            maxSize: publicCacheBytes,
            sizeCalculation: ({ result }, key) => parsedTimes * result.bytes + 2 * key.length + entryBytes,
          });
  }

  /**
   * The answer to a read: from the cache, from the same read in flight, or from this call, which then begins. `wanted`: the
   * answer alone, or the whole result.
   * Shape:  the answer as in contract/.
   * Errors: BankqlError with any code of the bank's; those of `Admit`, and those of a reader that gives up.
   */
  read<T extends Operation>(call: Call<T>, limits: ReadLimits, wanted: 'answer'): Promise<Answer<T>>;
  read<T extends Operation>(
    call: Call<T>,
    limits: ReadLimits,
    wanted: 'result',
  ): Promise<BankRead<Answer<T>>>;
  read(call: Call, limits: ReadLimits, wanted: ResultKind): Promise<unknown> {
    const admitted = this.#admit?.(call);
    if (admitted !== undefined) return admitted.then(() => this.#read(call, limits, wanted));
    return this.#read(call, limits, wanted);
  }

  #read(call: Call, limits: ReadLimits, wanted: ResultKind): Promise<unknown> {
    const { operationDeadline } = limits;
    // A read that keeps all digits is for an update, which must not see shared or cached data.
    const unshared = call.keepDigits || limits.unshared === true;
    const now = performance.now();
    const ended = operationDeadline?.ended(now) ?? null;
    if (ended !== null) return Promise.reject(mapTransportFailure(call, ended));
    const { operation, credentials } = call;
    const isPublic = operation.audience === 'public';
    const group = isPublic ? publicGroup : credentials.id;
    const path = keyOf(call.path, call.body);
    const key = isPublic ? `${credentials.keyId} ${path}` : path;
    const known = isPublic && !unshared ? this.#cached(key) : null;
    if (known !== null && now - known.storedAt < this.#options.publicCacheTtlMs) {
      this.note(operation.id, limits, 'cached');
      return Promise.resolve(wanted === 'answer' ? known.result.answer : known.result);
    }
    const inFlight = unshared ? undefined : this.#open.get(group)?.get(key);
    const joined = inFlight !== undefined && now < inFlight.joinableUntil ? inFlight : null;
    return new Promise((resolve, reject) => {
      const { timeoutMs } = this.#options;
      const reader = new Reader(
        joined ?? call,
        credentials.caller,
        limits,
        now,
        timeoutMs,
        wanted,
        resolve,
        reject,
      );
      reader.known = known;
      reader.isJoined = joined !== null;
      if (joined !== null) return joined.join(reader);
      if (!unshared) {
        call.group = group;
        call.key = key;
        getOrMake(this.#open, group, () => new Map()).set(key, call);
      }
      call.begin(reader);
    });
  }

  /** Called before a write: calls in progress are not shared any more, and their answers are not cached. */
  endJoining({ operation, credentials }: Call): void {
    this.#open.delete(credentials.id);
    if (operation.audience === 'public') this.#open.delete(publicGroup);
  }

  /** Called after a write that may have changed something. */
  invalidate(call: Call): void {
    this.endJoining(call);
    if (call.operation.audience === 'public') this.#cache?.clear();
  }

  /** Serves all readers of a call with its result or an error. The result is cached if it is public, and nothing was written meanwhile. */
  settle(call: Call, result: ReadResult | null, error: unknown): void {
    this.release(call);
    if (this.#close(call) && call.group === publicGroup && result?.isValid === true)
      this.#cache?.set(call.key, { result, storedAt: performance.now() });
    this.#serve(call, result, error);
  }

  /** Ends the sharing of a call. Returns false if a write has already ended it (`endJoining`). */
  #close(call: Call): boolean {
    const { group, key } = call;
    const open = this.#open.get(group);
    if (open?.get(key) !== call) return false;
    open.delete(key);
    if (open.size === 0) this.#open.delete(group);
    return true;
  }

  /** Serves some readers now, and the others in later iterations of the event loop. */
  #serve(call: Call, result: ReadResult | null, error: unknown): void {
    for (const reader of call.readers.splice(0, settledAtOnce)) {
      if (result !== null) reader.succeed(result);
      else reader.fail(error);
    }
    if (call.readers.length > 0) setImmediate(() => this.#serve(call, result, error));
    else call.release();
  }

  /**
   * Counts bytes of an answer until it is parsed. Returns false if there are too many. A long answer may take at most half of the
   * free bytes, so that there is always memory for another one.
   */
  arrive(call: Call, bytes: number): boolean {
    const { arrivingBytes = Number.POSITIVE_INFINITY } = this.#options;
    call.arrived += bytes;
    this.#arriving += bytes;
    return call.arrived <= Math.max(smallAnswer, arrivingBytes - this.#arriving);
  }

  /** Called when a call no longer holds the bytes of its answer: they were parsed, or will not be. */
  release(call: Call): void {
    this.#arriving -= call.arrived;
    call.arrived = 0;
  }

  #cached(key: string): CachedRead | null {
    const known = this.#cache?.get(key) ?? null;
    if (known === null || performance.now() - known.storedAt < this.#options.publicCacheTtlMs + staleMs)
      return known;
    this.#cache?.delete(key);
    return null;
  }

  note(operation: string, limits: ReadLimits, source: SharedSource, ageMs = 0): void {
    this.#options.onShared?.(operation, source);
    limits.onSource?.(source, operation, ageMs);
  }
}

/** What a reader gets: the answer alone, the answer with its details (ReadResult), or the response of an unshared call. */
type ResultKind = 'answer' | 'result' | 'response';

/** Waits for the answer of a call, at most until the reader's own operation ends. */
export class Reader implements Waiter {
  readonly call: Call;
  readonly caller: Caller;
  readonly limits: ReadLimits;
  readonly wanted: ResultKind;
  readonly operationDeadline: OperationDeadline;
  readonly begunAt: number;
  /** The end of the read's own time limit; its operation may end earlier. */
  readonly wholeTime: number;
  readonly deadline: number;
  /** A cached answer that is no longer fresh. It is used if the bank is unavailable. */
  known: CachedRead | null = null;
  isJoined = false;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    call: Call,
    caller: Caller,
    limits: ReadLimits,
    now: number,
    timeoutMs: number,
    wanted: ResultKind,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.call = call;
    this.caller = caller;
    this.limits = limits;
    this.wanted = wanted;
    this.operationDeadline = limits.operationDeadline ?? new OperationDeadline();
    this.begunAt = now;
    this.wholeTime = now + timeoutMs;
    this.deadline = Math.min(this.wholeTime, this.operationDeadline.deadline);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onEnd(failure: TransportFailure): void {
    this.call.leave(this, failure);
  }

  /** Takes the response of an unshared call, or its failure. */
  receive(result: HttpResult): void {
    this.operationDeadline.removeWaiter(this);
    if (result instanceof TransportFailure) this.#reject(result);
    else this.#resolve(result);
  }

  succeed(result: ReadResult): void {
    this.operationDeadline.removeWaiter(this);
    if (this.limits.readBudget?.keep(result.bytes) === false) {
      this.leave(new TransportFailure('no room', true, 'there is no room for the answer'));
      return;
    }
    if (this.isJoined) this.#note('joined');
    this.#resolve(this.wanted === 'answer' ? result.answer : result);
  }

  fail(error: unknown): void {
    this.operationDeadline.removeWaiter(this);
    if (error instanceof BankqlError && unavailableCodes.has(error.code) && this.#serveStale()) return;
    if (this.isJoined) this.#note('joined');
    this.#reject(error);
  }

  /** Called when the reader gives up before the end of the call. */
  leave(failure: TransportFailure): void {
    this.operationDeadline.removeWaiter(this);
    if ((failure.reason === 'timeout' || failure.reason === 'overloaded') && this.#serveStale()) return;
    this.#reject(mapTransportFailure(this.call, failure));
  }

  #serveStale(): boolean {
    if (this.known === null) return false;
    const { result, storedAt } = this.known;
    this.#note('stale', performance.now() - storedAt);
    this.#resolve(this.wanted === 'answer' ? result.answer : result);
    return true;
  }

  #note(source: SharedSource, ageMs?: number): void {
    const { operation, target } = this.call;
    target.services.reads.note(operation.id, this.limits, source, ageMs);
  }
}
