import { z } from 'zod';
import { type AuditEntry, auditEntry } from './record.ts';
import { type AttemptOutcome, type PaymentRecord, parseJson, paymentRecord } from './store.ts';

/** A write that the store has not taken. */
interface UnwrittenEnd {
  readonly end: AttemptOutcome;
  /** The record as it will be then; null for a beginning that was refused, and may be stored. */
  readonly record: PaymentRecord | null;
}

const keyOf = ({ id, trackId }: Pick<AttemptOutcome, 'id' | 'trackId'>) => `${id} ${trackId}`;

/** The delays before further attempts to write, in milliseconds; the last one repeats while the process lives. */
const pausesMs = [250, 1000, 4000];

/**
 * The writes that the store did not take, because it was away: ends of attempts, and refused beginnings that are taken back. Each is
 * tried again while the process lives.
 * `write`: writes one. Errors: any, if it is not written.
 */
export function createUnwrittenEnds(write: (end: AttemptOutcome) => Promise<void>) {
  const all = new Map<string, UnwrittenEnd>();
  let making: Promise<void> | null = null;
  let retrying = false;
  let isOver = false;

  async function make({ end }: UnwrittenEnd): Promise<void> {
    await write(end);
    all.delete(keyOf(end));
  }
  const isMade = (kept: UnwrittenEnd): Promise<boolean> =>
    make(kept).then(
      () => true,
      () => false,
    );

  /** Stops at the first one that fails, which then is the last, in case the store refuses only this one. */
  async function makeInTurn(): Promise<void> {
    for (const kept of all.values()) {
      if (await isMade(kept)) continue;
      if (all.delete(keyOf(kept.end))) all.set(keyOf(kept.end), kept);
      return;
    }
  }
  function makeAll(): Promise<void> {
    making ??= makeInTurn().finally(() => {
      making = null;
    });
    return making;
  }

  async function retry(): Promise<void> {
    if (retrying) return;
    retrying = true;
    for (let n = 0; all.size > 0 && !isOver; n++) {
      const { promise: pause, resolve } = Promise.withResolvers<void>();
      // Does not keep the process alive: at its end `drain` tries once more.
      setTimeout(resolve, pausesMs[Math.min(n, pausesMs.length - 1)]).unref();
      await pause;
      await makeAll();
    }
    retrying = false;
  }

  return {
    get size() {
      return all.size;
    },

    all: (): readonly UnwrittenEnd[] => [...all.values()],

    makeAll,

    /** Nothing is tried any more. */
    stop(): void {
      isOver = true;
    },

    keep(kept: UnwrittenEnd): void {
      all.set(keyOf(kept.end), kept);
      // The store may have answered that it is to be taken back.
      if (kept.record === null) void makeAll();
      void retry();
    },

    /**
     * The record of a payment whose outcome only this process knows; null if it knows no more than the store.
     * Errors: those of `write` if the key is to become free first.
     */
    async find(id: string): Promise<PaymentRecord | null> {
      for (const kept of all.values()) {
        if (kept.end.id !== id || kept.record === null) continue;
        if (kept.end.outcome !== null) return kept.record;
        await make(kept);
      }
      return null;
    },

    /** `record` with its outcome, if only this process knows it; otherwise the record itself. */
    latest(record: PaymentRecord): PaymentRecord {
      const kept = all.get(keyOf(record));
      return (kept?.end.outcome == null ? null : kept.record) ?? record;
    },

    /** Tries to write all of them once more, for `timeoutMs` at most. */
    async drain(timeoutMs: number): Promise<void> {
      const { promise: isDone, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      void Promise.all([...all.values()].map(isMade)).then(() => resolve());
      await isDone;
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
