import { Chain, type Link } from './chain.ts';
import { TransportFailure } from './wire.ts';

/** One who waits, and can be told that the waiting is over. */
export interface Waiter {
  giveUp(failure: TransportFailure): void;
}

interface PatienceOptions {
  /** When they give up, in milliseconds of performance.now(); never where it is left out. */
  readonly deadline?: number;
  /** Makes them give up where it is raised. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How long those who ask for one operation's reads wait, and what makes them give up. However many they are, it is one
 * timer and one listener, which are there while anybody waits.
 */
export class Patience {
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting = new Chain<Waiter>();
  readonly #onAbort = () => this.#end(left(true));
  #timer: NodeJS.Timeout | undefined;
  #isCancelled = false;

  constructor({ deadline = Number.POSITIVE_INFINITY, signal }: PatienceOptions = {}) {
    this.#deadline = deadline;
    this.#signal = signal;
  }

  /** Why nobody waits any more, nothing being sent; null while there is time. */
  get ended(): TransportFailure | null {
    if (this.#isCancelled || this.#signal?.aborted) return left(false);
    if (performance.now() < this.#deadline) return null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  /** The same, with less time. */
  until(deadline: number): Patience {
    return new Patience({ deadline: Math.min(deadline, this.#deadline), signal: this.#signal });
  }

  /** Makes all give up, and whoever comes later. */
  cancel(): void {
    this.#isCancelled = true;
    this.#onAbort();
  }

  /** Waits, until it is released or told to give up. It must not have ended. */
  hold(waiter: Waiter): Link<Waiter> {
    if (this.#waiting.first === null) this.#begin();
    return this.#waiting.add(waiter);
  }

  /** Waits no longer. Who is told to give up was released already, which may be said again. */
  release(wait: Link<Waiter>): void {
    this.#waiting.remove(wait);
    if (this.#waiting.first !== null) return;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  #begin(): void {
    this.#signal?.addEventListener('abort', this.#onAbort);
    if (this.#deadline === Number.POSITIVE_INFINITY) return;
    const timeoutMs = this.#deadline - performance.now();
    this.#timer = setTimeout(() => this.#end(late(timeoutMs)), timeoutMs);
  }

  #end(failure: TransportFailure): void {
    for (let wait = this.#waiting.first; wait !== null; wait = this.#waiting.first) {
      this.release(wait);
      wait.value.giveUp(failure);
    }
  }
}

const left = (sent: boolean) => new TransportFailure('cancelled', sent, 'the caller left');
const late = (timeoutMs: number) =>
  new TransportFailure('timeout', true, `no whole answer within ${timeoutMs} ms`);
