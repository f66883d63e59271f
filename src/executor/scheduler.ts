import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/**
 * How long deferred work may run before other events have a pause to themselves, and how long executions begin without waiting
 * for their turn in one iteration of the event loop, in milliseconds.
 */
const workMs = 10;
/**
 * Long work runs for this part of the pause before it if that is longer, up to so many milliseconds: under load a pause takes a tenth
 * of a second, and long work would have nearly none of the time.
 */
const pauseShare = 1 / 4;
const mostWorkMs = 50;
/**
 * Iterations of the event loop without deferred work after so much of it, unless they take as long as the work did. libuv accepts
 * one connection in each, so that of hundreds that wait, the last waits for as many iterations; an iteration with nothing to do
 * takes microseconds.
 */
const iterationsBetween = 16;

/** The callers whose REST calls wait for a connection, while too many do (bank/gate.ts). */
interface Crowd {
  isWaiting(caller: string): boolean;
}

/** A caller. Executions of different callers take turns, however many each of them asks for. */
export interface TurnTaker {
  readonly name: string;
  /** How many requests of it are in progress. */
  readonly requests: number;
  /** Whether it and others, which nobody has proven to be different callers, have more than half of all requests. */
  readonly isOfLargeGroup: boolean;
  /** Its next turn to begin executions. It takes one for each, and those that it owes for the one before. */
  beginnings: number;
  /** Its next turn of deferred work. */
  work: number;
  /**
   * The turns that it has still to take for its last execution, and those for the one before: for its time, its REST calls, what
   * they read and the deferred work.
   */
  owed: number;
  lastOwed: number;
  /** How many turns the deferred work of its last long execution took; null if there was none. */
  lastWork: number | null;
  /** Its executions that wait for their turn; null if none does. */
  waiting: WorkQueue | null;
}

export const newcomer = (): TurnTaker => ({
  name: '',
  requests: 1,
  isOfLargeGroup: false,
  beginnings: 0,
  work: 0,
  owed: 0,
  lastOwed: 0,
  lastWork: null,
  waiting: null,
});

/** How long work runs in a turn, in milliseconds: about as long as a REST call takes. */
export const turnMs = 0.125;
/** A beginning or a piece of deferred work takes no more turns than this: its time may be that of a garbage collection. */
const mostTurns = 64;
/**
 * How many turns a caller that let turns pass may catch up on. One that asks for a long answer now and then gets it before those
 * that ask all the time. No execution is expected to take more.
 */
const credit = 256;

type Executes<T> = (isLate: boolean) => T | Promise<T>;

/** An execution that waits for its turn. Once it is over it keeps nothing of its request. */
class Beginning<T> {
  #waiting: {
    readonly execution: Executes<T>;
    readonly resolve: (result: T | Promise<T>) => void;
    readonly reject: (error: unknown) => void;
    readonly context: AsyncResource;
  } | null;
  #stopWaiting = () => {};

  constructor(
    execution: Executes<T>,
    resolve: (result: T | Promise<T>) => void,
    reject: (error: unknown) => void,
  ) {
    const context = new AsyncResource('bankql.Beginning', { requireManualDestroy: true });
    this.#waiting = { execution, resolve, reject, context };
  }

  get isOver(): boolean {
    return this.#waiting === null;
  }

  /** While it waits: calls `onLate` after each `mostWaitMs`, and `onLeave` when its client leaves. */
  awaitEnd(onLate: () => void, onLeave: () => void, signal: AbortSignal | undefined): void {
    const timer = setInterval(onLate, mostWaitMs).unref();
    signal?.addEventListener('abort', onLeave);
    this.#stopWaiting = () => {
      clearInterval(timer);
      signal?.removeEventListener('abort', onLeave);
    };
  }

  /** Runs it in the asynchronous context of its request. */
  end(run: (execution: Executes<T>) => T | Promise<T>): void {
    if (this.#waiting === null) return;
    const { execution, resolve, reject, context } = this.#waiting;
    this.#waiting = null;
    this.#stopWaiting();
    this.#stopWaiting = () => {};
    try {
      resolve(context.runInAsyncScope(run, null, execution));
    } catch (error) {
      reject(error);
    }
  }
}

/** Whose turn it is (start-time fair queueing). */
class VirtualTime {
  /** The turn of the caller that was served last, or a later one: the turns that are taken pass for all that wait. */
  turn = 0;
  /** How many queues wait. */
  queues = 0;
  #latest = 0;

  /** The turn of a caller that has this one, after so many more. */
  after(turn: number, turns: number): number {
    const next = Math.max(this.turn - credit, turn) + turns;
    this.#latest = Math.max(this.#latest, next);
    // Otherwise callers that keep coming, each for the first time, would always be before those that wait.
    if (this.queues > 0) this.turn += turns / (this.queues + 1);
    return next;
  }

  serve(turn: number): void {
    this.turn = Math.max(this.turn, turn);
  }

  leave(): void {
    // Turns that callers took before nobody waited do not count: all are equal again.
    if (--this.queues === 0) this.turn = this.#latest + credit;
  }
}

/** How many turns the deferred work of an operation's executions takes, by earlier ones; null until then. */
export interface ExpectedWork {
  turns: number | null;
}

/** A caller whose next turn is at most so many turns ahead does not wait: it asks for little. */
const turnsAhead = 8;
/**
 * A caller's executions begin so many turns later for each other request of it that is in progress. Callers with one request go
 * first, even if those with many have just come and have taken no turns yet.
 */
const turnsPerRequest = 32;
/** The same for callers of a large group: one that invents names does not come before others. */
const turnsOfLargeGroup = 256;
/** How long an execution waits while connections to the bank are too few, in milliseconds. */
const mostWaitMs = 1000;
/** How many executions that have waited for too long are refused in one iteration: each takes some tenths of a millisecond. */
const refusedAtOnce = 16;

/**
 * In which order queues are served: what ends an answer first, then the beginnings of executions, which are short, then the rest
 * of long ones. After a time slice of beginnings, long ones have the next one.
 */
const stages = { finishing: 0, beginning: 1, long: 2 } as const;

interface WorkQueueOptions {
  /** Whose work it is; nobody else's if omitted. */
  readonly taker?: TurnTaker | undefined;
  readonly stage?: keyof typeof stages;
  /** That of the operation, if one is executed. */
  readonly expectedWork?: ExpectedWork | null;
  /**
   * Whether it is served before others once some of its work is done (default: true), so that half-built answers do not pile up.
   * Not if its pieces have nothing to do with each other.
   */
  readonly goesOn?: boolean;
  readonly scheduler?: Scheduler;
}

/**
 * The deferred work of one execution, in order. It runs in the asynchronous context in which the queue was created.
 */
export class WorkQueue {
  /** Whether its work is running now. */
  isRunning = false;
  readonly taker: TurnTaker;
  readonly stage: (typeof stages)[keyof typeof stages];
  /** Its place among the queues of its stage: a turn. */
  place = 0;
  /** Whether a piece of its work was done and the others go on from it: not those of a beginning, nor with `goesOn: false`. */
  hasBegun = false;
  /** How many turns its work has taken. */
  #turns = 0;
  /** How many turns the work that was pushed takes at least, by its size. */
  #knownTurns = 0;
  readonly #expectedWork: ExpectedWork | null;
  readonly #goesOn: boolean;
  readonly #scheduler: Scheduler;
  // AsyncLocalStorage.snapshot() takes a hundred times as long.
  readonly #context = new AsyncResource('bankql.WorkQueue', { requireManualDestroy: true });
  readonly #pieces: (() => void)[] = [];
  #next = 0;

  constructor(options: WorkQueueOptions = {}) {
    const { taker = newcomer(), stage = 'long', expectedWork = null } = options;
    const { goesOn = true, scheduler = processScheduler } = options;
    this.taker = taker;
    this.stage = stages[stage];
    this.#expectedWork = expectedWork;
    this.#goesOn = goesOn && stage !== 'beginning';
    this.#scheduler = scheduler;
  }

  /**
   * Runs a piece of work in a later iteration of the event loop, after those that were pushed before it. `milliseconds`: how long
   * it takes at least, if that is known.
   */
  push(piece: () => void, milliseconds = 0): void {
    this.#pieces.push(piece);
    this.#knownTurns += milliseconds / turnMs;
    // One that is running is in the list already.
    if (this.#pieces.length - this.#next === 1 && !this.isRunning) this.#scheduler.enqueue(this);
  }

  /** Removes a piece that has not run; returns whether none is left. */
  drop(piece: () => void): boolean {
    const at = this.#pieces.indexOf(piece, this.#next);
    if (at !== -1) this.#pieces.splice(at, 1);
    return at !== -1 && this.#next === this.#pieces.length && !this.isRunning;
  }

  /** Its caller's next turn in its stage. */
  get turn(): number {
    return this.stage === stages.beginning ? this.taker.beginnings : this.taker.work;
  }

  /**
   * Moves it back by the turns that its caller has taken meanwhile; returns whether it was moved. An execution that has begun is
   * not moved by its own turns, unless it takes very many.
   */
  moveBack(): boolean {
    const { requests, isOfLargeGroup, owed, lastOwed, lastWork } = this.taker;
    // A beginning is expected to take as long as the shorter one of the last two: a garbage collection may have delayed the other.
    // Long work is expected to be like the caller's last one; that of others with the same document is a second best, since their
    // variables may differ.
    const expected =
      this.stage === stages.beginning
        ? owed + Math.min(owed, lastOwed) + (requests - 1) * turnsPerRequest
        : Math.min(
            Math.max(lastWork ?? this.#expectedWork?.turns ?? 0, this.#knownTurns - this.#turns),
            credit,
          );
    const behind = (isOfLargeGroup ? turnsOfLargeGroup : 0) - (this.hasBegun ? 2 * credit : 0);
    const place = this.turn + expected + behind;
    if (place <= this.place) return false;
    this.place = place;
    return true;
  }

  /** Notes that its work took so many turns. */
  note(turns: number): void {
    this.#turns += turns;
    if (this.#expectedWork === null || this.#next < this.#pieces.length) return;
    this.taker.lastWork = this.#turns;
    // Less if it was not done to its end.
    this.#expectedWork.turns = Math.max(this.#turns, (this.#expectedWork.turns ?? 0) * 0.75);
  }

  /** Whether it is served before another. */
  precedes(other: WorkQueue): boolean {
    return this.stage < other.stage || (this.stage === other.stage && this.place < other.place);
  }

  /** Runs one piece of its work. Returns whether there is more. */
  runNext(): boolean {
    this.isRunning = true;
    try {
      this.#context.runInAsyncScope(this.#take());
    } catch (error) {
      // Thrown outside, as an uncaught exception: the turns of the other queues continue.
      setImmediate(() => {
        throw error;
      });
    }
    this.isRunning = false;
    this.hasBegun = this.#goesOn;
    return this.#next < this.#pieces.length;
  }

  /** The next piece. Array.shift() moves all others if there are tens of thousands. */
  #take(): () => void {
    const piece = this.#pieces[this.#next++] ?? noWork;
    if (this.#next * 2 >= this.#pieces.length) {
      this.#pieces.splice(0, this.#next);
      this.#next = 0;
    }
    return piece;
  }
}

const noWork = () => {};

const isLong = ({ stage }: WorkQueue): boolean => stage !== stages.beginning;

/**
 * Runs the deferred work of all executions, for a limited time before other events have a pause to themselves. The first is that
 * of the caller that has taken the fewest turns, including those that this execution is expected to take. One that has begun
 * runs to its end, unless a shorter one comes: answers that are half built do not pile up.
 */
export class Scheduler {
  readonly #now: () => number;
  /**
   * The queues that have work, in the order in which they are served. No Set: its old tables would keep requests.
   */
  readonly #queues: WorkQueue[] = [];
  #isScheduled = false;
  readonly #beginnings = new VirtualTime();
  readonly #work = new VirtualTime();
  /** How long deferred work, with what it resumed, has run since the last pause, in milliseconds. */
  #spentMs = 0;
  /** How long long work may run before the next pause, in milliseconds. */
  #longWorkMs = workMs;
  /** Whether beginnings had the last time slice: long executions come first in the next one, or they would starve. */
  #isLongFirst = false;
  /** Until when executions begin without waiting in this iteration of the event loop; null before the first. */
  #beginsUntil: number | null = null;
  /** Those whose REST calls wait for too few connections: meanwhile their executions do not begin. */
  #crowd: Crowd | null = null;
  /** The refusals of executions that have waited for too long. */
  readonly #refusals: (() => void)[] = [];

  constructor(now: () => number = performance.now.bind(performance)) {
    this.#now = now;
  }

  /**
   * Begins an execution: at once if its caller asks for little, and else when the caller's turn has come. If a caller sends many
   * requests at once, those of others do not wait until all of them have begun. `isLate`: it has waited for too long for
   * connections to the bank, and is to be refused. One whose client leaves (`signal`) waits no longer.
   */
  begin<T>(taker: TurnTaker, execution: Executes<T>, signal?: () => AbortSignal): T | Promise<T> {
    const time = this.#beginnings;
    const turn = taker.beginnings + taker.owed;
    const now = this.#now();
    if (this.#beginsUntil === null) {
      this.#beginsUntil = now + workMs;
      setImmediate(this.#endIteration);
      // If nobody waits, those that had many turns do not wait either.
      if (time.queues === 0) time.serve(turn);
    }
    if (turn <= time.turn + turnsAhead && taker.waiting === null && now < this.#beginsUntil)
      return this.#execute(taker, execution, now);
    taker.waiting ??= new WorkQueue({ taker, stage: 'beginning', scheduler: this });
    const { waiting } = taker;
    return new Promise((resolve, reject) => {
      const beginning = new Beginning(execution, resolve, reject);
      const piece = () => beginning.end((run) => this.#execute(taker, run, this.#now()));
      const drop = (isLate: boolean) => {
        if (beginning.isOver) return;
        if (waiting.drop(piece)) this.#remove(waiting);
        beginning.end((run) => run(isLate));
      };
      const refuse = () => {
        if (this.#mustWait(taker)) drop(true);
      };
      beginning.awaitEnd(
        () => this.#refuseLater(refuse),
        () => drop(false),
        signal?.(),
      );
      waiting.push(piece);
    });
  }

  /** Whether its executions that wait do not begin now. Nobody is kept waiting by the calls of others. */
  #mustWait({ name }: TurnTaker): boolean {
    return this.#crowd?.isWaiting(name) === true;
  }

  /** Executions that came together have waited for too long at the same time: a few of them are refused at once. */
  #refuseLater(refuse: () => void): void {
    this.#refusals.push(refuse);
    if (this.#refusals.length === 1) outside(() => setImmediate(this.#refuseSome));
  }

  readonly #refuseSome = () => {
    for (const refuse of this.#refusals.splice(0, refusedAtOnce)) refuse();
    if (this.#refusals.length > 0) setImmediate(this.#refuseSome);
  };

  readonly #endIteration = () => {
    this.#beginsUntil = null;
    if (this.#beginnings.queues === 0) this.#beginnings.turn++;
  };

  #execute<T>(taker: TurnTaker, execution: Executes<T>, began: number): T | Promise<T> {
    taker.lastOwed = taker.owed;
    taker.owed = 0;
    taker.beginnings = this.#beginnings.after(taker.beginnings, taker.lastOwed + 1);
    const result = execution(false);
    taker.owed += Math.min((this.#now() - began) / turnMs, mostTurns);
    return result;
  }

  /** The bank has too few connections for those that wait for them, or one waits no longer; null if there are enough again. */
  readonly onCrowded = (crowd: Crowd | null): void => {
    this.#crowd = crowd;
    if (this.#queues.length > 0) this.#wake(0);
  };

  enqueue(queue: WorkQueue): void {
    this.#timeOf(queue).queues++;
    if (queue.stage !== stages.beginning) queue.taker.work = this.#work.after(queue.taker.work, 0);
    queue.moveBack();
    this.#insert(queue);
    this.#wake(0);
  }

  #timeOf({ stage }: WorkQueue): VirtualTime {
    return stage === stages.beginning ? this.#beginnings : this.#work;
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

  /** Runs after this many iterations, or after as much time as work has. */
  #wake(iterations: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const began = this.#now();
    const wait = (left: number): void => {
      setImmediate(() => {
        const pauseMs = this.#now() - began;
        if (left > 0 && pauseMs < workMs) wait(left - 1);
        else {
          this.#longWorkMs = Math.min(Math.max(workMs, pauseMs * pauseShare), mostWorkMs);
          this.#run();
        }
      });
    };
    // Outside the asynchronous context of the first caller, which would be retained otherwise.
    outside(() => wait(iterations));
  }

  /** The queue that is served next; undefined if none has work that may be done now. */
  #next(): WorkQueue | undefined {
    const mayRun = (queue: WorkQueue) => isLong(queue) || !this.#mustWait(queue.taker);
    for (;;) {
      const long = this.#isLongFirst ? this.#queues.findIndex(isLong) : -1;
      const at = long !== -1 || this.#crowd === null ? Math.max(long, 0) : this.#queues.findIndex(mayRun);
      const next = this.#queues[at];
      if (next?.moveBack() !== true) return next;
      this.#queues.splice(at, 1);
      this.#insert(next);
    }
  }

  readonly #run = (): void => {
    const began = this.#now();
    const queue = this.#next();
    // Queues that end an answer are served before their caller's turn.
    if (queue?.hasBegun === false && queue.stage !== stages.finishing) this.#timeOf(queue).serve(queue.turn);
    if (queue?.runNext() === false) this.#remove(queue);
    // The promises that it settled continue in microtasks, which are over when the next tick begins.
    queueMicrotask(() => process.nextTick(this.#goOn, queue, began));
  };

  readonly #goOn = (queue: WorkQueue | undefined, began: number): void => {
    const milliseconds = this.#now() - began;
    if (queue !== undefined && queue.stage !== stages.beginning) {
      const turns = Math.min(milliseconds / turnMs, mostTurns);
      queue.taker.work = this.#work.after(queue.taker.work, turns);
      queue.note(turns);
      queue.taker.owed += turns;
    }
    this.#spentMs += milliseconds;
    const isDue = this.#spentMs >= (queue?.stage === stages.beginning ? workMs : this.#longWorkMs);
    if (isDue) {
      this.#spentMs = 0;
      this.#isLongFirst = queue?.stage === stages.beginning;
    }
    const hasMore = this.#next() !== undefined;
    if (hasMore && !isDue) {
      this.#run();
      return;
    }
    this.#isScheduled = false;
    if (hasMore) this.#wake(iterationsBetween);
  };

  #remove(queue: WorkQueue): void {
    this.#queues.splice(this.#queues.indexOf(queue), 1);
    this.#timeOf(queue).leave();
    if (queue.stage === stages.beginning) queue.taker.waiting = null;
  }
}

const outside = AsyncLocalStorage.snapshot();
export const processScheduler = new Scheduler();

/** Runs one long piece of a caller's work that ends an answer, such as serializing it, before other executions begin. */
export const schedule = (taker: TurnTaker | undefined, work: () => void): void =>
  new WorkQueue({ taker, stage: 'finishing' }).push(work);
