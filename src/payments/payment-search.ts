import type { OutcomeWriter } from './outcome-writer.ts';
import { belongsTo, hashCaller, hashPayer, idempotencyKeyOf, type Payer } from './record.ts';
import type { PaymentRecord, PaymentState, PaymentStore } from './store.ts';

/** A filter for a caller's own payments. */
export interface OwnPaymentsQuery {
  /** Any state where it is left out. */
  readonly states?: readonly PaymentState[] | undefined;
  /** The account that pays or is paid. */
  readonly accountId?: string | undefined;
  /** When it began at the earliest, in milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly oldestFirst?: boolean | undefined;
  /** The payment that the result follows in that order. */
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined;
  readonly limit: number;
  /** Called with the number of records that are about to be read; may throw, and ends the search then. */
  readonly onRead?: ((records: number) => void) | undefined;
}

export interface OwnPayment {
  readonly record: PaymentRecord;
  /** Null if the record is older than stored keys. */
  readonly idempotencyKey: string | null;
}

/** Searches a payer's own payments, newest first by default. Errors of the search: StoreUnavailable, UnreadableRecord. */
export function createPaymentSearch(store: PaymentStore, ends: OutcomeWriter, now: () => number) {
  return async (
    payer: Payer,
    { states, accountId, since, oldestFirst, after, limit, onRead }: OwnPaymentsQuery,
  ): Promise<readonly OwnPayment[]> => {
    onRead?.(limit);
    const found = await store.search(
      {
        caller: hashCaller(store.secret, ...payer.caller),
        payer: hashPayer(store.secret, payer),
        // A payment whose outcome is not written yet is in another state in the store.
        states: ends.unwritten === 0 ? states : undefined,
        accountId,
        since,
        after: after && { created_at: after.createdAt, id: after.id },
        newestFirst: !oldestFirst,
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
