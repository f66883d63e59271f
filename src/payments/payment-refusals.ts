import { BankqlError, type ErrorCode } from '../errors.ts';
import type { PaymentService } from './service.ts';
import { type PaymentStore, StoreUnavailable } from './store.ts';

/** Why bankql did not send a payment, for a metric. */
export type PaymentRefusal =
  | 'store away'
  | 'records lost'
  | 'not logged'
  | 'in progress'
  | 'key reused'
  | 'rate limited'
  | 'overloaded'
  | 'bank away';

/** Codes with which this request sent nothing; payments that the bank refuses are counted by their state instead. */
const refusals: Partial<Record<ErrorCode, PaymentRefusal>> = {
  IDEMPOTENCY_IN_PROGRESS: 'in progress',
  IDEMPOTENCY_KEY_REUSED: 'key reused',
  RATE_LIMITED: 'rate limited',
  OVERLOADED: 'overloaded',
  BANK_UNAVAILABLE: 'bank away',
  BANK_TIMEOUT: 'bank away',
};

function refusalOf(error: unknown, store: Pick<PaymentStore, 'loss'>): PaymentRefusal | undefined {
  if (!(error instanceof BankqlError)) return undefined;
  if (error.code !== 'STATE_UNAVAILABLE') return refusals[error.code];
  if (!(error.cause instanceof StoreUnavailable)) return 'not logged';
  return store.loss === null ? 'store away' : 'records lost';
}

/**
 * Wraps a payment service and reports each payment that is not sent to `onRefusal`, which must not throw. Errors: those
 * of the payment service.
 */
export function observeRefusals(
  payments: PaymentService,
  store: Pick<PaymentStore, 'loss'>,
  onRefusal: (why: PaymentRefusal) => void,
): PaymentService {
  return {
    ...payments,
    async pay(operation, intent) {
      try {
        return await payments.pay(operation, intent);
      } catch (error) {
        const why = refusalOf(error, store);
        if (why !== undefined) onRefusal(why);
        throw error;
      }
    },
  };
}
