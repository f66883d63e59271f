import { LinkedList, type ListNode } from '../linked-list.ts';

/** What is told that its time has passed. */
export interface TimeoutListener {
  onTimeout(): void;
}

interface TimerEntry {
  /** In milliseconds of performance.now(). */
  readonly at: number;
  readonly listener: TimeoutListener;
}

/** A time that was set, for `clear`. */
export type QueuedTimer = ListNode<TimerEntry>;

/**
 * Deadlines of many things that nearly all end before theirs: one timer for all of them, set to the first.
 *
 * They stand in the order of their times. What starts later mostly ends later, so that each finds its place at the end:
 * it takes a third of what a timer of its own would.
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

  /** What is under way keeps the process running; its deadline alone does not. */
  #wakeAt(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#wake(), Math.max(0, at - performance.now())).unref();
  }

  #wake(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const timers = this.#timers;
    // A timer may be a part of a millisecond early.
    const now = performance.now() + 1;
    for (let first = timers.first; first !== null && first.value.at <= now; first = timers.first) {
      timers.remove(first);
      first.value.listener.onTimeout();
    }
    const next = timers.first?.value.at;
    if (next !== undefined && next < this.#timerAt) this.#wakeAt(next);
  }
}
