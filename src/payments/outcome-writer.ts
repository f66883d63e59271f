import { z } from 'zod';
import { advance } from './protocol.ts';
import { type AuditEntry, auditEntry } from './record.ts';
import type { PaymentOutcome, PaymentRecord, PaymentStore } from './store.ts';
import { parseJson, paymentRecord } from './stored-record.ts';

/** A payment's outcome, as it is written to a store. */
export interface AttemptOutcome {
  readonly id: string;
  /** Identifies the attempt that ended: no other may write the outcome. */
  readonly trackId: string;
  /** Null if the record is to be released, so that the key is free again. */
  readonly outcome: PaymentOutcome | null;
  /** When it ended, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * Writes a payment's outcome. Shape: false if this attempt may no longer finish the record. Errors: StoreUnavailable.
 */
export const writeOutcome = async (
  store: PaymentStore,
  { id, trackId, outcome, at }: AttemptOutcome,
): Promise<boolean> =>
  outcome === null
    ? (await store.release(id, trackId, at)) !== 'unchanged'
    : store.finish(id, trackId, outcome, at);

/** An outcome that the store has not recorded yet, and the record as it will be then. */
interface UnwrittenOutcome {
  readonly end: AttemptOutcome;
  readonly record: PaymentRecord;
}

/** The delays before further attempts to write, in milliseconds; the last one repeats while the process lives. */
const pausesMs = [250, 1000, 4000];

/** Writes payments' outcomes to the store, and keeps those that cannot be written yet. */
export function createOutcomeWriter(store: PaymentStore, now: () => number) {
  const unwritten = new Map<string, UnwrittenOutcome>();
  let retrying = false;

  /** Meanwhile another payment with the same key may have ended: its outcome stays. */
  function forget(kept: UnwrittenOutcome): void {
    if (unwritten.get(kept.end.id) === kept) unwritten.delete(kept.end.id);
  }

  /** Whatever the error, the outcome is kept: it is counted, and finally written to the log. */
  async function isWritten(kept: UnwrittenOutcome): Promise<boolean> {
    const { end } = kept;
    try {
      // If this attempt may no longer finish the record, an operator has settled it, and that stays. If there is no
      // record, the store has lost it, and only the outcome kept here prevents the payment from being sent again.
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

  /** For one that was kept, if the protocol still has it written. */
  const isWrittenNow = async (kept: UnwrittenOutcome): Promise<boolean> =>
    advance({ record: kept.record, awaited: true }, { kind: 'store back', during: 'end' }).effects.includes(
      'write the end',
    ) && isWritten(kept);

  async function retry(): Promise<void> {
    if (retrying) return;
    retrying = true;
    for (let n = 0; unwritten.size > 0; n++) {
      const { promise: isOver, resolve } = Promise.withResolvers<void>();
      // Does not keep the process alive: at its end `drain` tries once more.
      setTimeout(resolve, pausesMs[Math.min(n, pausesMs.length - 1)]).unref();
      await isOver;
      for (const kept of [...unwritten.values()]) {
        if (await isWrittenNow(kept)) continue;
        // The next attempt starts with another outcome, in case the store refuses only this one.
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
    /** How many outcomes only this process knows. */
    get unwritten() {
      return unwritten.size;
    },

    all: (): readonly UnwrittenOutcome[] => [...unwritten.values()],

    /** Writes an outcome, or keeps it in memory if the store fails. `record`: the payment as begun. Never rejects. */
    async write(record: PaymentRecord, end: AttemptOutcome): Promise<void> {
      const kept = { end, record: { ...record, ...end.outcome, updatedAt: end.at } };
      if (await isWritten(kept)) return;
      const { effects } = advance({ record, awaited: true }, { kind: 'store lost', during: 'end' });
      if (!effects.includes('keep the end in memory')) return;
      unwritten.set(end.id, kept);
      void retry();
    },

    /**
     * The record of a payment whose outcome only this process knows; null if it knows no more than the store.
     * Errors: StoreUnavailable if the key is to be released, and the store cannot be reached.
     */
    async find(id: string): Promise<PaymentRecord | null> {
      const kept = unwritten.get(id);
      if (kept === undefined) return null;
      if (kept.end.outcome !== null) return kept.record;
      await writeOutcome(store, kept.end);
      forget(kept);
      return null;
    },

    /** `record` with its outcome, if only this process knows it; otherwise the record itself. */
    latest(record: PaymentRecord): PaymentRecord {
      const kept = unwritten.get(record.id);
      return kept === undefined || kept.end.outcome === null ? record : kept.record;
    },

    /** Tries to write all of them once more, for `timeoutMs` at most. */
    async drain(timeoutMs: number): Promise<void> {
      const { promise: isOver, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      void Promise.all([...unwritten.values()].map(isWrittenNow)).then(() => resolve());
      await isOver;
      clearTimeout(timer);
    },
  };
}

/** The audit line with an outcome that the store could not record before the process exited. */
export const unwrittenEndEntry = (record: PaymentRecord, { outcome, at }: AttemptOutcome): AuditEntry => ({
  ...auditEntry({ ...record, ...outcome, updatedAt: at }, outcome?.state ?? 'RELEASED'),
  event: 'unwritten-end',
  answer: outcome?.answer ?? null,
  message: outcome?.message ?? null,
});

const attempt = { id: true, trackId: true, updatedAt: true } as const;
const end = { ...attempt, answer: true, code: true, status: true, message: true, bankText: true } as const;
const unwrittenEndLine = z.discriminatedUnion('state', [
  paymentRecord.pick(end).extend({ state: z.enum(['DONE', 'REJECTED', 'UNKNOWN']) }),
  paymentRecord.pick(attempt).extend({ state: z.literal('RELEASED') }),
]);

/**
 * Reads back a line of the log that unwrittenEndEntry made, for `payments settle --from-log`.
 * Shape:  null for any other line, JSON or not.
 * Errors: an Error if it is such a line but incomplete.
 */
export function parseUnwrittenOutcome(line: string): AttemptOutcome | null {
  const json = parseJson(line);
  if (typeof json !== 'object' || json === null || Reflect.get(json, 'event') !== 'unwritten-end')
    return null;
  const { data, error } = unwrittenEndLine.safeParse(json);
  if (data === undefined)
    throw new Error(`This line of an unwritten end is damaged: ${z.prettifyError(error)}`);
  const { id, trackId, updatedAt: at, ...outcome } = data;
  return { id, trackId, outcome: outcome.state === 'RELEASED' ? null : outcome, at };
}
