import { z } from 'zod';
import { type AuditEntry, auditEntry } from './record.ts';
import type { PaymentOutcome, PaymentRecord, PaymentStore } from './store.ts';

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

/** The audit line with an outcome that the store could not record before the process exited. */
export const unwrittenEndEntry = (record: PaymentRecord, { outcome, at }: AttemptOutcome): AuditEntry => ({
  ...auditEntry({ ...record, ...outcome, updatedAt: at }, outcome?.state ?? 'RELEASED'),
  event: 'unwritten-end',
  answer: outcome?.answer ?? null,
  message: outcome?.message ?? null,
});

const outcomeFields = {
  answer: z.string().nullable(),
  code: z.string().nullable(),
  status: z.number().nullable(),
  message: z.string().nullable(),
  bankText: z.string().nullable(),
};
const fields = { id: z.string().min(1), trackId: z.string().min(1), updatedAt: z.number() };
const unwrittenEndLine = z.discriminatedUnion('state', [
  z.object({ ...fields, ...outcomeFields, state: z.enum(['DONE', 'REJECTED', 'UNKNOWN']) }),
  z.object({ ...fields, state: z.literal('RELEASED') }),
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
  const { id, trackId, updatedAt: at } = data;
  if (data.state === 'RELEASED') return { id, trackId, outcome: null, at };
  const { state, answer, code, status, message, bankText } = data;
  return { id, trackId, outcome: { state, answer, code, status, message, bankText }, at };
}

/** Undefined where it is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
