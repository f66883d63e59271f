import { Chain, type Link } from './chain.ts';

/** What is told that its time has passed. */
export interface Timed {
  onTimeout(): void;
}

interface Due {
  /** In milliseconds of performance.now(). */
  readonly at: number;
  readonly timed: Timed;
}

/** A time that was set, for `clear`. */
export type Deadline = Link<Due>;

/**
 * Deadlines of many things that nearly all end before theirs: one timer for all of them, set to the first.
 *
 * They stand in the order of their times. What starts later mostly ends later, so that each finds its place at the end:
 * it takes a third of what a timer of its own would.
 */
export class Deadlines {
  readonly #chain = new Chain<Due>();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  set(at: number, timed: Timed): Deadline {
    let previous = this.#chain.last;
    while (previous !== null && previous.value.at > at) previous = previous.previous;
    if (at < this.#timerAt) this.#wakeAt(at);
    return this.#chain.addAfter(previous, { at, timed });
  }

  clear(deadline: Deadline): void {
    this.#chain.remove(deadline);
  }

  /** What is under way keeps the process running; its deadline alone does not. */
  #wakeAt(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#wake(), Math.max(0, at - performance.now())).unref();
  }

  #wake(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const chain = this.#chain;
    // A timer may be a part of a millisecond early.
    const now = performance.now() + 1;
    for (let first = chain.first; first !== null && first.value.at <= now; first = chain.first) {
      chain.remove(first);
      first.value.timed.onTimeout();
    }
    const next = chain.first?.value.at;
    if (next !== undefined && next < this.#timerAt) this.#wakeAt(next);
  }
}
