import type { AnswerBudget } from './answer-budget.ts';
import { isPromise } from './promises.ts';
import { WorkQueue } from './scheduler.ts';

/** How many values an execution completes before it waits for its turn. */
const valuesInTurn = 1000;
/** Of a longer list so many entries are completed at a time. */
const entriesInTurn = 100;

/**
 * Splits an execution by graphql's own executor, which cannot be interrupted, into turns: it completes a field or an entry
 * when its value is there, and these promise their values for one turn after the other, so that others are served in between.
 */
export class Turns {
  readonly #budget: Pick<AnswerBudget, 'values'>;
  #queue: WorkQueue | null = null;
  /** What waits for a turn, in order. */
  readonly #waiting: (() => void)[] = [];
  #next = 0;
  /** How many are resumed in a turn: about as many as complete `valuesInTurn` together. */
  #perTurn = 1;
  /** The values that had been completed when the last turn began. */
  #before = 0;

  constructor(budget: Pick<AnswerBudget, 'values'>) {
    this.#budget = budget;
  }

  /** Whether so much was completed since the last turn that others are served first. */
  get isDue(): boolean {
    return this.#budget.values - this.#before > valuesInTurn;
  }

  /** Resolves in a later turn, behind whatever waits already. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) - this.#next === 1) this.#schedule();
    });
  }

  #schedule(): void {
    this.#queue ??= new WorkQueue(undefined, { resumes: true });
    this.#queue.push(() => this.#run());
  }

  #run(): void {
    const completed = this.#budget.values - this.#before;
    this.#before = this.#budget.values;
    if (completed < valuesInTurn / 2) this.#perTurn *= 2;
    else if (completed > valuesInTurn * 2) this.#perTurn = Math.max(1, Math.floor(this.#perTurn / 2));
    const end = Math.min(this.#next + this.#perTurn, this.#waiting.length);
    while (this.#next < end) this.#waiting[this.#next++]?.();
    if (this.#next < this.#waiting.length) {
      this.#schedule();
    } else {
      this.#waiting.length = 0;
      this.#next = 0;
    }
  }

  /** The same entries; those of a long list are promised, for one turn after the other. */
  spread(list: readonly unknown[]): readonly unknown[] {
    if (list.length <= entriesInTurn) return list;
    let turn: Promise<void>;
    return list.map((entry, index) => {
      if (index < entriesInTurn || isPromise(entry)) return entry;
      if (index % entriesInTurn === 0) turn = this.next();
      return turn.then(() => entry);
    });
  }
}
