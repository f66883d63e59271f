import { type AnswerBudget, clientHasLeft } from '../executor/answer-budget.ts';
import type { WorkQueue } from '../executor/scheduler.ts';
import { getOrMake } from '../get-or-make.ts';
import { atOnce, type Steps } from '../steps.ts';

/** So many entries are worked through without waiting for a turn, by all operations in one iteration of the event loop. */
const entriesAtOnce = 1000;
let workedThrough = 0;

/**
 * Whether so many entries need not wait. One answer of the bank may be what a hundred operations waited for: each of them would
 * otherwise work through it before any other event is handled.
 */
export function mayWorkAtOnce(entries: number): boolean {
  if (workedThrough + entries > entriesAtOnce) return false;
  if (workedThrough === 0)
    setImmediate(() => {
      workedThrough = 0;
    });
  workedThrough += entries;
  return true;
}

/** The operation that the work is done for. */
interface ListWorkOptions {
  readonly budget: Pick<AnswerBudget, 'spendSearch'>;
  /** Where long work waits for its turn. */
  readonly queue: Pick<WorkQueue, 'push'>;
  /** Is raised when nobody needs the work any more; undefined if that does not happen. */
  readonly abandonment: AbortSignal | undefined;
}

/** Work that waits for its turn. Once it is over it keeps nothing of its operation, however long its turn takes to come. */
class WaitingWork<Result> {
  #work: {
    readonly steps: Steps<Result>;
    readonly resolve: (result: Result) => void;
    readonly reject: (error: unknown) => void;
  } | null;

  constructor(steps: Steps<Result>, resolve: (result: Result) => void, reject: (error: unknown) => void) {
    this.#work = { steps, resolve, reject };
  }

  /** Does a step of it. Shape: whether there is more to do. */
  next(): boolean {
    if (this.#work === null) return false;
    const { steps, resolve } = this.#work;
    try {
      const { done, value } = steps.next();
      if (!done) return true;
      this.#work = null;
      resolve(value);
    } catch (error) {
      this.drop(error);
    }
    return false;
  }

  drop(error: unknown): void {
    const work = this.#work;
    this.#work = null;
    work?.reject(error);
  }
}

/**
 * Work over whole lists that makes few values of the answer: filters, sorts, searches. Each is done once in an
 * operation for the same list and name, is charged to the operation's budget by the number of entries, and takes turns
 * with other operations if it is much.
 */
export class ListWork {
  readonly #operation: ListWorkOptions;
  readonly #results = new WeakMap<object, Map<string, Promise<unknown>>>();
  /** Null before any work waited. */
  #waiting: Set<Pick<WaitingWork<unknown>, 'drop'>> | null = null;

  constructor(operation: ListWorkOptions) {
    this.#operation = operation;
  }

  /**
   * The result of the work that `name` identifies: two calls with the same list and name share it.
   * Errors: AnswerLimitError; those of the work.
   */
  once<Result>(list: readonly unknown[], name: string, work: () => Steps<Result>): Promise<Result> {
    return this.shared(list, name, () => this.run(list.length, work()));
  }

  /** Does work that takes as long as so many entries of a list. Errors: AnswerLimitError; those of the work. */
  async run<Result>(entries: number, steps: Steps<Result>): Promise<Result> {
    this.charge(entries);
    return mayWorkAtOnce(entries) ? atOnce(steps) : this.#inTurns(steps);
  }

  /** The same for work that is not over a list at hand: it charges for itself. `source` is what it works on. */
  shared<Result>(source: object, name: string, work: () => Promise<Result>): Promise<Result> {
    const results = getOrMake(this.#results, source, () => new Map());
    // The name contains the kind of work, so that the result has its type.
    return getOrMake(results, name, work) as Promise<Result>;
  }

  #inTurns<Result>(steps: Steps<Result>): Promise<Result> {
    const { queue, abandonment } = this.#operation;
    if (abandonment?.aborted) throw clientHasLeft;
    if (this.#waiting === null) {
      this.#waiting = new Set();
      abandonment?.addEventListener('abort', () => this.end(clientHasLeft));
    }
    const waiting = this.#waiting;
    // No closure refers to `steps`: it would keep them until the turn comes.
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const work = new WaitingWork(steps, resolve, reject);
    waiting.add(work);
    const step = () => {
      if (work.next()) queue.push(step);
      else waiting.delete(work);
    };
    queue.push(step);
    return promise;
  }

  /** The operation is over: drops work that waits. It would hold its lists, uncounted, until its turn comes, and take it from others. */
  end(reason: unknown): void {
    for (const work of this.#waiting ?? []) work.drop(reason);
    this.#waiting?.clear();
  }

  /** Errors: AnswerLimitError. */
  charge(entries: number): void {
    this.#operation.budget.spendSearch(entries);
  }
}
