import { AsyncLocalStorage } from 'node:async_hooks';

/** How long deferred work may run in one iteration of the event loop, and one queue within that, in milliseconds. */
const iterationMs = 10;
const turnMs = 5;
/**
 * Iterations without deferred work after one with it. libuv accepts one connection in each, so that of hundreds
 * that wait, the last waits for as many iterations; an iteration with nothing to do takes microseconds.
 */
const iterationsBetween = 16;

/**
 * The deferred work of one execution, in order. It runs in the asynchronous context in which the queue was created.
 */
export class WorkQueue {
  /** Whether its work is running now. */
  isRunning = false;
  /**
   * Whether its pieces only resume what continues in microtasks, whose time the scheduler cannot see: one of them is then
   * all that an iteration runs.
   */
  readonly resumes: boolean;
  readonly #scheduler: Scheduler;
  readonly #inContext = AsyncLocalStorage.snapshot();
  #work: (() => void)[] = [];
  #next = 0;

  constructor(scheduler: Scheduler = processScheduler, { resumes = false } = {}) {
    this.#scheduler = scheduler;
    this.resumes = resumes;
  }

  /** Runs work in a later iteration of the event loop, after what was pushed before it. */
  push(work: () => void): void {
    this.#work.push(work);
    // A queue that is running is enqueued again afterwards.
    if (this.#work.length === 1) this.#scheduler.enqueue(this);
  }

  /** Runs its work until the given time, but at least one item. Returns whether there is more. */
  runUntil(end: number, now: () => number): boolean {
    this.isRunning = true;
    this.#inContext(() => {
      do this.#runNext();
      while (!this.resumes && this.#next < this.#work.length && now() < end);
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
      // Thrown outside, as an uncaught exception: the turns of the other queues continue.
      setImmediate(() => {
        throw error;
      });
    }
  }
}

/**
 * Runs the deferred work of all executions in turn, for a limited time in each iteration of the event loop, so that
 * other requests are served in between, however many long executions there are.
 */
export class Scheduler {
  readonly #now: () => number;
  /** The queues that have work, in the order of their turns. */
  readonly #queues = new Set<WorkQueue>();
  #isScheduled = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  enqueue(queue: WorkQueue): void {
    this.#queues.add(queue);
    this.#wake(0);
  }

  /** Runs after this many iterations. */
  #wake(iterations: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const wait = (left: number): void => {
      setImmediate(() => (left > 0 ? wait(left - 1) : this.#run()));
    };
    // Outside the asynchronous context of the first caller, which would be retained otherwise.
    outside(() => wait(iterations));
  }

  #run(): void {
    const now = this.#now;
    let time = now();
    const end = time + iterationMs;
    // A Set is iterated in insertion order, including members added during the iteration.
    for (const queue of this.#queues) {
      this.#queues.delete(queue);
      if (queue.runUntil(Math.min(end, time + turnMs), now)) this.#queues.add(queue);
      time = now();
      if (time >= end || queue.resumes) break;
    }
    this.#isScheduled = false;
    if (this.#queues.size > 0) this.#wake(iterationsBetween);
  }
}

const outside = AsyncLocalStorage.snapshot();
const processScheduler = new Scheduler();

/**
 * Runs one long piece of work, such as serializing a long answer, in turn with the deferred work of all executions.
 */
export const schedule = (work: () => void): void => new WorkQueue().push(work);
