import { AsyncResource } from 'node:async_hooks';
import { TransportFailure } from './http-message.ts';

/** An object that waits, and can be told to stop waiting. */
export interface Waiter {
  /** The time at which the waiter gives up, by performance.now(). It is not after the operation's deadline. */
  readonly deadline: number;
  onEnd(failure: TransportFailure): void;
}

interface OperationDeadlineOptions {
  /** The deadline of the waiters, in milliseconds of performance.now(); none if omitted. */
  readonly deadline?: number;
  /** Waiters give up when this signal is aborted. */
  readonly signal?: AbortSignal | undefined;
}

const never = Number.POSITIVE_INFINITY;

/**
 * The deadline and cancellation of all calls of one GraphQL operation. All waiters share one timer and one abort listener,
 * which exist only while somebody waits. A write or a payment has a deadline of its own, because no client can cancel it.
 *
 * The object keeps the async context of its operation, which `runInAsyncScope` restores: undici calls handlers in the context
 * of the request that opened the connection.
 */
export class OperationDeadline extends AsyncResource {
  /** The deadline of the waiters, in milliseconds of performance.now(). */
  readonly deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #waiters = new Set<Waiter>();
  readonly #onAbort = () => this.#endAll('cancelled', 'the caller left', never);
  #timer: NodeJS.Timeout | undefined;
  /** The time at which the timer fires, by performance.now(). */
  #timerAt = never;
  #isCancelled = false;

  constructor({ deadline = never, signal }: OperationDeadlineOptions = {}) {
    super('bankql.OperationDeadline');
    this.deadline = deadline;
    this.#signal = signal;
  }

  /** The failure of a call that would start now; null while the operation has time. */
  ended(now = performance.now()): TransportFailure | null {
    if (this.#isCancelled || this.#signal?.aborted)
      return new TransportFailure('cancelled', false, 'the caller left');
    if (now < this.deadline) return null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  /** Makes all waiters give up, including those that are added later. */
  cancel(): void {
    this.#isCancelled = true;
    this.#onAbort();
  }

  /** Adds a waiter, until it is removed or told to give up. The deadline must not have ended. */
  addWaiter(waiter: Waiter): Waiter {
    if (this.#waiters.size === 0) this.#signal?.addEventListener('abort', this.#onAbort);
    this.#waiters.add(waiter);
    if (waiter.deadline < this.#timerAt) this.#setTimer(waiter.deadline);
    return waiter;
  }

  /** Removes a waiter, if it still waits. A waiter is removed before its `onEnd` is called. */
  removeWaiter(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter) || this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#timerAt = never;
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  /** Sets the timer to this time, which is earlier than that of an existing timer. */
  #setTimer(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(this.#onTimeout, Math.ceil(at - performance.now())).unref();
  }

  readonly #onTimeout = (): void => {
    this.#timerAt = never;
    this.#endAll('timeout', 'no whole answer came in time', performance.now());
    for (const { deadline } of this.#waiters) if (deadline < this.#timerAt) this.#setTimer(deadline);
  };

  /** Ends the wait of all waiters whose deadline is `until` or earlier. */
  #endAll(reason: TransportFailure['reason'], message: string, until: number): void {
    const failure = new TransportFailure(reason, true, message);
    for (const waiter of this.#waiters) {
      if (waiter.deadline > until) continue;
      this.removeWaiter(waiter);
      waiter.onEnd(failure);
    }
  }
}
