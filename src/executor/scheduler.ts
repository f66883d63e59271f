import { AsyncLocalStorage } from 'node:async_hooks';

/** How long deferred work may take of one iteration of the event loop, and how long one queue's of that, in milliseconds. */
const iterationMs = 10;
const turnMs = 5;
/**
 * Iterations without deferred work after one with it. libuv accepts one connection in each: where hundreds wait, the last
 * would wait for as many iterations, and an iteration in which nothing happens takes microseconds.
 */
const iterationsBetween = 16;

/** Work of one execution, in its order. Make it where the work belongs: it runs in that asynchronous context. */
export class WorkQueue {
  /** Whether its work runs at the moment. */
  isRunning = false;
  readonly #scheduler: Scheduler;
  readonly #inContext = AsyncLocalStorage.snapshot();
  #work: (() => void)[] = [];
  #next = 0;

  constructor(scheduler: Scheduler = processScheduler) {
    this.#scheduler = scheduler;
  }

  /** Runs work in a later iteration of the event loop, after what was pushed before it. */
  push(work: () => void): void {
    this.#work.push(work);
    // While it runs, it is given its next turn afterwards.
    if (this.#work.length === 1) this.#scheduler.enqueue(this);
  }

  /** Runs its work until a time, one piece at least. True: there is more. */
  runUntil(end: number, now: () => number): boolean {
    this.isRunning = true;
    this.#inContext(() => {
      do this.#runNext();
      while (this.#next < this.#work.length && now() < end);
    });
    this.isRunning = false;
    if (this.#next < this.#work.length) return true;
    this.#work = [];
    this.#next = 0;
    return false;
  }

  #runNext(): void {
    try {
      this.#work[this.#next++]?.();
    } catch (error) {
      // Uncaught where it belongs: the others' turns go on.
      setImmediate(() => {
        throw error;
      });
    }
  }
}

/**
 * Runs deferred work of all executions, each in its turn, for a limited time of each iteration of the event loop: what
 * arrives is served in between, however many long executions there are.
 */
export class Scheduler {
  readonly #now: () => number;
  /** Who has work, in the order of their turns. */
  readonly #queues = new Set<WorkQueue>();
  #isScheduled = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  enqueue(queue: WorkQueue): void {
    this.#queues.add(queue);
    this.#wake(0);
  }

  /** Runs after so many iterations. */
  #wake(iterations: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const wait = (left: number): void => {
      setImmediate(() => (left > 0 ? wait(left - 1) : this.#run()));
    };
    // Out of the context of whoever comes first, which it would keep.
    outside(() => wait(iterations));
  }

  #run(): void {
    const now = this.#now;
    let time = now();
    const end = time + iterationMs;
    // A set is gone through in the order in which its members came, those that come meanwhile too.
    for (const queue of this.#queues) {
      this.#queues.delete(queue);
      if (queue.runUntil(Math.min(end, time + turnMs), now)) this.#queues.add(queue);
      time = now();
      if (time >= end) break;
    }
    this.#isScheduled = false;
    if (this.#queues.size > 0) this.#wake(iterationsBetween);
  }
}

const outside = AsyncLocalStorage.snapshot();
const processScheduler = new Scheduler();

/** Runs work in its turn among the deferred work of all executions: for one long piece, such as making a long answer's JSON. */
export const schedule = (work: () => void): void => new WorkQueue().push(work);
