import { BankqlError } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import type { OperationDeadline } from './deadline.ts';

/** An update of a record: a read, and a write that is derived from it. */
interface Update<Body, Result> {
  readonly deadline: OperationDeadline;
  /** Reads the record and returns what to write. May be called twice. */
  read(): Promise<Body>;
  write(body: Body): Promise<Result>;
}

/** The updates of one record. */
interface RecordQueue {
  /** How many updates use this queue, and how many writes have ended. */
  updates: number;
  ended: number;
  /** Resolves when the last queued write has ended. */
  last: Promise<void>;
}

/**
 * An update reads a record and writes it back whole: concurrent updates would overwrite each other's changes, so the
 * writes of one record are queued. Each update reads before it enters the queue: a caller who may not read the record
 * must not delay other callers. The update reads again if another update ended after that read began. The queue is this
 * process's own: against other processes, `ifVersion` helps.
 */
export class UpdateQueue {
  readonly #queues = new Map<string, RecordQueue>();

  /**
   * Runs an update of a record.
   * Errors: those of the update; BANK_TIMEOUT if it waited too long or its client disconnected: nothing was written.
   */
  async run<Body, Result>(record: string, update: Update<Body, Result>): Promise<Result> {
    const queue = getOrMake(this.#queues, record, () => ({ updates: 0, ended: 0, last: Promise.resolve() }));
    queue.updates++;
    try {
      const before = queue.ended;
      let body = await update.read();
      const { promise: turn, resolve: end } = Promise.withResolvers<void>();
      const previous = queue.last;
      queue.last = previous.then(() => turn);
      try {
        await inTime(previous, update.deadline);
        if (queue.ended !== before) body = await update.read();
        return await update.write(body);
      } finally {
        queue.ended++;
        end();
      }
    } finally {
      if (--queue.updates === 0) this.#queues.delete(record);
    }
  }
}

/** Waits for the update's place in the queue. Errors: BANK_TIMEOUT. */
const inTime = (turn: Promise<void>, deadline: OperationDeadline): Promise<void> =>
  new Promise((resolve, reject) => {
    const onEnd = () => reject(tooLate());
    if (deadline.ended !== null) return onEnd();
    const waiter = deadline.addWaiter({ onEnd });
    turn.then(() => {
      deadline.removeWaiter(waiter);
      resolve();
    });
  });

const tooLate = () =>
  new BankqlError(
    'BANK_TIMEOUT',
    'Earlier updates of this record did not end in time; nothing was written by this one.',
  );
