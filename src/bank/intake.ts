/** Up to this length a body is taken and parsed at once, in bytes: in less than a tenth of a millisecond. */
export const shortBody = 8 * 1024;
/** How much of longer bodies is taken in an iteration of the event loop, in bytes: some milliseconds of copying. */
const takenAtOnce = 512 * 1024;
/** How many bytes of bodies may wait to be parsed; while more do, one part of one body is taken in each iteration. */
const maxUnparsed = 256 * 1024;

/** A long body that arrives. */
export interface ArrivingBody {
  /** Leaves what is still to come in its connection, until `resume`. */
  pause(): void;
  resume(): void;
}

/**
 * Takes the bank's long answers no faster than they are parsed. If many arrive at the same time, the rest waits in their connections:
 * otherwise they would keep short answers waiting, and fill the memory before anybody has time for them.
 */
export class Intake {
  /** Bytes of bodies that wait to be parsed. */
  unparsed = 0;
  /** Bytes that were taken in this iteration. */
  #taken = 0;
  #isScheduled = false;
  /** The paused bodies, in the order in which they go on. The one that was resumed last comes first, so that it is taken to its end. */
  readonly #paused: ArrivingBody[] = [];
  #resumed: ArrivingBody | null = null;

  /** A part of a long body has arrived, of so many bytes; the body is paused if it comes too fast. */
  take(body: ArrivingBody, bytes: number): void {
    this.#taken += bytes;
    this.#schedule();
    if (this.#hasRoom) return;
    body.pause();
    if (body === this.#resumed) this.#paused.unshift(body);
    else this.#paused.push(body);
  }

  get #hasRoom(): boolean {
    return this.#taken <= takenAtOnce && this.unparsed <= maxUnparsed;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#goOn);
  }

  /** Begins an iteration. At least one body goes on, so that what waits to be parsed can never hold up all of them. */
  readonly #goOn = (): void => {
    this.#isScheduled = false;
    this.#taken = 0;
    do {
      this.#resumed = this.#paused.shift() ?? null;
      this.#resumed?.resume();
    } while (this.#resumed !== null && this.#hasRoom);
    this.#resumed = null;
    if (this.#paused.length > 0) this.#schedule();
  };
}

/** The intake of all reads of the process. */
export const intake = new Intake();
