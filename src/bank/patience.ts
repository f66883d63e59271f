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
  readonly #waiting = new Set<Waiter>();
  readonly #onAbort = () => this.#end(left(true));
  #timer: NodeJS.Timeout | undefined;

  constructor({ deadline = Number.POSITIVE_INFINITY, signal }: PatienceOptions = {}) {
    this.#deadline = deadline;
    this.#signal = signal;
  }

  /** Why nobody waits any more, nothing being sent; null while there is time. */
  get ended(): TransportFailure | null {
    if (this.#signal?.aborted) return left(false);
    if (performance.now() < this.#deadline) return null;
    return new TransportFailure('timeout', false, 'the operation has no time left');
  }

  /** The same, with less time. */
  until(deadline: number): Patience {
    return new Patience({ deadline: Math.min(deadline, this.#deadline), signal: this.#signal });
  }

  /** Waits, until it is released or told to give up. It must not have ended. */
  hold(waiter: Waiter): void {
    this.#waiting.add(waiter);
    if (this.#waiting.size > 1) return;
    this.#signal?.addEventListener('abort', this.#onAbort);
    if (this.#deadline === Number.POSITIVE_INFINITY) return;
    const timeoutMs = this.#deadline - performance.now();
    this.#timer = setTimeout(() => this.#end(late(timeoutMs)), timeoutMs);
  }

  release(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  #end(failure: TransportFailure): void {
    for (const waiter of [...this.#waiting]) {
      this.release(waiter);
      waiter.giveUp(failure);
    }
  }
}

const left = (sent: boolean) => new TransportFailure('cancelled', sent, 'the caller left');
const late = (timeoutMs: number) =>
  new TransportFailure('timeout', true, `no whole answer within ${timeoutMs} ms`);
