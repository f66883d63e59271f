import { TransportFailure } from './http-message.ts';
import { LinkedList, type ListNode } from './linked-list.ts';
import type { PoolSession } from './pool.ts';

/** Notified when its time has passed. */
interface TimeoutListener {
  onTimeout(): void;
}

interface TimerEntry {
  /** In milliseconds of performance.now(). */
  readonly at: number;
  readonly listener: TimeoutListener;
}

/** A timer that was set, for `clear`. */
export type QueuedTimer = ListNode<TimerEntry>;

/** How late a timer may fire before it is taken for lost, in milliseconds. */
const maxLatenessMs = 1000;

/**
 * Deadlines of many tasks. Nearly all tasks end in time, so one timer serves all of them, set to the earliest.
 *
 * They are sorted by time. Tasks with the same limit have deadlines in the order in which they begin, so that a new
 * entry nearly always goes to the end: this takes a third of the time of a timer for each. Tasks with different limits
 * have different queues.
 */
export class TimerQueue {
  readonly #timers = new LinkedList<TimerEntry>();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** At `at`, in milliseconds of performance.now(); `now` is the time in the same unit. */
  set(at: number, listener: TimeoutListener, now = performance.now()): QueuedTimer {
    let previous = this.#timers.last;
    while (previous !== null && previous.value.at > at) previous = previous.previous;
    const timer = this.#timers.addAfter(previous, { at, listener });
    if (at < this.#timerAt || this.#timerAt < now - maxLatenessMs) this.#wakeAtFirst(now);
    return timer;
  }

  clear(timer: QueuedTimer): void {
    this.#timers.remove(timer);
  }

  /** Unreferenced: a task in progress keeps the process alive, its deadline alone does not. */
  #wakeAtFirst(now: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = this.#timers.first?.value.at ?? Number.POSITIVE_INFINITY;
    if (this.#timerAt === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#wake(), Math.max(0, this.#timerAt - now)).unref();
  }

  #wake(): void {
    // A timer may fire a fraction of a millisecond early.
    const now = performance.now() + 1;
    const timers = this.#timers;
    try {
      for (let first = timers.first; first !== null && first.value.at <= now; first = timers.first) {
        timers.remove(first);
        first.value.listener.onTimeout();
      }
    } finally {
      this.#wakeAtFirst(now - 1);
    }
  }
}

/** Something that waits, and can be told to stop waiting. */
export interface Waiter {
  onEnd(failure: TransportFailure): void;
}

interface OperationDeadlineOptions {
  /** When waiters give up, in milliseconds of performance.now(); never if omitted. */
  readonly deadline?: number;
  /** Makes them give up when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  readonly timers?: TimerQueue;
}

const operationTimers = new TimerQueue();

/**
 * The deadline and cancellation of all reads of one GraphQL operation. However many wait, there is one timer and one
 * abort listener, and only while any waits.
 */
export class OperationDeadline implements TimeoutListener {
  /** Once one of its reads got a connection, the others wait for theirs until their own deadline. */
  isServed: PoolSession['isServed'] = null;
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #timers: TimerQueue;
  readonly #waiters = new Set<Waiter>();
  readonly #onAbort = () => this.#endAll('cancelled');
  #timer: QueuedTimer | null = null;
  #isCancelled = false;

  constructor({
    deadline = Number.POSITIVE_INFINITY,
    signal,
    timers = operationTimers,
  }: OperationDeadlineOptions = {}) {
    this.#deadline = deadline;
    this.#signal = signal;
    this.#timers = timers;
  }

  /** Why no further read may start (with `sent` false) at this time of performance.now(); null while there is time. */
  endedAt(now: number): TransportFailure | null {
    if (this.#isCancelled || this.#signal?.aborted)
      return new TransportFailure('cancelled', false, 'the caller left');
    if (now < this.#deadline) return null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  get ended(): TransportFailure | null {
    return this.endedAt(performance.now());
  }

  /** The same with an earlier deadline. */
  cappedAt(deadline: number): OperationDeadline {
    return new OperationDeadline({
      deadline: Math.min(deadline, this.#deadline),
      signal: this.#signal,
      timers: this.#timers,
    });
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
      if (this.#deadline !== Number.POSITIVE_INFINITY) this.#timer = this.#timers.set(this.#deadline, this);
    }
    this.#waiters.add(waiter);
    return waiter;
  }

  /** Removes a waiter. Does nothing if it was removed before, as a waiter that has to give up is. */
  removeWaiter(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter) || this.#waiters.size > 0) return;
    if (this.#timer !== null) this.#timers.clear(this.#timer);
    this.#timer = null;
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  onTimeout(): void {
    this.#endAll('timeout');
  }

  #endAll(reason: 'timeout' | 'cancelled'): void {
    const message = reason === 'timeout' ? 'no whole answer came in time' : 'the caller left';
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
