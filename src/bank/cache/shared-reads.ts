import { BankqlError, type ErrorCode } from '../../errors.ts';
import { callerId, subscriptionKeyId } from '../credentials.ts';
import { mapTransportFailure } from '../error-mapping.ts';
import type { CancellationToken } from '../http/cancellation.ts';
import { TransportFailure } from '../http/http-message.ts';
import type { PreparedCall } from '../request.ts';
import type { OperationDeadline } from '../resilience/operation-deadline.ts';
import { createInFlightRequests, Subscriber } from './in-flight-requests.ts';
import { type CachedValue, createPublicCache } from './public-cache.ts';

/** The result of a read. It may be shared, and must not be modified. */
export interface ReadResult {
  readonly answer: unknown;
  /** The Track-ID of the call that was answered; null for an operation without one. */
  readonly trackId: string | null;
  /** Set if the bank is unavailable and a cached answer is served instead: its age in milliseconds. */
  readonly staleMs?: number;
  /** Its size on the wire. */
  readonly bytes: number;
  /** The bank's status. */
  readonly status: number;
  /** False if a value in it is an error: such answers are not cached. */
  readonly isValid: boolean;
}

/** Where an answer came from: a call of its own, one that others share, the cache, or what the cache kept for a bank that is away. */
export type ReadSource = 'bank' | SharedSource;
export type SharedSource = 'joined' | 'cached' | 'stale';

export interface SharedReadsOptions {
  /** How long public data counts as fresh, in milliseconds; 0 for no cache. */
  readonly publicCacheTtlMs: number;
  /** What public data may take in memory, in bytes. */
  readonly publicCacheBytes: number;
  /** The deadline of a shared call, in milliseconds. */
  readonly timeoutMs: number;
  /** Is told how a read was answered without a call of its own; it must not throw. */
  readonly onShared?: ((operation: string, how: SharedSource) => void) | undefined;
}

const isUnavailable = (error: unknown) =>
  error instanceof BankqlError
    ? unavailableCodes.has(error.code)
    : error instanceof TransportFailure && error.reason === 'timeout';

/** Makes a call, without sharing. Errors: BankqlError. */
type SendRead = (
  call: PreparedCall,
  deadline: number,
  cancellation: CancellationToken,
) => Promise<ReadResult>;

const publicGroup = 'public';

/** Errors of an unavailable bank, for which a stale answer may be served. */
const unavailableCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'BANK_UNAVAILABLE',
  'BANK_TIMEOUT',
  'OVERLOADED',
]);

/**
 * Shares reads. If the same caller (all three credentials, byte for byte) repeats a read while it is in flight, it
 * joins that call: it gets the same answer, or the same error if the bank is unavailable; after any other failure it
 * makes a call of its own within its remaining time. Public data, which is requested without caller headers, is shared
 * by all callers with the same subscription key and cached for a while; while the bank is unavailable, for ten minutes
 * more.
 */
export function createSharedReads(
  { publicCacheTtlMs, publicCacheBytes, timeoutMs, onShared }: SharedReadsOptions,
  sendRead: SendRead,
) {
  const cache = createPublicCache<ReadResult>({ ttlMs: publicCacheTtlMs, maxBytes: publicCacheBytes });
  const inFlight = createInFlightRequests<ReadResult, ReadSubscriber>({
    start: ({ call, deadline }, cancellation) => sendRead(call, deadline, cancellation),
    store({ group, key }, result) {
      if (group === publicGroup && key !== null && result.isValid) cache?.set(key, result, result.bytes);
    },
  });

  /** A single read. */
  class ReadSubscriber extends Subscriber<ReadResult> {
    readonly call: PreparedCall;
    /** The deadline of the call that it starts, in milliseconds of performance.now(). */
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

    /**
     * An unavailable bank fails all subscribers. Any other error may concern only the request that was made, so each
     * calls again.
     */
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

  /** How a call is shared and cached. */
  function shareKeyOf({ operation, credentials, key: name }: PreparedCall, unshared: boolean): ShareKey {
    const isPublic = operation.audience === 'public';
    const group = isPublic ? publicGroup : callerId(credentials);
    if (unshared) return { group, key: null, cached: null };
    if (!isPublic) return { group, key: name, cached: null };
    const key = `${subscriptionKeyId(credentials)} ${name}`;
    return { group, key, cached: cache?.get(key) ?? null };
  }

  /**
   * Reads, joining the same read in flight if there is one.
   * Errors: BankqlError; a subscriber that gave up gets the error of a call that did not end.
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

    /** Invalidates what a write changes. Called before the bank is asked to change it, and after. */
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
