import { GraphQLError } from 'graphql';
import { lengthOf } from './answer-budget.ts';
import type { CompleteLeaf } from './execute-fields.ts';
import { type Complete, PendingField } from './pending-field.ts';
import type { FieldDetails } from './plan.ts';
import { ignoreRejections, isPromise } from './promises.ts';

interface ListEntry {
  readonly entry: FieldDetails;
  /** Null if the entries are not leaves. */
  readonly leaf: CompleteLeaf | null;
  readonly complete: Complete;
}

/** Creates the completion function of a list type; `complete` is that of its entries. */
export function createListCompleter({ entry, leaf, complete }: ListEntry): Complete {
  /** Completes one entry; returns its PendingField if it is not complete yet. */
  function completeItem(item: unknown, parent: PendingField, index: number): unknown {
    // As in executeField: a leaf is completed without a PendingField.
    let pending = leaf === null ? new PendingField(parent.execution, parent, entry, index) : undefined;
    try {
      if (leaf !== null && !isPromise(item)) return leaf(item);
      pending ??= new PendingField(parent.execution, parent, entry, index);
      return isPromise(item) ? pending.awaitValue(item, complete) : complete(item, pending);
    } catch (error) {
      pending ??= new PendingField(parent.execution, parent, entry, index);
      return pending.handleFieldError(error);
    }
  }

  /** Completes the entries of a list; `length` of them are already charged to the budget. */
  function completeItems(list: Iterable<unknown>, length: number, pending: PendingField): unknown {
    const { budget } = pending.execution;
    const completed: unknown[] = [];
    let outstanding = 0;
    let bytes = 0;
    try {
      for (const item of list) {
        if (completed.length >= length) budget.spendValues(1);
        const done = completeItem(item, pending, completed.length);
        if (done instanceof PendingField) {
          completed.push(done.members);
          outstanding++;
        } else {
          if (typeof done === 'string') bytes += done.length;
          completed.push(done);
        }
      }
      budget.spendBytes(bytes);
    } catch (error) {
      // The list failed: rejections of its entries are of no interest.
      ignoreRejections(list);
      throw error;
    }
    return pending.awaitMembers(completed, outstanding);
  }

  return (value, pending) => {
    if (!isIterable(value))
      throw new GraphQLError(
        `Expected Iterable, but did not find one for field "${entry.parentType.name}.${entry.field.name}".`,
      );
    const { execution } = pending;
    const length = lengthOf(value) ?? 0;
    try {
      execution.budget.spendValues(length);
    } catch (error) {
      ignoreRejections(value);
      throw error;
    }
    if (!execution.mustWait) return completeItems(value, length, pending);
    return pending.defer(value, () => completeItems(value, length, pending));
  };
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value;
