import type { OutcomeWriter } from './outcome-writer.ts';
import { belongsTo, hashCaller, hashPayer, idempotencyKeyOf, type Payer } from './record.ts';
import type { PaymentRecord, PaymentState, PaymentStore } from './store.ts';

/** A filter for a caller's own payments. */
export interface OwnPaymentsQuery {
  /** Any state where it is left out. */
  readonly states?: readonly PaymentState[] | undefined;
  readonly limit: number;
  /** Called with the number of records that are about to be read; may throw, and ends the search then. */
  readonly onRead?: ((records: number) => void) | undefined;
}

export interface OwnPayment {
  readonly record: PaymentRecord;
  /** Null if the record is older than stored keys. */
  readonly idempotencyKey: string | null;
}

/** Searches a payer's own payments, newest first. Errors of the search: StoreUnavailable, UnreadableRecord. */
export function createPaymentSearch(store: PaymentStore, ends: OutcomeWriter, now: () => number) {
  return async (
    payer: Payer,
    { states, limit, onRead }: OwnPaymentsQuery,
  ): Promise<readonly OwnPayment[]> => {
    onRead?.(limit);
    const query = {
      caller: hashCaller(store.secret, ...payer.caller),
      // A payment whose outcome is not written yet is in another state in the store.
      states: ends.unwritten === 0 ? states : undefined,
      newestFirst: true,
      limit: limit + ends.unwritten,
    };
    const own = await store.search({ ...query, payer: hashPayer(store.secret, payer) }, now());
    // Records of bankql 0.2.0 are not indexed by subscription key.
    const older = await store.search({ ...query, payer: null, limit: maxOlder }, now());
    return [...own, ...older.filter((record) => belongsTo(payer, record))]
      .map((record) => ends.latest(record))
      .filter(({ state }) => states === undefined || states.includes(state))
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
      .slice(0, limit)
      .map((record) => ({ record, idempotencyKey: idempotencyKeyOf(payer, record) }));
  };
}

/** How many records of bankql 0.2.0 are read at most. */
const maxOlder = 1_000;
