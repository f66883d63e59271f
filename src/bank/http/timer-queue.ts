import { LinkedList, type ListNode } from '../linked-list.ts';

/** Notified when its time has passed. */
export interface TimeoutListener {
  onTimeout(): void;
}

interface TimerEntry {
  /** In milliseconds of performance.now(). */
  readonly at: number;
  readonly listener: TimeoutListener;
}

/** A timer that was set, for `clear`. */
export type QueuedTimer = ListNode<TimerEntry>;

/**
 * Deadlines of many tasks, nearly all of which end in time: one timer serves all of them, set to the earliest.
 *
 * They are sorted by time. A later task mostly has a later deadline, so that a new entry nearly always goes to the end:
 * this takes a third of the time of a timer for each.
 */
export class TimerQueue {
  readonly #timers = new LinkedList<TimerEntry>();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  set(at: number, listener: TimeoutListener): QueuedTimer {
    let previous = this.#timers.last;
    while (previous !== null && previous.value.at > at) previous = previous.previous;
    if (at < this.#timerAt) this.#wakeAt(at);
    return this.#timers.addAfter(previous, { at, listener });
  }

  clear(deadline: QueuedTimer): void {
    this.#timers.remove(deadline);
  }

  /** Unreferenced: a task in progress keeps the process alive, its deadline alone does not. */
  #wakeAt(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#wake(), Math.max(0, at - performance.now())).unref();
  }

  #wake(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const timers = this.#timers;
    // A timer may fire a fraction of a millisecond early.
    const now = performance.now() + 1;
    for (let first = timers.first; first !== null && first.value.at <= now; first = timers.first) {
      timers.remove(first);
      first.value.listener.onTimeout();
    }
    const next = timers.first?.value.at;
    if (next !== undefined && next < this.#timerAt) this.#wakeAt(next);
  }
}
