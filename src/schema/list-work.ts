import { type AnswerBudget, clientHasLeft } from '../executor/answer-budget.ts';
import type { WorkQueue } from '../executor/scheduler.ts';

/** Work over a list in steps of at most about a millisecond: it yields between them, and returns its result. */
export type Steps<Result> = Generator<void, Result>;

/** So many entries are worked through without waiting for a turn, by all operations in one iteration of the event loop. */
const entriesAtOnce = 1000;
let workedThrough = 0;

/**
 * Whether so many entries need not wait. One answer of the bank may be what a hundred operations waited for: each of them would
 * otherwise work through it before any other event is handled.
 */
function mayWorkAtOnce(entries: number): boolean {
  if (workedThrough + entries > entriesAtOnce) return false;
  if (workedThrough === 0)
    setImmediate(() => {
      workedThrough = 0;
    });
  workedThrough += entries;
  return true;
}

/** How many entries a step handles. */
const entriesPerStep = 250;

/** The operation that the work is done for. */
interface ListWorkOptions {
  readonly budget: Pick<AnswerBudget, 'spendSearch'>;
  /** Where long work waits for its turn. */
  readonly queue: WorkQueue;
  /** Whether nobody needs the work any more. */
  isAbandoned(): boolean;
}

/**
 * Work over whole lists that makes few values of the answer: filters, sorts, searches. Each is done once in an
 * operation for the same list and name, is charged to the operation's budget by the number of entries, and takes turns
 * with other operations if it is much.
 */
export class ListWork {
  readonly #operation: ListWorkOptions;
  readonly #results = new WeakMap<object, Map<string, Promise<unknown>>>();

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
    let results = this.#results.get(source);
    if (results === undefined) {
      results = new Map();
      this.#results.set(source, results);
    }
    // The name contains the kind of work, so that the result has its type.
    const known = results.get(name) as Promise<Result> | undefined;
    if (known !== undefined) return known;
    const result = work();
    results.set(name, result);
    return result;
  }

  #inTurns<Result>(steps: Steps<Result>): Promise<Result> {
    const { queue } = this.#operation;
    return new Promise((resolve, reject) => {
      const step = () => {
        try {
          // Otherwise the work of callers that were refused would pile up, and hold up that of all others.
          if (this.#operation.isAbandoned()) throw clientHasLeft;
          const { done, value } = steps.next();
          if (done) resolve(value);
          else queue.push(step);
        } catch (error) {
          reject(error);
        }
      };
      queue.push(step);
    });
  }

  /** Errors: AnswerLimitError. */
  charge(entries: number): void {
    this.#operation.budget.spendSearch(entries);
  }
}

function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Calls `each` for every entry. */
export function* forEachInSteps<Item>(
  list: readonly Item[],
  each: (item: Item, index: number) => void,
): Steps<void> {
  for (const [index, item] of list.entries()) {
    if (index % entriesPerStep === entriesPerStep - 1) yield;
    each(item, index);
  }
}

/** The entries for which `holds` is true. */
export function* filterInSteps<Item>(list: readonly Item[], holds: (item: Item) => boolean): Steps<Item[]> {
  const chosen: Item[] = [];
  yield* forEachInSteps(list, (item) => {
    if (holds(item)) chosen.push(item);
  });
  return chosen;
}

/**
 * Sorted by a key, which is computed once for each entry; entries whose key is null come last, in their given order.
 * The sort is stable: a merge sort, since the built-in one cannot be interrupted.
 */
export function* sortInSteps<Item, Key>(
  list: readonly Item[],
  keyOf: (item: Item) => Key | null,
  compare: (one: Key, other: Key) => number,
): Steps<Item[]> {
  type Keyed = { readonly item: Item; readonly key: Key };
  const last: Item[] = [];
  let runs: Keyed[][] = [];
  for (let start = 0; start < list.length; start += entriesPerStep) {
    yield;
    const run: Keyed[] = [];
    for (const item of list.slice(start, start + entriesPerStep)) {
      const key = keyOf(item);
      if (key === null) last.push(item);
      else run.push({ item, key });
    }
    runs.push(run.sort((one, other) => compare(one.key, other.key)));
  }
  while (runs.length > 1) {
    const merged: Keyed[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [left = [], right = []] = [runs[at], runs[at + 1]];
      merged.push(yield* merge(left, right, (one, other) => compare(one.key, other.key)));
    }
    runs = merged;
  }
  return [...(runs[0] ?? []).map(({ item }) => item), ...last];
}

function* merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (one: T, other: T) => number,
): Steps<T[]> {
  const merged: T[] = [];
  let [nextLeft, nextRight] = [0, 0];
  while (merged.length < left.length + right.length) {
    if (merged.length % entriesPerStep === entriesPerStep - 1) yield;
    const [one, other] = [left[nextLeft], right[nextRight]];
    if (other === undefined || (one !== undefined && compare(one, other) <= 0)) {
      merged.push(one as T);
      nextLeft++;
    } else {
      merged.push(other);
      nextRight++;
    }
  }
  return merged;
}
