import type { Cancel } from './cancel.ts';
import { type Deadline, Deadlines } from './deadlines.ts';
import { TransportFailure } from './wire.ts';

export interface TurnstileOptions {
  /** How many may be inside at the same time. */
  readonly places: number;
  /** How long one may wait outside, in milliseconds. */
  readonly waitMs: number;
}

export interface Turnstile {
  /** Takes a place where one is free; who is given one leaves it once. */
  tryEnter(): boolean;
  /**
   * Waits for a place.
   * Errors: TransportFailure, not sent: `overloaded` where the wait was too long, `cancelled` where it was given up.
   */
  enter(caller: string, waitMs: number, cancel?: Cancel): Promise<void>;
  leave(): void;
  /** How many are inside. */
  readonly inside: number;
}

/** A caller that waits, with what it waits for. */
interface Turn {
  readonly caller: string;
  readonly queue: Waiting[];
}

/** One that waits outside. */
class Waiting {
  readonly turn: Turn;
  readonly #resolve: () => void;
  readonly #reject: (failure: TransportFailure) => void;
  readonly #cancel: Cancel | undefined;
  deadline: Deadline | null = null;

  constructor(
    turn: Turn,
    resolve: () => void,
    reject: (failure: TransportFailure) => void,
    cancel: Cancel | undefined,
  ) {
    this.turn = turn;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#cancel = cancel;
  }

  end(failure: TransportFailure | null): void {
    if (this.#cancel !== undefined) this.#cancel.onRaise = null;
    if (failure === null) this.#resolve();
    else this.#reject(failure);
  }
}

/**
 * Bounds how many calls are under way. Those that wait are let in caller by caller, in turn: one who asks for a
 * thousand things waits for himself.
 */
export function createTurnstile({ places, waitMs }: TurnstileOptions): Turnstile {
  let inside = 0;
  const deadlines = new Deadlines();
  /** Callers that wait, in the order of their turns. */
  const turns: Turn[] = [];
  const ofCaller = new Map<string, Turn>();

  function turnOf(caller: string): Turn {
    const known = ofCaller.get(caller);
    if (known !== undefined) return known;
    const turn = { caller, queue: [] };
    ofCaller.set(caller, turn);
    turns.push(turn);
    return turn;
  }

  function giveUp(waiting: Waiting, failure: TransportFailure): void {
    const { turn, deadline } = waiting;
    if (deadline !== null) deadlines.clear(deadline);
    turn.queue.splice(turn.queue.indexOf(waiting), 1);
    if (turn.queue.length === 0) {
      ofCaller.delete(turn.caller);
      turns.splice(turns.indexOf(turn), 1);
    }
    waiting.end(failure);
  }

  return {
    get inside() {
      return inside;
    },
    tryEnter() {
      if (inside >= places) return false;
      inside++;
      return true;
    },
    enter(caller, atMostMs, cancel) {
      if (this.tryEnter()) return Promise.resolve();
      if (cancel?.isRaised) return Promise.reject(left());
      return new Promise((resolve, reject) => {
        const turn = turnOf(caller);
        const waiting = new Waiting(turn, resolve, reject, cancel);
        turn.queue.push(waiting);
        waiting.deadline = deadlines.set(performance.now() + Math.min(waitMs, atMostMs), () =>
          giveUp(waiting, new TransportFailure('overloaded', false, 'no connection became free in time')),
        );
        if (cancel !== undefined) cancel.onRaise = () => giveUp(waiting, left());
      });
    },
    leave() {
      inside--;
      const turn = turns.shift();
      const next = turn?.queue.shift();
      if (turn === undefined || next === undefined) return;
      if (turn.queue.length > 0) turns.push(turn);
      else ofCaller.delete(turn.caller);
      if (next.deadline !== null) deadlines.clear(next.deadline);
      inside++;
      next.end(null);
    },
  };
}

const left = () => new TransportFailure('cancelled', false, 'the caller left');
