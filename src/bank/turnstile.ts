import type { Cancel } from './cancel.ts';
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

/**
 * Bounds how many calls are under way. Those that wait are let in caller by caller, in turn: one who asks for a
 * thousand things waits for himself.
 */
export function createTurnstile({ places, waitMs }: TurnstileOptions): Turnstile {
  let inside = 0;
  /** Callers that wait, in the order of their turns, each with its own queue. */
  const waiting = new Map<string, (() => void)[]>();

  function tryEnter(): boolean {
    if (inside >= places) return false;
    inside++;
    return true;
  }

  return {
    get inside() {
      return inside;
    },
    tryEnter,
    async enter(caller, atMostMs, cancel) {
      if (tryEnter()) return;
      if (cancel?.isRaised) throw left();
      await new Promise<void>((resolve, reject) => {
        const queue = waiting.get(caller) ?? [];
        waiting.set(caller, queue);
        const end = () => {
          clearTimeout(timer);
          if (cancel !== undefined) cancel.onRaise = null;
        };
        const letIn = () => {
          end();
          inside++;
          resolve();
        };
        const giveUp = (failure: TransportFailure) => {
          end();
          queue.splice(queue.indexOf(letIn), 1);
          if (queue.length === 0 && waiting.get(caller) === queue) waiting.delete(caller);
          reject(failure);
        };
        const timer = setTimeout(
          () => giveUp(new TransportFailure('overloaded', false, 'no connection became free in time')),
          Math.min(waitMs, atMostMs),
        );
        if (cancel !== undefined) cancel.onRaise = () => giveUp(left());
        queue.push(letIn);
      });
    },
    leave() {
      inside--;
      const [turn] = waiting;
      if (turn === undefined) return;
      const [caller, queue] = turn;
      waiting.delete(caller);
      const next = queue.shift();
      if (queue.length > 0) waiting.set(caller, queue);
      next?.();
    },
  };
}

const left = () => new TransportFailure('cancelled', false, 'the caller left');
