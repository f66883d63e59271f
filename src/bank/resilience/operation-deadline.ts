import { TransportFailure } from '../http/http-message.ts';
import { LinkedList, type ListNode } from '../linked-list.ts';

/** One who waits, and can be told that the waiting is over. */
export interface Waiter {
  onEnd(failure: TransportFailure): void;
}

interface OperationDeadlineOptions {
  /** When they give up, in milliseconds of performance.now(); never where it is left out. */
  readonly deadline?: number;
  /** Makes them give up where it is raised. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How long those who ask for one operation's reads wait, and what makes them give up. However many they are, it is one
 * timer and one listener, which are there while anybody waits.
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

  /** Why nobody waits any more, nothing being sent; null while there is time. */
  get ended(): TransportFailure | null {
    if (this.#isCancelled || this.#signal?.aborted) return callerLeft(false);
    if (performance.now() < this.#deadline) return null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  /** The same, with less time. */
  cappedAt(deadline: number): OperationDeadline {
    return new OperationDeadline({ deadline: Math.min(deadline, this.#deadline), signal: this.#signal });
  }

  /** Makes all give up, and whoever comes later. */
  cancel(): void {
    this.#isCancelled = true;
    this.#onAbort();
  }

  /** Waits, until it is released or told to give up. It must not have ended. */
  addWaiter(waiter: Waiter): ListNode<Waiter> {
    if (this.#waiters.first === null) this.#start();
    return this.#waiters.append(waiter);
  }

  /** Waits no longer. Who is told to give up was released already, which may be said again. */
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
