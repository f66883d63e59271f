import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from './callers.ts';

/**
 * The longest time for which work runs in one iteration of the event loop, in milliseconds. Further work waits for a later
 * iteration.
 */
const sliceMs = 10;
/**
 * The pause after a slice, in iterations of the event loop. It ends earlier if it takes as long as a slice. libuv accepts one
 * connection in each iteration: without pauses, hundreds of new connections would wait for hundreds of slices. An iteration
 * without work takes microseconds.
 */
const iterationsBetween = 16;

/** Identifies an operation that has begun: each operation has its own object. */
export interface SlicedOperation {
  readonly caller: Caller;
}

/** A caller with waiting work. */
interface WaitingCaller {
  readonly caller: Caller;
  /**
   * The caller's virtual time. It begins with the least virtual time of the waiting callers, and advances by the time of the
   * caller's own work.
   */
  usedMs: number;
  /**
   * The work of operations that have begun. The first operation is served until it ends, so that few half-built answers exist.
   */
  readonly begun: Map<SlicedOperation, (() => void)[]>;
  /** Operations that have not begun. */
  readonly beginnings: (() => void)[];
  /** Whether a new operation is served next. New operations alternate with those that have begun. */
  beginsNext: boolean;
}

/**
 * Divides long work into slices, so that it does not block the process. Work runs at once while this iteration of the event loop
 * has used less than a slice. Otherwise it waits, and the caller that has used the least time is served next. A caller that
 * begins to wait starts with the least used time of the waiting callers. Work is not interrupted; long work checks `hasTime` at
 * intervals.
 */
export class Slices {
  readonly #now: () => number;
  readonly #waiting = new Map<Caller, WaitingCaller>();
  /** The time at which the first work of this iteration of the event loop began; null before it. */
  #beganAt: number | null = null;
  /** The pause after the last slice: its remaining iterations, and its start. */
  #pause = { left: 0, since: 0 };
  /** The caller whose work was served last and is not charged yet, and the time at which the work began. */
  #served: WaitingCaller | null = null;
  #servedAt = 0;

  constructor(now: () => number = performance.now.bind(performance)) {
    this.#now = now;
  }

  /** Whether work may still run in this slice. */
  get hasTime(): boolean {
    const now = this.#now();
    if (this.#beganAt === null) {
      this.#beganAt = now;
      awaitIteration(this.#onIteration);
    }
    return now - this.#beganAt < sliceMs;
  }

  /** Begins an operation: at once, or in the caller's next slice. Errors: those of the work. */
  begin<Result>(caller: Caller, work: () => Result | Promise<Result>): Result | Promise<Result> {
    if (this.hasTime) return work();
    return new Promise<void>((resolve) => this.#waitingCaller(caller).beginnings.push(resolve)).then(work);
  }

  /** Runs work of an operation that has begun: at once, or in the caller's next slice. Errors: those of the work. */
  run<Result>(operation: SlicedOperation, work: () => Result | Promise<Result>): Result | Promise<Result> {
    return this.hasTime ? work() : this.wait(operation).then(work);
  }

  /** Resolves in the next slice for work of an operation that has begun; never at once. */
  wait(operation: SlicedOperation): Promise<void> {
    const { begun } = this.#waitingCaller(operation.caller);
    const queue = begun.get(operation) ?? [];
    begun.set(operation, queue);
    return new Promise((resolve) => void queue.push(resolve));
  }

  #waitingCaller(caller: Caller): WaitingCaller {
    // Reading `hasTime` schedules `#onIteration`.
    void this.hasTime;
    let own = this.#waiting.get(caller);
    if (own === undefined) {
      const usedMs = this.#least()?.usedMs ?? 0;
      own = { caller, usedMs, begun: new Map(), beginnings: [], beginsNext: true };
      this.#waiting.set(caller, own);
    }
    return own;
  }

  #least(): WaitingCaller | null {
    let least: WaitingCaller | null = null;
    for (const own of this.#waiting.values()) if (least === null || own.usedMs < least.usedMs) least = own;
    return least;
  }

  readonly #onIteration = (): void => {
    const { left, since } = this.#pause;
    if (this.#waiting.size > 0 && left > 0 && this.#now() - since < sliceMs) {
      this.#pause.left--;
      awaitIteration(this.#onIteration);
      return;
    }
    this.#beganAt = null;
    if (this.#waiting.size === 0) return;
    void this.hasTime;
    this.#serve();
  };

  /** Serves waiting work: one piece in each iteration, however long it takes, and more while the slice lasts. */
  #serve(): void {
    const own = this.#least();
    if (own === null) return;
    this.#served = own;
    this.#servedAt = this.#now();
    const [pieces] = own.begun.values();
    const begins = own.beginnings.length > 0 && (own.beginsNext || pieces === undefined);
    own.beginsNext = !begins;
    const resolve = begins ? own.beginnings.shift() : pieces?.pop();
    resolve?.();
    // The work runs in microtasks, which end before the next tick.
    queueMicrotask(() => process.nextTick(this.#goOn));
  }

  readonly #goOn = (): void => {
    this.#charge();
    if (this.#waiting.size > 0 && this.hasTime) this.#serve();
    else this.#pause = { left: iterationsBetween, since: this.#now() };
  };

  /** Charges the work that was served last: adds its time to its caller's virtual time. */
  #charge(): void {
    const own = this.#served;
    if (own === null) return;
    this.#served = null;
    own.usedMs += this.#now() - this.#servedAt;
    // Only the first operation can have no work left, because only the first is served.
    const [first] = own.begun;
    if (first?.[1].length === 0) own.begun.delete(first[0]);
    if (own.begun.size + own.beginnings.length === 0) this.#waiting.delete(own.caller);
  }
}

/** Runs outside the async context of the request that calls it, which would otherwise be kept in memory. */
const outside = AsyncLocalStorage.snapshot();
const awaitIteration = (next: () => void) => void outside(setImmediate, next);

/** The slices that all work of this process shares. */
export const slices = new Slices();
