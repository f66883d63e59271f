import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Row, StoredText } from './driver.ts';
import type { HeldPayment } from './protocol.ts';
import { type PaymentEvent, UnreadableRecord } from './store.ts';

/** Payments as rows, whatever the database. */

const event: z.ZodType<PaymentEvent> = z.object({
  state: z.enum(['PENDING', 'DONE', 'REJECTED', 'UNKNOWN']),
  at: z.number(),
  replica: z.string().optional(),
  requestId: z.string().optional(),
  status: z.number().optional(),
  code: z.string().optional(),
  bankText: z.string().optional(),
  settledBy: z.string().optional(),
});

/** bankql 0.2.0 stored a line of JSON for each event. */
const lines = z
  .string()
  .transform((text) =>
    z.array(event).safeParse(text.split('\n').flatMap((line) => (line === '' ? [] : [parseJson(line)]))),
  )
  .transform(({ data }) => data ?? []);

const storedRecord = z.object({
  id: z.string(),
  caller: z.string(),
  payer: z.string().nullable().default(null),
  fingerprint: z.string(),
  state: z.enum(['PENDING', 'DONE', 'REJECTED', 'UNKNOWN']),
  operation: z.string(),
  bankId: z.string(),
  accountId: z.string(),
  toBankId: z.string().nullable(),
  toAccountId: z.string().nullable(),
  currency: z.string().nullable(),
  amount: z.string().nullable(),
  description: z.string().nullable().default(null),
  trackId: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
  leaseUntil: z.number(),
  answer: z.string().nullable(),
  code: z.string().nullable(),
  status: z.number().nullable(),
  message: z.string().nullable(),
  settledBy: z.string().nullable(),
  bankText: z.string().nullable(),
  requestId: z.string().nullable(),
  replica: z.string().nullable(),
  sealedKey: z.string().nullable(),
  history: z.union([z.array(event), lines]),
  awaited: z.boolean(),
});

/** The payment in a row. Errors: UnreadableRecord. */
export function parseRow({ id, json }: StoredText): HeldPayment {
  const { data } = storedRecord.safeParse(parseJson(json));
  if (data === undefined || data.id !== id)
    throw new UnreadableRecord(`The stored record of payment ${id} is damaged.`);
  const { awaited, ...record } = data;
  return { record, awaited };
}

export function toRow({ record, awaited }: HeldPayment): Row {
  return {
    id: record.id,
    version: randomUUID(),
    caller: record.caller,
    payer: record.payer,
    state: record.state,
    track_id: record.trackId,
    request_id: record.requestId,
    account_id: record.accountId,
    to_account_id: record.toAccountId,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    lease_until: record.leaseUntil,
    json: JSON.stringify({ ...record, awaited }),
  };
}

/** Undefined if it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
