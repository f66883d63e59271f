import type { PaymentRecord, PaymentStore } from './store.ts';
import { type AttemptOutcome, writeOutcome } from './unwritten-outcome.ts';

/** An end that the store has not taken yet, and the record as it will be then. */
interface UnwrittenOutcome {
  readonly end: AttemptOutcome;
  readonly record: PaymentRecord;
}

/** Writes payments' ends, and keeps those that the store cannot take until it can. */
export interface OutcomeWriter {
  /** How many ends are known to this process alone. */
  readonly unwritten: number;
  /** The ends that are known to this process alone. */
  all(): readonly UnwrittenOutcome[];
  /** Writes an end, or keeps it in memory, whatever the store fails with. `record`: what was begun. Never rejects. */
  write(record: PaymentRecord, end: AttemptOutcome): Promise<void>;
  /**
   * The record of a payment whose end this process alone knows; null where it knows no more than the store.
   * Errors: StoreUnavailable where the key is to be free again, and the store cannot be told.
   */
  find(id: string): Promise<PaymentRecord | null>;
  /** What `record` is in truth, where this process alone knows its end: the record itself otherwise. */
  latest(record: PaymentRecord): PaymentRecord;
  /** Tries all of them once more, for `timeoutMs` at most. */
  drain(timeoutMs: number): Promise<void>;
}

/** How long each further attempt to write waits, in milliseconds; the last one for as long as the process lives. */
const pausesMs = [250, 1000, 4000];

export function createOutcomeWriter(store: PaymentStore, now: () => number): OutcomeWriter {
  const unwritten = new Map<string, UnwrittenOutcome>();
  let retrying = false;

  /** By then another payment may have ended under the same key: its end stays. */
  function forget(kept: UnwrittenOutcome): void {
    if (unwritten.get(kept.end.id) === kept) unwritten.delete(kept.end.id);
  }

  /** Whatever it fails with, the end is kept: it is counted, and the log gets it at last. */
  async function isWritten(kept: UnwrittenOutcome): Promise<boolean> {
    const { end } = kept;
    try {
      // Where the record is no longer this attempt's to end, somebody has settled it: that stands. Where there is none, the
      // store has lost it, and the end that is kept here is all that stops the payment from being sent again.
      const isTold =
        (await writeOutcome(store, end)) ||
        end.outcome === null ||
        (await store.find(end.id, now())) !== null;
      if (isTold) forget(kept);
      return isTold;
    } catch {
      return false;
    }
  }

  async function retry(): Promise<void> {
    if (retrying) return;
    retrying = true;
    for (let n = 0; unwritten.size > 0; n++) {
      const { promise: isOver, resolve } = Promise.withResolvers<void>();
      // It does not keep the process: at its end `drain` tries once more.
      setTimeout(resolve, pausesMs[Math.min(n, pausesMs.length - 1)]).unref();
      await isOver;
      for (const kept of [...unwritten.values()]) {
        if (await isWritten(kept)) continue;
        // The next attempt begins with another one, should the store refuse this one alone.
        if (unwritten.get(kept.end.id) === kept) {
          unwritten.delete(kept.end.id);
          unwritten.set(kept.end.id, kept);
        }
        break;
      }
    }
    retrying = false;
  }

  return {
    get unwritten() {
      return unwritten.size;
    },

    all: () => [...unwritten.values()],

    async write(record, end) {
      const kept = { end, record: { ...record, ...end.outcome, updatedAt: end.at } };
      if (await isWritten(kept)) return;
      unwritten.set(end.id, kept);
      void retry();
    },

    async find(id) {
      const kept = unwritten.get(id);
      if (kept === undefined) return null;
      if (kept.end.outcome !== null) return kept.record;
      await writeOutcome(store, kept.end);
      forget(kept);
      return null;
    },

    latest(record) {
      const kept = unwritten.get(record.id);
      return kept === undefined || kept.end.outcome === null ? record : kept.record;
    },

    async drain(timeoutMs) {
      const { promise: isOver, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      void Promise.all([...unwritten.values()].map(isWritten)).then(() => resolve());
      await isOver;
      clearTimeout(timer);
    },
  };
}
