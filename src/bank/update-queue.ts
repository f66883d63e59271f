import { BankqlError } from '../errors.ts';
import { type ShedReason, uses } from '../ledger.ts';
import type { OperationDeadline } from './deadline.ts';

/** An update of a record: a read, and a write of what the read led to. */
interface Update<Body, Result> {
  /** Whose update it is; callers with waiting updates take turns. */
  readonly caller: string;
  readonly deadline: OperationDeadline;
  /** Reads the record and returns what to write; null if there is nothing to write. May be called twice. */
  read(): Promise<Body | null>;
  write(body: Body): Promise<Result>;
}

/**
 * An update reads a record and writes it back whole: concurrent updates would overwrite each other's changes, so the
 * writes of one record take turns. Each update reads before it takes its turn, since a caller who may not read the
 * record must not delay those who may; it reads again if another update ended after that read began.
 * Errors: those of the update; OVERLOADED if three updates of the caller already wait for the record; BANK_TIMEOUT if
 *         its turn did not come in time or its client has left. In the last two cases nothing was written.
 */
export class UpdateQueue {
  /** The records that an update is reading, waiting for or writing. */
  readonly #queues = new Map<string, RecordQueue>();
  readonly #onShed: (why: ShedReason) => void;

  constructor(onShed: (why: ShedReason) => void = () => {}) {
    this.#onShed = onShed;
  }

  /** Runs an update of a record; null if there was nothing to write. */
  async run<Body, Result>(record: string, update: Update<Body, Result>): Promise<Result | null> {
    const queue = this.#queues.get(record) ?? new RecordQueue(this.#onShed);
    this.#queues.set(record, queue);
    queue.updates++;
    try {
      const before = queue.ended;
      let body = await update.read();
      if (body === null) return null;
      await queue.turn(update.caller, update.deadline);
      try {
        if (queue.ended !== before) body = await update.read();
        return body === null ? null : await update.write(body);
      } finally {
        queue.leave();
      }
    } finally {
      if (--queue.updates === 0) this.#queues.delete(record);
    }
  }

  /** How many updates wait for their turn. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.waiting;
    return waiting;
  }
}

class RecordQueue {
  /** How many updates use this queue, those included that only read so far. */
  updates = 0;
  /** How many turns have ended. */
  ended = 0;
  #isTaken = false;
  /** The waiting updates of each caller, callers in the order of their turns. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #onShed: (why: ShedReason) => void;

  constructor(onShed: (why: ShedReason) => void) {
    this.#onShed = onShed;
  }

  get waiting(): number {
    let waiting = 0;
    for (const own of this.#waiting.values()) waiting += own.size;
    return waiting;
  }

  /** Resolves when no other update has its turn. */
  turn(caller: string, deadline: OperationDeadline): Promise<void> {
    if (deadline.ended !== null) return Promise.reject(tooLate());
    if (!this.#isTaken) {
      this.#isTaken = true;
      return Promise.resolve();
    }
    const own = this.#waiting.get(caller) ?? new Set();
    if (own.size >= uses.updates.share.most) {
      this.#onShed('updates of the caller');
      return Promise.reject(tooMany());
    }
    this.#waiting.set(caller, own);
    return new Promise((resolve, reject) => {
      const begin = () => {
        deadline.removeWaiter(wait);
        resolve();
      };
      const wait = deadline.addWaiter({
        onEnd: () => {
          this.#remove(caller, own, begin);
          reject(tooLate());
        },
      });
      own.add(begin);
    });
  }

  /** Ends a turn; the next caller's first update has the next one. */
  leave(): void {
    this.ended++;
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#isTaken = false;
      return;
    }
    const [caller, own] = next;
    const [begin] = own;
    // The caller's next update waits behind those of the others.
    this.#waiting.delete(caller);
    this.#waiting.set(caller, own);
    if (begin === undefined) return;
    this.#remove(caller, own, begin);
    begin();
  }

  #remove(caller: string, own: Set<() => void>, begin: () => void): void {
    own.delete(begin);
    if (own.size === 0) this.#waiting.delete(caller);
  }
}

const tooMany = () => new BankqlError('OVERLOADED', uses.updates.refusal, { retryAfter: 1 });

const tooLate = () =>
  new BankqlError(
    'BANK_TIMEOUT',
    'Earlier updates of this record did not end in time; nothing was written by this one.',
  );
