import type { Credentials } from '../bank/credentials.ts';
import type { OutcomeWriter } from './outcome-writer.ts';
import { recordNotRead, recordsNotRead, validateIdempotencyKey, withStoreErrors } from './payment-errors.ts';
import { openReference, type PaymentReference } from './payment-reference.ts';
import { createPaymentSearch, type OwnPayment, type OwnPaymentsQuery } from './payment-search.ts';
import { belongsTo, idempotencyKeyOf, payerOf, recordId } from './record.ts';
import { type PaymentRecord, type PaymentStore, StoreUnavailable } from './store.ts';

interface LookupOptions {
  readonly store: PaymentStore;
  readonly ends: OutcomeWriter;
  readonly now: () => number;
  /** The record with this id. Errors: StoreUnavailable. */
  readonly lookUp: (id: string) => Promise<PaymentRecord | null>;
}

/** A caller's lookups of their own payments: see PaymentService. */
export function createPaymentLookups({ store, ends, now, lookUp }: LookupOptions) {
  const search = createPaymentSearch(store, ends, now);

  /**
   * A payment that is not found may be among the records that the store lost, so "never paid" cannot be answered.
   * Errors: StoreUnavailable.
   */
  function checkComplete(): void {
    if (store.loss !== null) throw new StoreUnavailable(store.loss);
  }

  return {
    async find(credentials: Credentials, idempotencyKey: string): Promise<PaymentRecord | null> {
      validateIdempotencyKey(idempotencyKey);
      const payer = payerOf(credentials);
      const id = recordId(payer, idempotencyKey);
      return withStoreErrors(recordNotRead(idempotencyKey), async () => {
        const record = await lookUp(id);
        // A caller with another subscription key is told nothing: nothing else proves who is asking.
        if (record !== null && belongsTo(payer, record)) return record;
        checkComplete();
        return null;
      });
    },

    async findReferred(credentials: Credentials, reference: PaymentReference): Promise<OwnPayment | null> {
      const payer = payerOf(credentials);
      const id = openReference(credentials, reference);
      if (id === null) return null;
      return withStoreErrors(recordsNotRead, async () => {
        const record = await lookUp(id);
        // The key may have been released since, and used for another payment.
        if (record !== null && belongsTo(payer, record) && record.trackId === reference.trackId)
          return { record, idempotencyKey: idempotencyKeyOf(payer, record) };
        checkComplete();
        return null;
      });
    },

    async search(credentials: Credentials, query: OwnPaymentsQuery): Promise<readonly OwnPayment[]> {
      const payer = payerOf(credentials);
      return withStoreErrors(recordsNotRead, async () => {
        const payments = await search(payer, query);
        if (payments.length === 0) checkComplete();
        return payments;
      });
    },
  };
}
