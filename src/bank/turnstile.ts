import { TransportFailure } from './transport.ts';

export interface TurnstileOptions {
  /** How many may be inside at the same time. */
  readonly places: number;
  /** How long one may wait outside, in milliseconds. */
  readonly waitMs: number;
}

export interface Turnstile {
  /**
   * Waits for a place; who is given one calls the answered function, once, to leave.
   * Errors: TransportFailure, not sent: `overloaded` where the wait was too long, `cancelled` where the signal was
   *         raised.
   */
  enter(caller: string, waitMs: number, signal?: AbortSignal): Promise<() => void>;
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

  function leave(): void {
    inside--;
    const [turn] = waiting;
    if (turn === undefined) return;
    const [caller, queue] = turn;
    waiting.delete(caller);
    const next = queue.shift();
    if (queue.length > 0) waiting.set(caller, queue);
    next?.();
  }

  function take(): () => void {
    inside++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      leave();
    };
  }

  return {
    get inside() {
      return inside;
    },
    enter(caller, atMostMs, signal) {
      if (inside < places) return Promise.resolve(take());
      return new Promise((resolve, reject) => {
        const queue = waiting.get(caller) ?? [];
        waiting.set(caller, queue);
        const end = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', cancel);
        };
        const letIn = () => {
          end();
          resolve(take());
        };
        const giveUp = (failure: TransportFailure) => {
          end();
          queue.splice(queue.indexOf(letIn), 1);
          if (queue.length === 0 && waiting.get(caller) === queue) waiting.delete(caller);
          reject(failure);
        };
        const cancel = () => giveUp(new TransportFailure('cancelled', false, 'the caller left'));
        const timer = setTimeout(
          () => giveUp(new TransportFailure('overloaded', false, 'no connection became free in time')),
          Math.min(waitMs, atMostMs),
        );
        queue.push(letIn);
        if (signal?.aborted) cancel();
        else signal?.addEventListener('abort', cancel);
      });
    },
  };
}
