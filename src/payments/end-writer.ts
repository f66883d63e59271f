import { type PaymentRecord, type PaymentStore, StoreUnavailable } from './store.ts';
import { type PaymentEnd, writeEnd } from './unwritten-end.ts';

/** An end that the store has not taken yet, and the record as it will be then. */
interface UnwrittenEnd {
  readonly end: PaymentEnd;
  readonly record: PaymentRecord;
}

/** Writes payments' ends, and keeps those that the store cannot take until it can. */
export interface EndWriter {
  /** How many ends are known to this process alone. */
  readonly unwritten: number;
  /** Writes an end, or keeps it in memory. `record`: what was begun. */
  write(record: PaymentRecord, end: PaymentEnd): Promise<void>;
  /**
   * The record of a payment whose end this process alone knows; null where it knows no more than the store.
   * Errors: StoreUnavailable where the key is to be free again, and the store cannot be told.
   */
  find(id: string): Promise<PaymentRecord | null>;
  /** What `record` is in truth, where this process alone knows its end: the record itself otherwise. */
  latest(record: PaymentRecord): PaymentRecord;
  /** Tries all of them once more, for `timeoutMs` at most. Shape: those that are still unwritten. */
  drain(timeoutMs: number): Promise<readonly UnwrittenEnd[]>;
}

/** How long each further attempt to write waits, in milliseconds; the last one for as long as the process lives. */
const pausesMs = [250, 1000, 4000];

export function createEndWriter(store: PaymentStore): EndWriter {
  const unwritten = new Map<string, UnwrittenEnd>();
  let retrying = false;

  /** Whatever it fails with, the end is kept: it is counted, and the log gets it at last. */
  async function isWritten({ end }: UnwrittenEnd): Promise<boolean> {
    try {
      // Where the record is no longer this attempt's to end, somebody has settled it: that stands.
      await writeEnd(store, end);
      unwritten.delete(end.id);
      return true;
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
        unwritten.delete(kept.end.id);
        unwritten.set(kept.end.id, kept);
        break;
      }
    }
    retrying = false;
  }

  return {
    get unwritten() {
      return unwritten.size;
    },

    async write(record, end) {
      try {
        await writeEnd(store, end);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        unwritten.set(end.id, { end, record: { ...record, ...end.outcome, updatedAt: end.at } });
        void retry();
      }
    },

    async find(id) {
      const kept = unwritten.get(id);
      if (kept === undefined) return null;
      if (kept.end.outcome !== null) return kept.record;
      await writeEnd(store, kept.end);
      unwritten.delete(id);
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
      return [...unwritten.values()];
    },
  };
}
