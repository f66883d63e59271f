import { z } from 'zod';
import type { Row, StoredRow } from './driver.ts';
import { UnreadableRecord } from './store.ts';

/**
 * PENDING: stored before the request leaves, and meaning "may have been sent". UNKNOWN: the bank may have
 * executed it; it is never sent again.
 */
const paymentState = z.enum(['PENDING', 'DONE', 'REJECTED', 'UNKNOWN']);
export type PaymentState = z.infer<typeof paymentState>;

/** One change of a payment's state, for its history. Unknown fields are absent. */
const paymentEvent = z.object({
  state: paymentState,
  /** Milliseconds since 1970. */
  at: z.number(),
  /** Which process wrote it; absent if a lease ended, since any process may be the first to notice. */
  replica: z.string().optional(),
  /** The X-Request-Id of the request that made the change. */
  requestId: z.string().optional(),
  status: z.number().optional(),
  code: z.string().optional(),
  bankText: z.string().optional(),
  settledBy: z.string().optional(),
});
export type PaymentEvent = Readonly<z.infer<typeof paymentEvent>>;

/** bankql 0.2.0 stored a line of JSON for each event. */
const eventLines = z.string().transform((text): PaymentEvent[] => {
  const lines = text.split('\n').filter((line) => line !== '');
  return z.array(paymentEvent).safeParse(lines.map(parseJson)).data ?? [];
});

/**
 * The stored record of one payment. It contains no credential, and no idempotency key in the clear. Every text is
 * bounded.
 */
export const paymentRecord = z.object({
  /** SHA-256, in hex, of the caller (Auth-Provider-Name, Auth-ID) and the idempotency key. */
  id: z.string(),
  /** The caller, hashed under the store's secret (hashCaller), so that an operator can find and group payments. */
  caller: z.string(),
  /**
   * The caller with this subscription key, hashed under the store's secret (hashPayer): the caller's own payments are listed by
   * it. Null in records of bankql 0.2.0 and older.
   */
  payer: z.string().nullable().default(null),
  /** SHA-256, in hex, of the subscription key (salted), and, behind a dot, of all that goes over the wire. */
  fingerprint: z.string(),
  state: paymentState,
  /** The REST operation's id. */
  operation: z.string(),
  /** The account that pays: the path's. */
  bankId: z.string(),
  accountId: z.string(),
  /** The payee's account, as far as the request names it. */
  toBankId: z.string().nullable(),
  toAccountId: z.string().nullable(),
  currency: z.string().nullable(),
  /** An exact decimal. */
  amount: z.string().nullable(),
  /** The purpose of the payment, as the client describes it; null in records of bankql 0.2.0 and older. */
  description: z.string().nullable().default(null),
  /** The Track-ID of the one request; it also identifies the attempt that may write the outcome. */
  trackId: z.string(),
  /** Milliseconds since 1970, as are the two below. */
  createdAt: z.number(),
  updatedAt: z.number(),
  /** When a record that is still PENDING becomes UNKNOWN: the process that wrote it is assumed dead. */
  leaseUntil: z.number(),
  /** The bank's answer as JSON text with exact amounts; null if there was no answer. */
  answer: z.string().nullable(),
  /** The error code that the mutation answered with; null if it succeeded. */
  code: z.string().nullable(),
  /** The bank's HTTP status; null if none arrived. */
  status: z.number().nullable(),
  /** The error's message, which holds no secret; null if it succeeded. */
  message: z.string().nullable(),
  /** What the bank said, bounded and without credentials, for the operator; null if it said nothing. */
  bankText: z.string().nullable(),
  /** The person who settled an UNKNOWN record, and the reason; null if nobody did. */
  settledBy: z.string().nullable(),
  /** The X-Request-Id of the request that sent the payment; null if it had no such id. */
  requestId: z.string().nullable(),
  /** The process that sent it: its host and process id; null if not known. */
  replica: z.string().nullable(),
  /** The idempotency key, which only the caller with the same subscription key can open (openKey); null in older records. */
  sealedKey: z.string().nullable(),
  /** Every change of its state, oldest first. The store appends to it. */
  history: z.union([z.array(paymentEvent), eventLines]),
});
export interface PaymentRecord extends Readonly<Omit<z.infer<typeof paymentRecord>, 'history'>> {
  readonly history: readonly PaymentEvent[];
}

/** How a payment ended, as far as bankql knows. */
export interface PaymentOutcome
  extends Pick<PaymentRecord, 'answer' | 'code' | 'status' | 'message' | 'bankText'> {
  readonly state: Exclude<PaymentState, 'PENDING'>;
}

const storedRecord = paymentRecord.extend({ awaited: z.boolean() });

/** A row with its payment. Errors: UnreadableRecord. */
export function rowIn(row: StoredRow): Row {
  if ('held' in row) return row;
  const { json, ...rest } = row;
  const stored = storedRecord.safeParse(parseJson(json)).data;
  if (stored?.id !== row.id) throw new UnreadableRecord(`The stored record of payment ${row.id} is damaged.`);
  const { awaited, ...record } = stored;
  return { ...rest, held: { record, awaited } };
}

/** Undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
