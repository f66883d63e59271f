import { z } from 'zod';
import { hashUnderSecret } from '../../caller-hash.ts';
import type { PaymentEvent, PaymentRecord } from '../../store.ts';
import { storedRecord } from '../stored-record.ts';

/** Field names and values for a Redis hash, as text, without null fields; the store writes the history itself. */
export function recordFields({ history: _, ...record }: Partial<PaymentRecord>): string[] {
  return Object.entries(record).flatMap(([field, value]) => (value === null ? [] : [field, String(value)]));
}

/** A line of a record's history; the script that appends it adds the time. */
export const timelessLine = ({ at: _, ...event }: PaymentEvent): string => JSON.stringify(event);

/** The values of absent fields. */
const absent = {
  toBankId: null,
  toAccountId: null,
  currency: null,
  amount: null,
  answer: null,
  code: null,
  status: null,
  message: null,
  settledBy: null,
  bankText: null,
  requestId: null,
  replica: null,
  history: '',
};
const numbers: ReadonlySet<string> = new Set(['createdAt', 'updatedAt', 'leaseUntil', 'status']);
const hash = z.array(z.string()).nullable();

/**
 * The record in a Redis hash, as HGETALL answers; null where there is none. One of version 1, which an older bankql may
 * still write, is converted to version 2.
 * Errors: an Error where it is no record.
 */
export function parseRecord(response: unknown, secret: string): PaymentRecord | null {
  const flat = hash.safeParse(response).data;
  if (flat === null || flat?.length === 0) return null;
  const fields: Record<string, string | number | null> = { ...absent };
  for (let n = 0; flat !== undefined && n + 1 < flat.length; n += 2) {
    const [field = '', value = ''] = flat.slice(n, n + 2);
    fields[field] = numbers.has(field) ? Number(value) : value;
  }
  const { data } = storedRecord.safeParse(fields);
  if (data === undefined) throw new Error('it holds a record of another shape');
  return 'version' in fields ? data : { ...data, caller: hashUnderSecret(secret, data.caller) };
}
