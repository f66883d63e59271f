import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isFinished, noOutcome, type PaymentRecord, paymentRecord } from '../payment-record.ts';
import type { HeldPayment } from '../protocol.ts';
import type { NewRow, RowChange, StoredRow } from './driver.ts';
import { parseJson } from './store.ts';

/** Records as rows of a database, and back. */

export const rowChange = ({ record, awaited }: HeldPayment): RowChange => ({
  version: randomUUID(),
  state: record.state,
  json: JSON.stringify({ ...record, awaited }),
});

export function newRow(held: HeldPayment | null | undefined, leaseMs: number): NewRow {
  if (held == null) throw new Error('a beginning stores a record');
  const { id, caller, payer, trackId, requestId, accountId, toAccountId } = held.record;
  return {
    ...rowChange(held),
    ...{ id, caller, payer, track_id: trackId, request_id: requestId },
    ...{ account_id: accountId, to_account_id: toAccountId, lease_ms: leaseMs },
  };
}

const storedPayment = paymentRecord.extend({ awaited: z.boolean() });

/**
 * The payment in a row. The database has set the times in the row; they replace the times in the record, including those
 * of its first and last change. If the JSON is damaged, the record is made from the other columns.
 */
export function heldPaymentIn(row: StoredRow): HeldPayment {
  const { data } = storedPayment.safeParse(parseJson(row.json));
  if (data === undefined || data.id !== row.id) return damagedPaymentIn(row);
  const { created_at, updated_at, lease_until } = row;
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

const recordDamaged = {
  state: 'UNKNOWN',
  code: 'OUTCOME_UNKNOWN',
  message:
    'The payment may have been executed: its stored record is damaged. Ask the operator, with the Track-ID.',
} as const;

/**
 * The payment of a damaged record. It is PENDING while its lease runs, because the attempt may still write its outcome.
 * Otherwise it is UNKNOWN, because neither the payment nor the bank's answer can be read.
 */
function damagedPaymentIn(row: StoredRow): HeldPayment {
  const isUnderWay = row.state === 'PENDING' && row.lease_until > row.now;
  const known: PaymentRecord = {
    ...{ id: row.id, caller: row.caller, payer: row.payer, fingerprint: '', damaged: true },
    ...{ state: 'PENDING', operation: '', bankId: '', accountId: row.account_id },
    ...{ toBankId: null, toAccountId: row.to_account_id, currency: null, amount: null, description: null },
    ...{ idempotencyKey: '', trackId: row.track_id, requestId: row.request_id, replica: null },
    ...{ createdAt: row.created_at, updatedAt: row.updated_at, leaseUntil: row.lease_until },
    ...noOutcome,
    history: [{ state: 'PENDING', at: row.created_at, requestId: row.request_id ?? undefined }],
  };
  return { record: isUnderWay ? known : { ...known, ...recordDamaged }, awaited: !isFinished(row.state) };
}
