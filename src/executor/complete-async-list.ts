import { textBytes } from './answer-budget.ts';
import type { Execution } from './execution.ts';
import { PendingField } from './pending-field.ts';
import { ignoreRejections } from './promises.ts';

/**
 * A list whose entries come one after the other: each is completed when it comes, within the budget and in the execution's
 * turn. The iterator is closed where the list fails, or the answer is given without it.
 */
export function completeAsyncList(
  list: AsyncIterable<unknown>,
  pending: PendingField,
  completeItem: (item: unknown, parent: PendingField, index: number) => unknown,
): PendingField {
  const iterator = list[Symbol.asyncIterator]();
  const members: unknown[] = [];
  // Until the iterator ends, it counts as a member.
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
      // An entry that came late may have taken the list along.
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
        if (typeof completed === 'string') budget.spendBytes(textBytes(completed));
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

/** What an iterator gives next, in the execution's turn. Errors: those of the iterator. */
async function nextItem(
  iterator: AsyncIterator<unknown>,
  execution: Execution,
): Promise<IteratorResult<unknown>> {
  const item = await iterator.next();
  execution.stopIfAbandoned();
  if (execution.mustWait) await new Promise<void>((resolve) => execution.defer(resolve));
  return item;
}

/** Tells an iterator that nobody asks it for more; what it makes of that is nobody's failure. */
function closeIterator(iterator: AsyncIterator<unknown>): void {
  try {
    ignoreRejections(iterator.return?.());
  } catch {
    // It could not be closed.
  }
}
