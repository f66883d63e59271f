import type { PaymentEvent, PaymentOutcome, PaymentRecord } from './store.ts';

/** What a store appends to a record's history: null fields are omitted. */

export const beginEvent = ({ createdAt, replica, requestId }: PaymentRecord): PaymentEvent =>
  withoutNulls({ state: 'PENDING', at: createdAt, replica, requestId });

/** The end of an attempt. Its replica and request are those in the record's first event. */
export const finishEvent = ({ state, status, code, bankText }: PaymentOutcome, at: number): PaymentEvent =>
  withoutNulls({ state, at, status, code, bankText });

export const leaseEndEvent = (at: number): PaymentEvent => ({ state: 'UNKNOWN', at });

export const settleEvent = (state: PaymentEvent['state'], settledBy: string, at: number): PaymentEvent => ({
  state,
  at,
  settledBy,
});

/** A history is stored as text, a line of JSON for each event, so that every store appends by concatenating. */
export const historyLine = (entry: PaymentEvent): string => JSON.stringify(entry);

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

/** An event without its unknown fields. */
export function withoutNulls(event: Nullable<PaymentEvent>): PaymentEvent {
  const entries = Object.entries(event).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as unknown as PaymentEvent;
}
