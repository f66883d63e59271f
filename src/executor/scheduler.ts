import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/** How long deferred work may run before other events have a pause to themselves, in milliseconds. */
const workMs = 10;
/**
 * Iterations of the event loop without deferred work after so much of it. libuv accepts one connection in each, so that of
 * hundreds that wait, the last waits for as many iterations; an iteration with nothing to do takes microseconds.
 */
const iterationsBetween = 16;

/** A caller. Executions of different callers begin in turn, however many each of them asks for. */
export interface TurnTaker {
  /** The turn of its next execution. An execution takes one turn, and one more for each REST call, which is about as much work. */
  nextTurn: number;
  /** The turn in which the last one began. */
  lastTurn: number;
  /** Whether executions wait for its turn. */
  isWaiting: boolean;
}

export const newcomer = (): TurnTaker => ({ nextTurn: 0, lastTurn: 0, isWaiting: false });

/** A caller whose next turn is at most so many turns ahead does not wait: it asks for little. */
const turnsAhead = 8;

/** The turn in which a caller's next execution would end if it took as many turns as the last one. */
const endOfNext = ({ nextTurn, lastTurn }: TurnTaker): number => nextTurn + (nextTurn - lastTurn);

/**
 * In which order queues are served: what ends an answer first, then the beginnings of executions, which are short, then the rest
 * of long ones that have begun, then that of the others. After a time slice of beginnings, long ones have the next one.
 */
const stages = { finishing: 0, beginning: 1, begun: 2, waiting: 3 } as const;

export interface WorkQueueOptions {
  /**
   * Whether its pieces only resume what continues in microtasks, whose time the scheduler cannot see: one of them is then
   * followed by a pause.
   */
  readonly resumes?: boolean;
  /** Whether its work ends an answer that has been built, such as writing its JSON. */
  readonly finishes?: boolean;
  /** Whether its work is the beginnings of its caller's executions: one is run at a time, in the caller's turn. */
  readonly begins?: boolean;
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
  /** Whose executions begin in it; null if it is the work of one execution. */
  readonly taker: TurnTaker | null;
  readonly #scheduler: Scheduler;
  // AsyncLocalStorage.snapshot() takes a hundred times as long.
  readonly #context = new AsyncResource('bankql.WorkQueue', { requireManualDestroy: true });
  readonly #work: (() => void)[] = [];
  #next = 0;

  constructor(taker: TurnTaker = newcomer(), options: WorkQueueOptions = {}) {
    const { resumes = false, finishes = false, begins = false, scheduler = processScheduler } = options;
    this.resumes = resumes;
    this.stage = finishes ? stages.finishing : begins ? stages.beginning : stages.waiting;
    this.place = finishes || begins ? 0 : scheduler.placeOf(taker);
    this.taker = begins ? taker : null;
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
    this.#context.runInAsyncScope(() => {
      do this.#runNext();
      while (!this.resumes && this.taker === null && this.#next < this.#work.length && now() < end);
    });
    this.isRunning = false;
    this.#work.splice(0, this.#next);
    this.#next = 0;
    return this.#work.length > 0;
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
  /**
   * The queues that have work, in the order in which they are served. No Set: V8 links the tables that a Set has outgrown, and
   * one of them in the old generation keeps all later ones, with their requests, from being collected as young objects.
   */
  readonly #queues: WorkQueue[] = [];
  #isScheduled = false;
  /** The turn of the execution that began last, and how many long ones have begun. */
  #turn = 0;
  #begun = 0;
  /** How long deferred work has run since the last pause, in milliseconds. */
  #spentMs = 0;
  /** How many callers have executions that wait for their turn. */
  #waiting = 0;
  /** Whether beginnings had the last time slice: long executions come first in the next one, or they would starve. */
  #isLongFirst = false;
  /** Whether an execution has begun in this iteration of the event loop. */
  #hasBegun = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The next turn of a caller. */
  placeOf(taker: TurnTaker): number {
    const place = Math.max(this.#turn, taker.nextTurn);
    // The turns that it let pass are not turns that it took.
    taker.lastTurn += place - taker.nextTurn;
    taker.nextTurn = place + 1;
    return place;
  }

  /**
   * Begins an execution: at once if its caller asks for little, and else when the caller's turn has come. If a caller sends many
   * requests at once, those of others do not wait until all of them have begun.
   */
  begin<T>(taker: TurnTaker, execution: () => T | Promise<T>): T | Promise<T> {
    // If nobody waits, those that had many turns do not wait either.
    if (!this.#hasBegun && this.#waiting === 0) this.#turn = Math.max(this.#turn, taker.nextTurn);
    if (taker.nextTurn <= this.#turn + turnsAhead && !taker.isWaiting) {
      taker.lastTurn = Math.max(this.#turn, taker.nextTurn);
      taker.nextTurn = taker.lastTurn + 1;
      if (!this.#hasBegun) setImmediate(this.#endIteration);
      this.#hasBegun = true;
      return execution();
    }
    const beginnings = this.#beginningsOf(taker);
    const context = new AsyncResource('bankql.Beginning', { requireManualDestroy: true });
    return new Promise((resolve, reject) => {
      beginnings.push(() => {
        try {
          resolve(context.runInAsyncScope(execution));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** The queue of a caller's executions that wait for its turn. */
  #beginningsOf(taker: TurnTaker): WorkQueue {
    const waiting = taker.isWaiting ? this.#queues.find((queue) => queue.taker === taker) : undefined;
    if (waiting !== undefined) return waiting;
    taker.isWaiting = true;
    this.#waiting++;
    return new WorkQueue(taker, { begins: true, scheduler: this });
  }

  /** If executions wait, turns are over as these begin. */
  readonly #endIteration = () => {
    this.#hasBegun = false;
    if (this.#waiting === 0) this.#turn++;
  };

  enqueue(queue: WorkQueue): void {
    this.#insert(queue);
    this.#wake(0);
  }

  #insert(queue: WorkQueue): void {
    let from = 0;
    let to = this.#queues.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = this.#queues[middle];
      if (other !== undefined && queue.precedes(other)) to = middle;
      else from = middle + 1;
    }
    this.#queues.splice(from, 0, queue);
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
    let next = this.#queues[0];
    if (this.#isLongFirst && next?.taker) next = this.#queues.find(({ taker }) => taker === null) ?? next;
    // Turns that a caller has taken since it was put there have moved it back.
    while (next?.taker && next.place < endOfNext(next.taker)) {
      this.#queues.shift();
      next.place = endOfNext(next.taker);
      this.#insert(next);
      next = this.#queues[0];
    }
    if (next === undefined) return null;
    if (next.taker !== null) this.#takeTurn(next.taker);
    else if (next.stage === stages.waiting) this.#turn = Math.max(this.#turn, next.place);
    // It keeps its place in the list: all before it are served, and those behind it wait.
    if (next.stage === stages.waiting) next.begin(this.#begun++);
    return next;
  }

  /**
   * An execution of a caller that waited begins (weighted fair queueing): a turn is over when as many turns were taken as callers
   * wait. The number of turns of the last execution is known now.
   */
  #takeTurn(taker: TurnTaker): void {
    const { nextTurn, lastTurn } = taker;
    this.#turn += (nextTurn - lastTurn) / this.#waiting;
    // Every caller that waits is further on.
    if (this.#turn < nextTurn) this.#turn = Math.max(this.#turn, this.#earliestTurn());
    taker.lastTurn = nextTurn;
    taker.nextTurn = nextTurn + 1;
  }

  /** The next turn of the caller that is the furthest behind, of those that wait. */
  #earliestTurn(): number {
    let earliest = Infinity;
    for (const { taker } of this.#queues)
      if (taker !== null && taker.nextTurn < earliest) earliest = taker.nextTurn;
    return earliest;
  }

  #run(): void {
    this.#isScheduled = false;
    let isDue = false;
    let queue = this.#next();
    while (queue !== null) {
      const began = this.#now();
      if (!queue.runUntil(began + workMs - this.#spentMs, this.#now)) {
        this.#queues.splice(this.#queues.indexOf(queue), 1);
        if (queue.taker !== null) {
          queue.taker.isWaiting = false;
          this.#waiting--;
        }
      }
      this.#spentMs += this.#now() - began;
      isDue = queue.resumes || this.#spentMs >= workMs;
      this.#isLongFirst = isDue && queue.taker !== null;
      // The effects of the end of a queue happen in microtasks, before another one is served, unless that is a beginning.
      queue = isDue || this.#waiting === 0 ? null : this.#next();
    }
    if (isDue) this.#spentMs = 0;
    if (this.#queues.length > 0) this.#wake(isDue ? iterationsBetween : 0);
  }
}

const outside = AsyncLocalStorage.snapshot();
export const processScheduler = new Scheduler();

/** Runs one long piece of work that ends an answer, such as serializing it, before other executions begin. */
export const schedule = (work: () => void): void => new WorkQueue(undefined, { finishes: true }).push(work);
