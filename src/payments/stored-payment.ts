import { z } from 'zod';
import type { StoredRow } from './driver.ts';
import type { HeldPayment } from './protocol.ts';
import { parseJson, paymentRecord, UnreadableRecord } from './store.ts';

const storedPayment = paymentRecord.extend({ awaited: z.boolean() });

/**
 * The payment in a row. The times are those of the row, which the database has set: also those of its first and its last change.
 * Errors: UnreadableRecord.
 */
export function heldPaymentIn({ id, json, created_at, updated_at, lease_until }: StoredRow): HeldPayment {
  const { data, error } = storedPayment.safeParse(parseJson(json));
  if (data === undefined || data.id !== id)
    throw new UnreadableRecord(`The stored record of the payment ${id} is damaged.`, { cause: error });
  const { awaited, ...record } = data;
  const { history } = record;
  const times = history.map((event, n) => ({
    ...event,
    at: n === history.length - 1 ? updated_at : n === 0 ? created_at : event.at,
  }));
  return {
    record: {
      ...record,
      history: times,
      createdAt: created_at,
      updatedAt: updated_at,
      leaseUntil: lease_until,
    },
    awaited,
  };
}
