import { BankqlError } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import type { Caller } from '../load/callers.ts';
import type { OperationDeadline, Waiter } from './operation-deadline.ts';

/** An update of a record: it reads the record, and writes a body that is derived from what was read. */
interface Update<Body, Result> {
  readonly caller: Caller;
  readonly deadline: OperationDeadline;
  /** Reads the record and returns the body to write. May be called twice. */
  read(): Promise<Body>;
  write(body: Body): Promise<Result>;
}

/**
 * Queues the writes of each record. An update reads a record and writes it back whole, so concurrent updates would overwrite
 * each other's changes. An update reads before it enters the queue: a caller who may not read the record must not delay others.
 * It reads again if another update ended meanwhile. The queue covers one process; `ifVersion` protects against updates of other
 * processes.
 */
export class UpdateQueue {
  readonly #queues = new Map<string, RecordQueue>();

  /**
   * Runs an update of a record.
   * Errors: those of the update; BANK_TIMEOUT if it waited too long or its client disconnected: nothing was written.
   */
  async run<Body, Result>(record: string, update: Update<Body, Result>): Promise<Result> {
    const queue = getOrMake(this.#queues, record, () => new RecordQueue());
    queue.updates++;
    try {
      const before = queue.ended;
      let body = await update.read();
      await queue.enter(update);
      try {
        if (queue.ended !== before) body = await update.read();
        return await update.write(body);
      } finally {
        queue.leave();
      }
    } finally {
      if (--queue.updates === 0) this.#queues.delete(record);
    }
  }
}

/**
 * The updates of one record. One writes at a time. The callers of waiting updates are served in turn, because one caller with
 * many updates could otherwise delay all others.
 */
class RecordQueue {
  /** The number of updates that use this queue, and the number of writes that have ended. */
  updates = 0;
  ended = 0;
  #isTaken = false;
  /** The waiting updates by caller; a caller has at least one. The first caller is served next. */
  readonly #waiting = new Map<Caller, Set<() => void>>();

  /** Waits until an update may write; it must then call `leave`. Errors: BANK_TIMEOUT. */
  async enter({ caller, deadline }: Pick<Update<unknown, unknown>, 'caller' | 'deadline'>): Promise<void> {
    if (deadline.ended() !== null) throw tooLate();
    if (!this.#isTaken) {
      this.#isTaken = true;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const updates = getOrMake(this.#waiting, caller, () => new Set());
    updates.add(resolve);
    const waiter: Waiter = deadline.addWaiter({
      deadline: deadline.deadline,
      onEnd: () => {
        if (!updates.delete(resolve)) return;
        if (updates.size === 0) this.#waiting.delete(caller);
        reject(tooLate());
      },
    });
    await promise;
    deadline.removeWaiter(waiter);
  }

  leave(): void {
    this.ended++;
    this.#isTaken = false;
    for (const [caller, updates] of this.#waiting)
      for (const start of updates) {
        updates.delete(start);
        this.#waiting.delete(caller);
        // The caller moves to the end of the queue.
        if (updates.size > 0) this.#waiting.set(caller, updates);
        this.#isTaken = true;
        start();
        return;
      }
  }
}

const tooLate = () =>
  new BankqlError(
    'BANK_TIMEOUT',
    'Earlier updates of this record did not end in time; nothing was written by this one.',
  );
