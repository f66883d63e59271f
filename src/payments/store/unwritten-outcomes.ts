import type { PaymentRecord } from '../payment-record.ts';
import { pause } from './pause.ts';
import type { AttemptOutcome } from './store.ts';

/** A write that the database has not confirmed. */
interface Unwritten {
  readonly attempt: AttemptOutcome;
  /** The record with its outcome; null if nothing was executed. */
  readonly record: PaymentRecord | null;
  /** The time until which the attempt's INSERT may still be committed, by the clock of this process. */
  readonly uncertainUntil: number;
}

/** The delays before a failed write is retried, in milliseconds; the last one repeats while the process lives. */
const retryDelaysMs = [250, 1000, 2000];

/**
 * Keeps the outcomes that the database has not stored, and writes them when it is back. The same retry deletes a record whose
 * INSERT may or may not have been committed. If this process dies first, that record stays PENDING and becomes UNKNOWN,
 * although nothing was sent. No payment is made twice, but the key cannot be used again.
 */
export class UnwrittenOutcomes {
  readonly #write: (kept: Unwritten) => Promise<boolean>;
  /** The unconfirmed writes by Track-ID. */
  readonly #kept = new Map<string, Unwritten>();
  #writing: Promise<void> | null = null;
  #retrying = false;
  #stopped = false;

  /** `write`: writes an outcome, and returns whether the database has confirmed it. Errors: any. */
  constructor(write: (kept: Unwritten) => Promise<boolean>) {
    this.#write = write;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** The number of unwritten outcomes of stored payments. The other outcomes say that nothing was executed. */
  get records(): number {
    return [...this.#kept.values()].filter(({ record }) => record !== null).length;
  }

  attempts(): readonly AttemptOutcome[] {
    return [...this.#kept.values()].map(({ attempt }) => attempt);
  }

  /** The record of a payment whose outcome is not in the database yet; null for any other payment. */
  recordOf(id: string): PaymentRecord | null {
    for (const { attempt, record } of this.#kept.values())
      if (attempt.id === id && record !== null) return record;
    return null;
  }

  async keep(kept: Unwritten): Promise<void> {
    this.#kept.set(kept.attempt.trackId, kept);
    if (this.#retrying) return;
    this.#retrying = true;
    for (let n = 0; this.#kept.size > 0 && !this.#stopped; n++) {
      // The pause does not keep the process alive: before the process ends, `drain` tries for a while.
      await pause(retryDelaysMs[Math.min(n, retryDelaysMs.length - 1)]);
      await this.writeAll();
    }
    this.#retrying = false;
  }

  writeAll(): Promise<void> {
    this.#writing ??= this.#writeInOrder().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** Tries to write all outcomes, for at most this time. */
  async drain(timeoutMs: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    let isOver = false;
    // This timer keeps the process alive, because nothing else may do so while the process ends.
    const timer = setTimeout(() => {
      isOver = true;
      over.resolve();
    }, timeoutMs);
    while (this.#kept.size > 0 && !isOver) {
      const writes = [...this.#kept.values()].map((kept) => this.#confirm(kept));
      await Promise.race([Promise.allSettled(writes), over.promise]);
      if (this.#kept.size > 0) await Promise.race([pause(retryDelaysMs[0]), over.promise]);
    }
    clearTimeout(timer);
  }

  /** Ends the retries. */
  stop(): void {
    this.#stopped = true;
  }

  async #confirm(kept: Unwritten): Promise<void> {
    if (await this.#write(kept)) this.#kept.delete(kept.attempt.trackId);
  }

  /** Stops at the first failure and moves it to the end of the queue, so that it does not block the others. */
  async #writeInOrder(): Promise<void> {
    for (const kept of [...this.#kept.values()]) {
      try {
        await this.#confirm(kept);
      } catch {
        // `drain` writes the outcomes too, and may have stored this one in the meantime.
        if (this.#kept.delete(kept.attempt.trackId)) this.#kept.set(kept.attempt.trackId, kept);
        return;
      }
    }
  }
}
