import { AsyncLocalStorage } from 'node:async_hooks';

/** How long deferred work may run before other events have a pause to themselves, in milliseconds. */
const workMs = 10;
/**
 * Iterations of the event loop without deferred work after so much of it. libuv accepts one connection in each, so that of
 * hundreds that wait, the last waits for as many iterations; an iteration with nothing to do takes microseconds.
 */
const iterationsBetween = 16;

/** Whoever asks for executions. Those of different callers begin in turn, however many each of them asks for. */
export interface TurnTaker {
  /** Its place for the next one: the scheduler's. */
  nextTurn: number;
}

/** In which order queues are served: what ends an answer first, then what has begun, then what has not. */
const stages = { finishing: 0, begun: 1, waiting: 2 } as const;

export interface WorkQueueOptions {
  /**
   * Whether its pieces only resume what continues in microtasks, whose time the scheduler cannot see: one of them is then
   * followed by a pause.
   */
  readonly resumes?: boolean;
  /** Whether its work ends an answer that has been built, such as writing its JSON. */
  readonly finishes?: boolean;
  readonly scheduler?: Scheduler;
}

/**
 * The deferred work of one execution, in order. It runs in the asynchronous context in which the queue was created.
 */
export class WorkQueue {
  /** Whether its work is running now. */
  isRunning = false;
  readonly resumes: boolean;
  stage: (typeof stages)[keyof typeof stages];
  /** Its place among the queues of its stage. */
  place: number;
  readonly #scheduler: Scheduler;
  readonly #inContext = AsyncLocalStorage.snapshot();
  #work: (() => void)[] = [];
  #next = 0;

  constructor(taker: TurnTaker = { nextTurn: 0 }, options: WorkQueueOptions = {}) {
    const { resumes = false, finishes = false, scheduler = processScheduler } = options;
    this.resumes = resumes;
    this.stage = finishes ? stages.finishing : stages.waiting;
    this.place = finishes ? 0 : scheduler.placeOf(taker);
    this.#scheduler = scheduler;
  }

  /** Runs work in a later iteration of the event loop, after what was pushed before it. */
  push(work: () => void): void {
    this.#work.push(work);
    // A queue that is running is enqueued again afterwards.
    if (this.#work.length === 1) this.#scheduler.enqueue(this);
  }

  /** Begins it: it runs to its end before others begin. */
  begin(place: number): void {
    this.stage = stages.begun;
    this.place = place;
  }

  /** Whether it is served before another. */
  precedes({ stage, place }: WorkQueue): boolean {
    return this.stage < stage || (this.stage === stage && this.place < place);
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
 * Runs the deferred work of all executions, for a limited time before other events have a pause to themselves. An execution
 * that has begun runs to its end, unless it waits for the bank, before the next begins: answers that are half built do not
 * pile up. The next is that of the caller whose turn it is, and a caller that has not had one for a while comes first.
 */
export class Scheduler {
  readonly #now: () => number;
  /** The queues that have work. */
  readonly #queues = new Set<WorkQueue>();
  #isScheduled = false;
  /** The turn of the execution that began last, and how many have begun. */
  #turn = 0;
  #begun = 0;
  /** How long deferred work has run since the last pause, in milliseconds. */
  #spentMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The next turn of a caller. */
  placeOf(taker: TurnTaker): number {
    const place = Math.max(this.#turn, taker.nextTurn);
    taker.nextTurn = place + 1;
    return place;
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

  /** The queue that is served next; null if none has work. */
  #next(): WorkQueue | null {
    let next: WorkQueue | null = null;
    for (const queue of this.#queues) if (next === null || queue.precedes(next)) next = queue;
    if (next?.stage === stages.waiting) {
      this.#turn = next.place;
      next.begin(this.#begun++);
    }
    return next;
  }

  #run(): void {
    this.#isScheduled = false;
    const queue = this.#next();
    if (queue === null) return;
    const began = this.#now();
    // What follows from the end of a queue happens in microtasks, before another one is served.
    if (!queue.runUntil(began + workMs - this.#spentMs, this.#now)) this.#queues.delete(queue);
    this.#spentMs += this.#now() - began;
    const isDue = queue.resumes || this.#spentMs >= workMs;
    if (isDue) this.#spentMs = 0;
    if (this.#queues.size > 0) this.#wake(isDue ? iterationsBetween : 0);
  }
}

const outside = AsyncLocalStorage.snapshot();
const processScheduler = new Scheduler();

/** Runs one long piece of work that ends an answer, such as serializing it, before other executions begin. */
export const schedule = (work: () => void): void => new WorkQueue(undefined, { finishes: true }).push(work);
