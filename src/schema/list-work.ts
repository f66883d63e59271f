import type { AnswerBudget } from '../executor/answer-limits.ts';
import { getOrMake } from '../get-or-make.ts';
import { type SlicedOperation, slices } from '../load/slices.ts';

interface ListWorkOptions extends SlicedOperation {
  readonly budget: Pick<AnswerBudget, 'spendSearch'>;
}

const sources = new WeakMap<object, object>();

/**
 * The bank's list from which a list was selected. It decides, for both lists, whether an entry's id or its
 * content identifies the entry.
 */
export const sourceOf = <Item>(list: readonly Item[]) => (sources.get(list) ?? list) as readonly Item[];

/**
 * Work over whole lists that adds few values to the answer: filters, sorts, searches. An operation does the
 * work for one list and name only once, in slices of time (slices.ts). The work is charged to the operation's
 * budget by the number of entries.
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
  once<Result>(list: readonly unknown[], name: string, work: () => Result): Promise<Result> {
    return this.shared(list, name, () => this.run(list.length, work));
  }

  /**
   * Selects entries of the bank's list by the work that `name` identifies. The selected entries keep the identities that
   * they have in the bank's list.
   */
  select<Item>(list: readonly Item[], name: readonly unknown[], work: () => Item[]): Promise<Item[]> {
    return this.once(list, JSON.stringify(name), () => {
      const selected = work();
      sources.set(selected, sourceOf(list));
      return selected;
    });
  }

  /** Does work that takes as long as this number of list entries. Errors: AnswerLimitError; those of the work. */
  async run<Result>(entries: number, work: () => Result | Promise<Result>): Promise<Result> {
    this.charge(entries);
    return slices.run(this.#operation, work);
  }

  /** Like `once`, for work on the object `source` instead of a list. The work has to charge the budget itself. */
  shared<Result>(source: object, name: string, work: () => Promise<Result>): Promise<Result> {
    const results = getOrMake(this.#results, source, () => new Map());
    // The name contains the kind of work, so the result has the right type.
    return getOrMake(results, name, work) as Promise<Result>;
  }

  /** Errors: AnswerLimitError. */
  charge(entries: number): void {
    this.#operation.budget.spendSearch(entries);
  }
}
