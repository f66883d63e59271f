import type { Execution } from './execution.ts';
import { PendingField } from './pending-field.ts';
import { ignoreRejections } from './promises.ts';

/**
 * Completes an async iterable: each entry as it arrives, within the budget and in the execution's turn. The
 * iterator is closed if the list fails, or if the answer is sent without it.
 */
export function completeAsyncList(
  list: AsyncIterable<unknown>,
  pending: PendingField,
  completeItem: (item: unknown, parent: PendingField, index: number) => unknown,
): PendingField {
  const iterator = list[Symbol.asyncIterator]();
  const members: unknown[] = [];
  // The iterator itself counts as an outstanding member until it ends.
  pending.awaitMembers(members, 1);
  const { execution } = pending;
  const { budget } = execution;
  const close = () => closeIterator(iterator);
  execution.addEndListener(close);

  const readItems = async () => {
    for (
      let item = await nextItem(iterator, execution);
      !item.done;
      item = await nextItem(iterator, execution)
    ) {
      // An earlier entry that failed late may have nulled the list.
      if (pending.isSettled || execution.isOver) {
        ignoreRejections(item.value);
        return close();
      }
      budget.spendValues(1);
      const completed = completeItem(item.value, pending, members.length);
      if (completed instanceof PendingField) {
        pending.awaitOneMore();
        members.push(completed.members);
      } else {
        if (typeof completed === 'string') budget.spendBytes(completed.length);
        members.push(completed);
      }
    }
    pending.memberCompleted();
  };

  readItems()
    .catch((error) => {
      close();
      pending.propagateError(error);
    })
    .finally(() => execution.removeEndListener(close));
  return pending;
}

/** The next result of an iterator, in the execution's turn. Errors: those of the iterator. */
async function nextItem(
  iterator: AsyncIterator<unknown>,
  execution: Execution,
): Promise<IteratorResult<unknown>> {
  const item = await iterator.next();
  execution.stopIfAbandoned();
  if (execution.mustWait) await new Promise<void>((resolve) => execution.defer(resolve));
  return item;
}

/** Tells an iterator that no more entries are wanted; its errors are ignored. */
function closeIterator(iterator: AsyncIterator<unknown>): void {
  try {
    ignoreRejections(iterator.return?.());
  } catch {
    // Closing failed; there is nothing to do about it.
  }
}
