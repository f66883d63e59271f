import { AsyncResource } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';
import { BankqlError, type ErrorCode } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import { type Cancellation, OperationDeadline, type Waiter } from './deadline.ts';
import { mapTransportFailure } from './errors.ts';
import { TransportFailure } from './http-message.ts';
import type { Fetch, Reader, ReadResult } from './parsed-responses.ts';
import type { PreparedCall } from './request.ts';
import type { CallLimits, ReadBudget } from './transport.ts';

/** Where an answer came from: a call of its own, one that others share, the cache, or what the cache kept for an unavailable bank. */
export type ReadSource = 'bank' | SharedSource;
export type SharedSource = 'joined' | 'cached' | 'stale';

export interface ShareOptions {
  /** How long public data counts as fresh, in milliseconds; 0 for no cache. */
  readonly publicCacheTtlMs: number;
  /** The memory that public data may take, in bytes. */
  readonly publicCacheBytes: number;
  /** How long a caller's own data is cached, in milliseconds; 0, the default, for no cache. */
  readonly privateCacheMs?: number;
  /** The memory that callers' own data may take, in bytes; as much as public data if it is left out. */
  readonly privateCacheBytes?: number;
  /** The deadline of a shared call, in milliseconds. */
  readonly timeoutMs: number;
  /** Called when a read was answered without a call of its own; it must not throw. */
  readonly onShared?: ((operation: string, how: SharedSource) => void) | undefined;
}

/** How long a read's caller waits, and whether it may share another's call. */
export interface ReadLimits {
  /** Shared by all reads of an operation; as long as the call itself takes if omitted. */
  readonly operationDeadline?: OperationDeadline | null;
  /** That of the same operation (default: nothing is bounded). */
  readonly readBudget?: ReadBudget | null;
  /** Joins no call and takes nothing from the cache: the reads of a mutation see what it wrote. */
  readonly unshared?: boolean;
  /**
   * Called with the answer's source, if that is no call of its own; `ageMs` is the age of a stale answer. It must not
   * throw.
   */
  readonly onSource?: ((source: SharedSource, operation: string, ageMs: number) => void) | undefined;
}

/** Errors of an unavailable bank, for which a stale answer may be served. */
const unavailableCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'BANK_UNAVAILABLE',
  'BANK_TIMEOUT',
  'OVERLOADED',
]);
const isUnavailable = (error: unknown) =>
  error instanceof BankqlError
    ? unavailableCodes.has(error.code)
    : error instanceof TransportFailure && error.reason === 'timeout';

const publicGroup = 'public';

/** AsyncLocalStorage.snapshot would do the same in a hundred times the time. */
const contextOptions = { requireManualDestroy: true };

/** How long a stale answer may be served while the bank is unavailable. */
const staleMs = 10 * 60 * 1000;

/** Callers whose private answers are found: of more, those who read last. */
const maxCallers = 10_000;

/** Records that tell what became of a payment: they are never cached. */
const paymentOutcomes: ReadonlySet<string> = new Set(['transaction', 'transaction request']);

/**
 * Shares reads. If the same caller (all three credentials, byte for byte) repeats a read while it is in flight, it
 * joins that call: it gets the same answer, or the same error if the bank is unavailable; after any other failure it
 * makes a call of its own within its remaining time. Public data, which is requested without caller headers, is shared
 * by all callers with the same subscription key and cached for a while; while the bank is unavailable, for ten minutes
 * more. A caller's own data is cached only if that is configured, for a short time.
 *
 * A shared call has a deadline of its own: a read that gives up does not fail the others, and when the last one has
 * given up the call is cancelled. Reads belong to groups (one per caller; one for public data). A write invalidates the
 * group: later reads do not join calls started before it, and the answers of those are not cached. Other processes notice
 * no write: what they cached stays until its time is over.
 */
export class SharedReads {
  /** The reads that can be joined, by group and key. */
  readonly #groups = new Map<string, Map<string, Joinable>>();
  /** The deadline of a call, in milliseconds. */
  readonly timeoutMs: number;
  readonly #options: ShareOptions;
  readonly #public: AnswerCache<ReadResult> | null;
  readonly #private: AnswerCache<ReadResult> | null;
  /** For each caller with private answers, a number that is part of their keys: without it they are not found. */
  readonly #generations = new LRUCache<string, number>({ max: maxCallers });
  #lastGeneration = 0;
  readonly #fetch: Fetch;

  constructor(options: ShareOptions, next: Fetch) {
    const {
      publicCacheTtlMs,
      publicCacheBytes,
      privateCacheMs = 0,
      privateCacheBytes = publicCacheBytes,
      timeoutMs,
    } = options;
    this.timeoutMs = timeoutMs;
    this.#options = options;
    this.#public =
      publicCacheTtlMs === 0 ? null : new AnswerCache(publicCacheTtlMs, publicCacheBytes, staleMs);
    this.#private = privateCacheMs === 0 ? null : new AnswerCache(privateCacheMs, privateCacheBytes);
    this.#fetch = next;
  }

  /**
   * Reads, joining the same read in flight if there is one.
   * Errors: BankqlError; a read that gave up gets the error of a call that did not end.
   */
  read(call: PreparedCall, limits: ReadLimits, reader: Reader): void {
    const now = performance.now();
    const ended = limits.operationDeadline?.endedAt(now) ?? null;
    if (ended !== null) {
      reader.onError(mapTransportFailure(call, ended));
      return;
    }
    const { operation, caller } = call;
    const isPublic = operation.audience === 'public';
    const group = isPublic ? publicGroup : caller.id;
    const key = isPublic ? `${caller.keyId} ${call.key}` : call.key;
    let stale: CachedValue<ReadResult> | null = null;
    if (!limits.unshared) {
      const cached = isPublic ? this.#public?.get(key, now) : this.#private?.get(this.#privateKey(call), now);
      if (cached?.isFresh) {
        this.#options.onShared?.(operation.id, 'cached');
        limits.onSource?.('cached', operation.id, 0);
        reader.onAnswer(cached.answer);
        return;
      }
      if (isPublic) stale = cached ?? null;
      const first = this.#groups.get(group)?.get(key)?.read ?? null;
      if (first !== null) {
        first.join(new Read(this, { call, limits, reader, group, key, stale }, now));
        return;
      }
    }
    const read = new Read(this, { call, limits, reader, group, key, stale }, now);
    if (!limits.unshared) this.#open(read);
    this.#fetch(call, read, read);
  }

  /** Other reads can join it from now on. */
  #open(read: Read): void {
    const { group, key } = read;
    read.joinable = { read };
    const open = this.#groups.get(group) ?? getOrMake(this.#groups, group, () => new Map());
    open.set(key, read.joinable);
  }

  /** Invalidates what a write changes. To be called before the bank is asked to change it, and after. */
  invalidate({ operation, caller }: PreparedCall): void {
    this.#groups.delete(caller.id);
    this.#generations.delete(caller.id);
    if (operation.audience !== 'public') return;
    this.#groups.delete(publicGroup);
    this.#public?.clear();
  }

  noteShared(operation: string, source: SharedSource): void {
    this.#options.onShared?.(operation, source);
  }

  /** No other read joins it any more. Returns whether others could until now. */
  detach(read: Read): boolean {
    const { group, key, joinable } = read;
    if (joinable === null) return false;
    joinable.read = null;
    read.joinable = null;
    const open = this.#groups.get(group);
    if (open?.get(key) !== joinable) return false;
    open.delete(key);
    if (open.size === 0) this.#groups.delete(group);
    return true;
  }

  /** A call was answered. */
  settle(read: Read, result: ReadResult): void {
    const { call, group, key } = read;
    if (!this.detach(read) || !result.isValid) return;
    if (group === publicGroup) this.#public?.set(key, result, result.bytes);
    else if (!paymentOutcomes.has(call.operation.resource))
      this.#private?.set(this.#privateKey(call), result, result.bytes);
  }

  #privateKey({ caller: { id }, key }: PreparedCall): string {
    const generation = getOrMake(this.#generations, id, () => ++this.#lastGeneration);
    return `${generation} ${id} ${key}`;
  }
}

/** A call that is asked for, and its reader. */
interface Asked {
  readonly call: PreparedCall;
  readonly limits: ReadLimits;
  readonly reader: Reader;
  readonly group: string;
  /** Identifies the request, within the group. */
  readonly key: string;
  /** The value to serve if the bank is unavailable. */
  readonly stale: CachedValue<ReadResult> | null;
}

/** A read that others can join; null once they cannot, so that no table of a Map keeps it. */
interface Joinable {
  read: Read | null;
}

/**
 * One read: it makes a call, which others may join, or joins another's. Its fields are declared only, since initialising
 * them takes a call for each read.
 */
class Read implements Cancellation, CallLimits, Reader, Waiter {
  declare readonly call: PreparedCall;
  declare readonly limits: ReadLimits;
  declare readonly group: string;
  declare readonly key: string;
  declare readonly deadline: number;
  declare readonly operationDeadline: OperationDeadline | null;
  declare readonly readBudget: ReadBudget | null;
  /** What cancels its call. */
  declare readonly cancellation: Cancellation;
  declare pending: Cancellation['pending'];
  declare isCancelled: boolean;
  declare isWaiting: boolean;
  /** While others can join it. */
  declare joinable: Joinable | null;
  declare private readonly shared: SharedReads;
  declare private readonly reader: Reader;
  declare private readonly stale: CachedValue<ReadResult> | null;
  /** The reads that joined, if any did. */
  declare private others: Set<Read> | null;
  /** The read that it joined, and its own async context: it may have to call again. */
  declare private joined: Read | null;
  declare private context: AsyncResource | null;
  /** Work over its answer that waits for a turn. */
  declare private work: SharedWork | null;

  constructor(shared: SharedReads, { call, limits, reader, group, key, stale }: Asked, now: number) {
    const { operationDeadline = null, readBudget = null } = limits;
    this.call = call;
    this.limits = limits;
    this.group = group;
    this.key = key;
    this.deadline = now + shared.timeoutMs;
    this.operationDeadline = operationDeadline;
    this.readBudget = readBudget;
    this.cancellation = this;
    this.pending = null;
    this.isCancelled = false;
    this.isWaiting = true;
    this.joinable = null;
    this.shared = shared;
    this.reader = reader;
    this.stale = stale;
    this.others = null;
    this.joined = null;
    this.context = null;
    this.work = null;
    operationDeadline?.addWaiter(this);
  }

  join(other: Read): void {
    this.others ??= new Set();
    this.others.add(other);
    other.joined = this;
    other.context = new AsyncResource('BankCall', contextOptions);
    other.#runFor(this);
  }

  /** Does work over its answer in the first turn of any operation that waits for it: one whose turn comes late delays no other. */
  run(bytes: number, work: () => void): void {
    this.work = new SharedWork(bytes, work);
    this.#runFor(this);
    for (const other of this.others ?? []) other.#runFor(this);
  }

  #dropWork(): void {
    this.work?.drop();
    this.work = null;
  }

  /** Does the work of a read, its own or the one that it joined, in a turn of its operation. */
  #runFor({ call, work }: Read): void {
    if (work === null) return;
    // The operations of one caller have the same turns.
    if (this.joined !== null && this.call.caller.name === call.caller.name) return;
    if (this.readBudget === null) work.run();
    else this.readBudget.run(work.bytes, work.run);
  }

  onAnswer(result: ReadResult): void {
    this.#dropWork();
    this.shared.settle(this, result);
    if (this.isWaiting) {
      this.#stopWaiting();
      this.reader.onAnswer(result);
    }
    this.#settleOthers((other) => {
      other.#stopWaiting();
      other.#isAnsweredBy('joined');
      other.reader.onAnswer(result);
    });
  }

  onError(error: unknown): void {
    this.#dropWork();
    this.shared.detach(this);
    if (this.isWaiting) {
      this.#stopWaiting();
      this.#fail(error);
    }
    this.#settleOthers((other) => {
      other.#stopWaiting();
      other.context?.runInAsyncScope(() => other.#failShared(error));
    });
  }

  #settleOthers(settle: (other: Read) => void): void {
    const { others } = this;
    this.others = null;
    if (others !== null) settleInTurns(others.values(), settle);
  }

  /** The operation has ended. */
  onEnd(failure: TransportFailure): void {
    const first = this.joined ?? this;
    this.#stopWaiting();
    this.#fail(failure);
    first.others?.delete(this);
    if (first.isWaiting || first.others?.size) return;
    this.shared.detach(first);
    first.isCancelled = true;
    first.pending?.onCancel();
    // A body that nobody needs any more must not wait: callers that give up at once would fill the memory with them.
    first.#dropWork();
  }

  #stopWaiting(): void {
    this.isWaiting = false;
    this.operationDeadline?.removeWaiter(this);
  }

  /**
   * An unavailable bank fails all reads that share a call. Any other error may concern only the request that was made,
   * so each calls again.
   */
  #failShared(error: unknown): void {
    if (error instanceof BankqlError && error.code === 'BANK_UNAVAILABLE') {
      this.#isAnsweredBy('joined');
      this.#fail(error);
      return;
    }
    const { deadline, operationDeadline } = this;
    const own = {
      ...this.limits,
      operationDeadline: operationDeadline?.cappedAt(deadline) ?? new OperationDeadline({ deadline }),
      unshared: true,
    };
    this.shared.read(this.call, own, {
      onAnswer: (result) => this.reader.onAnswer(result),
      onError: (error) => this.#fail(error),
    });
  }

  #isAnsweredBy(source: SharedSource, ageMs = 0): void {
    const { id } = this.call.operation;
    this.shared.noteShared(id, source);
    this.limits.onSource?.(source, id, ageMs);
  }

  #fail(error: unknown): void {
    const { stale, reader } = this;
    if (stale !== null && isUnavailable(error)) {
      this.#isAnsweredBy('stale', stale.ageMs);
      reader.onAnswer(stale.answer);
    } else reader.onError(error instanceof TransportFailure ? mapTransportFailure(this.call, error) : error);
  }
}

/** Work that waits for the first turn of several operations: in the other turns, which may come late, nothing is kept of it. */
class SharedWork {
  readonly bytes: number;
  #work: (() => void) | null;
  #context: AsyncResource | null = new AsyncResource('BankCall', contextOptions);

  constructor(bytes: number, work: () => void) {
    this.bytes = bytes;
    this.#work = work;
  }

  readonly run = (): void => {
    const [work, context] = [this.#work, this.#context];
    this.drop();
    if (work !== null) context?.runInAsyncScope(work);
  };

  drop(): void {
    this.#work = null;
    this.#context = null;
  }
}

/** How many reads that joined a call settle in one iteration of the event loop: the operation of each continues at once. */
const settledAtOnce = 8;

function settleInTurns(others: Iterator<Read>, settle: (other: Read) => void): void {
  for (let settled = 0; settled < settledAtOnce; settled++) {
    const { value, done } = others.next();
    if (done) return;
    // Its operation may have ended meanwhile.
    if (value.isWaiting) settle(value);
  }
  setImmediate(() => settleInTurns(others, settle));
}

/** A cached answer, with its age in milliseconds. */
interface CachedValue<T> {
  readonly answer: T;
  readonly ageMs: number;
  readonly isFresh: boolean;
}

/** Approximate overhead of an entry besides its answer and key: answers may be as short as `{}`. */
const entryBytes = 500;

interface CacheEntry<T> {
  readonly answer: T;
  readonly bytes: number;
  readonly storedAt: number;
}

/**
 * Caches answers. They are shared and must not be modified. Other processes have their own cache, and may serve an answer
 * from before a write for up to one `ttlMs`.
 */
export class AnswerCache<T> {
  readonly #ttlMs: number;
  readonly #cache: LRUCache<string, CacheEntry<T>>;

  /** Answers stay for `staleMs` after they are fresh. */
  constructor(ttlMs: number, maxBytes: number, staleMs = 0) {
    this.#ttlMs = ttlMs;
    this.#cache = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }, key) => bytes + 2 * key.length + entryBytes,
      ttl: ttlMs + staleMs,
    });
  }

  /** The value at `now`, in milliseconds of performance.now(); null if there is no value. */
  get(key: string, now = performance.now()): CachedValue<T> | null {
    const found = this.#cache.get(key);
    if (found === undefined) return null;
    const ageMs = now - found.storedAt;
    return { answer: found.answer, ageMs, isFresh: ageMs < this.#ttlMs };
  }

  /** `bytes` is the answer's size on the wire. */
  set(key: string, answer: T, bytes: number): void {
    this.#cache.set(key, { answer, bytes, storedAt: performance.now() });
  }

  clear(): void {
    this.#cache.clear();
  }
}
