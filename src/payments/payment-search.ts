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
    const found = await store.search(
      {
        caller: hashCaller(store.secret, ...payer.caller),
        payer: hashPayer(store.secret, payer),
        // A payment whose outcome is not written yet is in another state in the store.
        states: ends.unwritten === 0 ? states : undefined,
        newestFirst: true,
        limit: limit + ends.unwritten,
      },
      now(),
    );
    return found
      .filter((record) => belongsTo(payer, record))
      .map((record) => ends.latest(record))
      .filter(({ state }) => states === undefined || states.includes(state))
      .slice(0, limit)
      .map((record) => ({ record, idempotencyKey: idempotencyKeyOf(payer, record) }));
  };
}
