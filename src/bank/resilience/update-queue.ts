import { BankqlError } from '../../errors.ts';
import type { OperationDeadline } from './operation-deadline.ts';

/**
 * Runs updates of the same record one after the other, in the order of the calls; those of different records at once. A
 * waiting update gives up at its operation's deadline, and does not hold up those behind it.
 */
export type UpdateQueue = <T>(
  record: string,
  deadline: OperationDeadline,
  update: () => Promise<T>,
) => Promise<T>;

/**
 * An update reads a record and writes it back whole: concurrent updates would overwrite each other's changes.
 * Errors: those of the update; OVERLOADED if `maxWaiting` already wait; BANK_TIMEOUT if its turn did not come in time
 *         or its client has left. In the last two cases the update was not run.
 */
export function createUpdateQueue(maxWaiting: number): UpdateQueue {
  /** The waiting updates of each record that is being updated. */
  const queues = new Map<string, Set<() => void>>();

  /** Resolves when no other update of the record is running. */
  function turn(record: string, deadline: OperationDeadline): Promise<void> {
    const waiting = queues.get(record);
    if (waiting === undefined) {
      queues.set(record, new Set());
      return Promise.resolve();
    }
    if (waiting.size >= maxWaiting) return Promise.reject(tooMany());
    if (deadline.ended !== null) return Promise.reject(tooLate());
    return new Promise((resolve, reject) => {
      const begin = () => {
        deadline.removeWaiter(wait);
        resolve();
      };
      const wait = deadline.addWaiter({
        onEnd() {
          waiting.delete(begin);
          reject(tooLate());
        },
      });
      waiting.add(begin);
    });
  }

  function leave(record: string): void {
    const waiting = queues.get(record);
    const [next] = waiting ?? [];
    if (next === undefined) queues.delete(record);
    else {
      waiting?.delete(next);
      next();
    }
  }

  return async (record, deadline, update) => {
    await turn(record, deadline);
    try {
      return await update();
    } finally {
      leave(record);
    }
  };
}

const tooMany = () =>
  new BankqlError(
    'OVERLOADED',
    'Too many updates of this record wait for each other; nothing was written by this one.',
    { retryAfter: 1 },
  );

const tooLate = () =>
  new BankqlError(
    'BANK_TIMEOUT',
    'Earlier updates of this record did not end in time; nothing was written by this one.',
  );
