interface Links {
  previous: Deadline | null;
  next: Deadline | null;
}

/** A time that was set, for `clear`. */
export interface Deadline extends Links {
  /** In milliseconds of performance.now(). */
  readonly at: number;
  readonly onPass: () => void;
}

/**
 * Deadlines of many things that nearly all end before theirs: one timer for all of them, set to the first.
 *
 * They stand in the order of their times. What starts later mostly ends later, so that each finds its place at the end:
 * it takes a third of what a timer of its own would.
 */
export class Deadlines {
  readonly #ends: Links = { previous: null, next: null };
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  set(at: number, onPass: () => void): Deadline {
    const ends = this.#ends;
    let previous = ends.previous;
    while (previous !== null && previous.at > at) previous = previous.previous;
    const next = previous === null ? ends.next : previous.next;
    const deadline = { at, onPass, previous, next };
    (previous ?? ends).next = deadline;
    (next ?? ends).previous = deadline;
    if (at < this.#timerAt) this.#wakeAt(at);
    return deadline;
  }

  clear(deadline: Deadline): void {
    const ends = this.#ends;
    const { previous, next } = deadline;
    if (previous === null && ends.next !== deadline) return;
    (previous ?? ends).next = next;
    (next ?? ends).previous = previous;
    deadline.previous = null;
    deadline.next = null;
  }

  /** What is under way keeps the process running; its deadline alone does not. */
  #wakeAt(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#wake(), at - performance.now()).unref();
  }

  #wake(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const ends = this.#ends;
    // A timer may be a part of a millisecond early.
    const now = performance.now() + 1;
    for (let first = ends.next; first !== null && first.at <= now; first = ends.next) {
      this.clear(first);
      first.onPass();
    }
    if (ends.next !== null && ends.next.at < this.#timerAt) this.#wakeAt(ends.next.at);
  }
}
