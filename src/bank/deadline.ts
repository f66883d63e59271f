import { TransportFailure } from './http-message.ts';

/** Something that waits, and can be told to stop waiting. */
export interface Waiter {
  onEnd(failure: TransportFailure): void;
}

interface OperationDeadlineOptions {
  /** When waiters give up, in milliseconds of performance.now(); never if omitted. */
  readonly deadline?: number;
  /** Waiters give up when this signal is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The deadline and cancellation of all reads of one GraphQL operation. However many wait, there is one timer and one
 * abort listener, and only while any waits.
 */
export class OperationDeadline {
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #waiters = new Set<Waiter>();
  readonly #onAbort = () => this.#endAll('cancelled', 'the caller left');
  #timer: NodeJS.Timeout | undefined;
  #isCancelled = false;

  constructor({ deadline = Number.POSITIVE_INFINITY, signal }: OperationDeadlineOptions = {}) {
    this.#deadline = deadline;
    this.#signal = signal;
  }

  /** Why no further read may start (with `sent` false); null while there is time. */
  get ended(): TransportFailure | null {
    if (this.#isCancelled || this.#signal?.aborted)
      return new TransportFailure('cancelled', false, 'the caller left');
    if (performance.now() < this.#deadline) return null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  /** Makes all waiters give up, also those added later. */
  cancel(): void {
    this.#isCancelled = true;
    this.#onAbort();
  }

  /** Adds a waiter, until it is removed or told to give up. The deadline must not have ended. */
  addWaiter(waiter: Waiter): Waiter {
    if (this.#waiters.size === 0) {
      this.#signal?.addEventListener('abort', this.#onAbort);
      if (this.#deadline !== Number.POSITIVE_INFINITY) {
        const onTimeout = () => this.#endAll('timeout', 'no whole answer came in time');
        this.#timer = setTimeout(onTimeout, this.#deadline - performance.now()).unref();
      }
    }
    this.#waiters.add(waiter);
    return waiter;
  }

  /** Removes a waiter. Does nothing if the waiter was removed before; one that has to give up is removed first. */
  removeWaiter(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter) || this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  #endAll(reason: TransportFailure['reason'], message: string): void {
    const failure = new TransportFailure(reason, true, message);
    for (const waiter of this.#waiters) {
      this.removeWaiter(waiter);
      waiter.onEnd(failure);
    }
  }
}

/**
 * The cancellation of one call. It ends the wait that the call is in. A call waits for one thing at a time, so there is no list
 * of listeners.
 */
export interface Cancellation {
  /** The wait of the call; null if it does not wait, or cannot be cancelled now. */
  pending: { onCancel(): void } | null;
  readonly isCancelled: boolean;
}
