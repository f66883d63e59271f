import { BankqlError, type ErrorCode } from '../../errors.ts';
import { callerId, subscriptionKeyId } from '../credentials.ts';
import { mapTransportFailure } from '../error-mapping.ts';
import type { CancellationToken } from '../http/cancellation.ts';
import { TransportFailure } from '../http/http-message.ts';
import type { PreparedCall } from '../request.ts';
import type { OperationDeadline } from '../resilience/operation-deadline.ts';
import { createInFlightRequests, Subscriber } from './in-flight-requests.ts';
import { type CachedValue, createPublicCache } from './public-cache.ts';

/** What is read, and may be shared: nobody may change it. */
export interface ReadResult {
  readonly answer: unknown;
  /** The Track-ID of the call that was answered; null for an operation without one. */
  readonly trackId: string | null;
  /** Where the bank is away and an answer of before stands in: how old that is, in milliseconds. */
  readonly staleMs?: number;
  /** What it measured on the wire. */
  readonly bytes: number;
  /** The bank's status. */
  readonly status: number;
  /** False where an error stands in a value's place: errors are kept for nobody. */
  readonly isValid: boolean;
}

/** Where an answer came from: a call of its own, one that others share, the cache, or what the cache kept for a bank that is away. */
export type ReadSource = 'bank' | SharedSource;
export type SharedSource = 'joined' | 'cached' | 'stale';

export interface SharedReadsOptions {
  /** How long public data counts as fresh, in milliseconds; 0 for no cache. */
  readonly publicCacheTtlMs: number;
  /** The deadline of a call that is shared, in milliseconds. */
  readonly timeoutMs: number;
  /** Is told how a read was answered without a call of its own; it must not throw. */
  readonly onShared?: ((operation: string, how: SharedSource) => void) | undefined;
}

const isUnavailable = (error: unknown) =>
  error instanceof BankqlError
    ? unavailableCodes.has(error.code)
    : error instanceof TransportFailure && error.reason === 'timeout';

/** Makes a call of its own. Errors: BankqlError. */
type SendRead = (
  call: PreparedCall,
  deadline: number,
  cancellation: CancellationToken,
) => Promise<ReadResult>;

const publicGroup = 'public';
const publicCacheBytes = 32 * 1024 * 1024;

/** Errors of a bank that is away, for which an answer of before may stand in. */
const unavailableCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'BANK_UNAVAILABLE',
  'BANK_TIMEOUT',
  'OVERLOADED',
]);

/**
 * Reads that are shared. The same caller (all three credentials, byte for byte) who asks the same again while the
 * answer is under way gets that answer, or is told that the bank is away; where the call fails otherwise, they ask again
 * on their own within the time that they have left. Public data, for which no caller is sent, is shared by all who have the same
 * subscription key, and kept for a while; while the bank is away, for ten minutes more.
 */
export function createSharedReads(
  { publicCacheTtlMs, timeoutMs, onShared }: SharedReadsOptions,
  sendRead: SendRead,
) {
  const cache = createPublicCache<ReadResult>({ ttlMs: publicCacheTtlMs, maxBytes: publicCacheBytes });
  const inFlight = createInFlightRequests<ReadResult, ReadSubscriber>({
    start: ({ call, deadline }, cancellation) => sendRead(call, deadline, cancellation),
    store({ group, key }, result) {
      if (group === publicGroup && key !== null && result.isValid) cache?.set(key, result, result.bytes);
    },
  });

  /** One who reads. */
  class ReadSubscriber extends Subscriber<ReadResult> {
    readonly call: PreparedCall;
    /** Of the call that it makes, in milliseconds of performance.now(). */
    readonly deadline = performance.now() + timeoutMs;
    readonly #stale: CachedValue<ReadResult> | null;
    readonly #onSource: OnSource;
    readonly #resolve: (result: ReadResult) => void;
    readonly #reject: (error: unknown) => void;

    constructor(
      call: PreparedCall,
      { group, key, cached }: ShareKey,
      operationDeadline: OperationDeadline,
      onSource: OnSource,
      resolve: (result: ReadResult) => void,
      reject: (error: unknown) => void,
    ) {
      super(group, key, operationDeadline);
      this.call = call;
      this.#stale = cached;
      this.#onSource = onSource;
      this.#resolve = resolve;
      this.#reject = reject;
    }

    onResult(result: ReadResult): void {
      if (this.isShared) this.#isAnsweredBy('joined');
      this.#resolve(result);
    }

    /** That the bank is away is true for all. What it says of a request may hold for that alone: they ask themselves. */
    onSharedFailure(error: unknown): void {
      if (error instanceof BankqlError && error.code === 'BANK_UNAVAILABLE') {
        this.#isAnsweredBy('joined');
        this.onFailure(error);
        return;
      }
      const { call, deadline, operationDeadline } = this;
      read(call, operationDeadline.cappedAt(deadline), true, this.#onSource).then(this.#resolve, (error) =>
        this.onFailure(error),
      );
    }

    #isAnsweredBy(source: SharedSource): void {
      onShared?.(this.call.operation.id, source);
      this.#onSource?.(source);
    }

    onFailure(error: unknown): void {
      const stale = this.#stale;
      if (stale !== null && isUnavailable(error)) {
        this.#isAnsweredBy('stale');
        this.#resolve({ ...stale.answer, staleMs: stale.ageMs });
      } else this.#reject(error instanceof TransportFailure ? mapTransportFailure(this.call, error) : error);
    }
  }

  /** What a call is shared as, and what is kept of it. */
  function shareKeyOf({ operation, credentials, key: name }: PreparedCall, unshared: boolean): ShareKey {
    const isPublic = operation.audience === 'public';
    const group = isPublic ? publicGroup : callerId(credentials);
    if (unshared) return { group, key: null, cached: null };
    if (!isPublic) return { group, key: name, cached: null };
    const key = `${subscriptionKeyId(credentials)} ${name}`;
    return { group, key, cached: cache?.get(key) ?? null };
  }

  /**
   * Reads, alone or together with who asks the same.
   * Errors: BankqlError; for who gave up, as for a call that did not end.
   */
  function read(
    call: PreparedCall,
    operationDeadline: OperationDeadline,
    unshared: boolean,
    onSource?: OnSource,
  ): Promise<ReadResult> {
    const { ended } = operationDeadline;
    if (ended !== null) return Promise.reject(mapTransportFailure(call, ended));
    const shared = shareKeyOf(call, unshared);
    if (shared.cached?.isFresh) {
      onShared?.(call.operation.id, 'cached');
      onSource?.('cached');
      return Promise.resolve(shared.cached.answer);
    }
    return new Promise((resolve, reject) => {
      inFlight.subscribe(new ReadSubscriber(call, shared, operationDeadline, onSource, resolve, reject));
    });
  }

  return {
    read,

    /** What was read of these before is out of date: said before the bank is asked to change it, and after. */
    invalidate({ operation, credentials }: PreparedCall): void {
      inFlight.invalidate(callerId(credentials));
      if (operation.audience !== 'public') return;
      inFlight.invalidate(publicGroup);
      cache?.clear();
    },
  };
}

/** Is told where an answer comes from that is not the bank's to a call of its own. */
type OnSource = ((source: SharedSource) => void) | undefined;

interface ShareKey {
  readonly group: string;
  readonly key: string | null;
  readonly cached: CachedValue<ReadResult> | null;
}
