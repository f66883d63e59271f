import { TransportFailure } from './http-message.ts';

/** Something that waits, and can be told to stop waiting. */
export interface Waiter {
  onEnd(failure: TransportFailure): void;
}

interface OperationDeadlineOptions {
  /** When waiters give up, in milliseconds of performance.now(); never if omitted. */
  readonly deadline?: number;
  /** Makes them give up when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Makes them give up when it ends. */
  readonly parent?: OperationDeadline | undefined;
}

/**
 * The deadline and cancellation of all reads of one GraphQL operation. However many wait, there is one timer and one
 * abort listener, and only while any waits.
 */
export class OperationDeadline implements Waiter {
  /** Whether one of its reads was sent: the others then wait for their turn until their own deadline. */
  isServed = false;
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #parent: OperationDeadline | undefined;
  readonly #waiters = new Set<Waiter>();
  readonly #onAbort = () => this.#endAll('cancelled', 'the caller left');
  #timer: NodeJS.Timeout | undefined;
  #isCancelled = false;

  constructor({ deadline = Number.POSITIVE_INFINITY, signal, parent }: OperationDeadlineOptions = {}) {
    this.#deadline = deadline;
    this.#signal = signal;
    this.#parent = parent;
  }

  /** Why no further read may start (with `sent` false) at this time of performance.now(); null while there is time. */
  endedAt(now: number): TransportFailure | null {
    if (this.#isCancelled || this.#signal?.aborted)
      return new TransportFailure('cancelled', false, 'the caller left');
    if (now < this.#deadline) return this.#parent?.endedAt(now) ?? null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  get ended(): TransportFailure | null {
    return this.endedAt(performance.now());
  }

  /** The same with an earlier deadline. */
  cappedAt(deadline: number): OperationDeadline {
    return new OperationDeadline({ deadline, parent: this });
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
      this.#parent?.addWaiter(this);
      if (this.#deadline !== Number.POSITIVE_INFINITY) {
        const onTimeout = () => this.#endAll('timeout', 'no whole answer came in time');
        this.#timer = setTimeout(onTimeout, this.#deadline - performance.now()).unref();
      }
    }
    this.#waiters.add(waiter);
    return waiter;
  }

  /** Removes a waiter. Does nothing if it was removed before, as a waiter that has to give up is. */
  removeWaiter(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter) || this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#parent?.removeWaiter(this);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  onEnd({ reason, message }: TransportFailure): void {
    this.#endAll(reason, message);
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
 * The cancellation of one call, which ends what the call waits for at the moment. That is one thing at a time, so no list
 * of listeners is needed.
 */
export interface Cancellation {
  /** What the call waits for; null if that cannot be ended. */
  pending: { onCancel(): void } | null;
  readonly isCancelled: boolean;
}
