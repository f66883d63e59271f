import { TransportFailure } from '../http/http-message.ts';
import { LinkedList, type ListNode } from '../linked-list.ts';

/** Something that waits, and can be told to stop waiting. */
export interface Waiter {
  onEnd(failure: TransportFailure): void;
}

interface OperationDeadlineOptions {
  /** When waiters give up, in milliseconds of performance.now(); never if omitted. */
  readonly deadline?: number;
  /** Makes them give up when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The deadline and cancellation of all reads of one GraphQL operation. However many wait, there is one timer and one
 * abort listener, and only while any waits.
 */
export class OperationDeadline {
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #waiters = new LinkedList<Waiter>();
  readonly #onAbort = () => this.#endAll(callerLeft(true));
  #timer: NodeJS.Timeout | undefined;
  #isCancelled = false;

  constructor({ deadline = Number.POSITIVE_INFINITY, signal }: OperationDeadlineOptions = {}) {
    this.#deadline = deadline;
    this.#signal = signal;
  }

  /** Why no further read may start (with `sent` false); null while there is time. */
  get ended(): TransportFailure | null {
    if (this.#isCancelled || this.#signal?.aborted) return callerLeft(false);
    if (performance.now() < this.#deadline) return null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  /** The same with an earlier deadline. */
  cappedAt(deadline: number): OperationDeadline {
    return new OperationDeadline({ deadline: Math.min(deadline, this.#deadline), signal: this.#signal });
  }

  /** Makes all waiters give up, also those added later. */
  cancel(): void {
    this.#isCancelled = true;
    this.#onAbort();
  }

  /** Adds a waiter, until it is removed or told to give up. The deadline must not have ended. */
  addWaiter(waiter: Waiter): ListNode<Waiter> {
    if (this.#waiters.first === null) this.#start();
    return this.#waiters.append(waiter);
  }

  /** Removes a waiter. One that was told to give up has been removed already; removing it again does nothing. */
  removeWaiter(wait: ListNode<Waiter>): void {
    this.#waiters.remove(wait);
    if (this.#waiters.first !== null) return;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  #start(): void {
    this.#signal?.addEventListener('abort', this.#onAbort);
    if (this.#deadline === Number.POSITIVE_INFINITY) return;
    const timeoutMs = this.#deadline - performance.now();
    this.#timer = setTimeout(() => this.#endAll(timedOut(timeoutMs)), timeoutMs);
  }

  #endAll(failure: TransportFailure): void {
    for (let wait = this.#waiters.first; wait !== null; wait = this.#waiters.first) {
      this.removeWaiter(wait);
      wait.value.onEnd(failure);
    }
  }
}

const callerLeft = (sent: boolean) => new TransportFailure('cancelled', sent, 'the caller left');
const timedOut = (timeoutMs: number) =>
  new TransportFailure('timeout', true, `no whole answer within ${timeoutMs} ms`);
