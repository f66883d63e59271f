import type { PaymentQuery, PaymentRecord, PaymentState, StoreStatus } from './store.ts';

/** Whether a record matches a query. */
export function matchesQuery(record: PaymentRecord, query: PaymentQuery): boolean {
  const { states, idPrefix, caller, trackId, requestId, accountId, since, until } = query;
  return (
    (states === undefined || states.includes(record.state)) &&
    (idPrefix === undefined || record.id.startsWith(idPrefix)) &&
    (caller === undefined || record.caller === caller) &&
    (trackId === undefined || record.trackId === trackId) &&
    (requestId === undefined || record.requestId === requestId) &&
    (accountId === undefined || record.accountId === accountId || record.toAccountId === accountId) &&
    (since === undefined || record.createdAt >= since) &&
    (until === undefined || record.createdAt < until)
  );
}

/** The records that match a query, in its order and up to its limit. */
export function applyQuery(records: readonly PaymentRecord[], query: PaymentQuery): PaymentRecord[] {
  const direction = query.newestFirst ? -1 : 1;
  return records
    .filter((record) => matchesQuery(record, query))
    .sort((a, b) => direction * (a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)))
    .slice(0, query.limit ?? records.length);
}

/** A store's status, computed from all its records. */
export function statusOf(records: readonly PaymentRecord[]): StoreStatus {
  const inState = (state: PaymentState) => records.filter((record) => record.state === state).length;
  return {
    records: records.length,
    pending: inState('PENDING'),
    unknown: inState('UNKNOWN'),
    newestAt: records.reduce<number | null>(
      (newest, { createdAt }) => Math.max(newest ?? createdAt, createdAt),
      null,
    ),
  };
}
