import { BankqlError, type ErrorCode } from '../errors.ts';

import { payerOf, recordId } from './record.ts';
import type { PaymentIntent, PaymentOperation, PaymentService } from './service.ts';
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

/** A payment that was asked for and not accepted. Holds no credential and no idempotency key. */
export interface FailedPayment {
  readonly operation: string;
  /** Why bankql did not send it; undefined where the bank said no, or nobody knows, or the request is at fault. */
  readonly why: PaymentRefusal | undefined;
  /** The id of the record of the caller's key, which may be an earlier payment's; null where the request names none. */
  readonly id: string | null;
  readonly error: unknown;
}

/** Payments, with each that fails told to `onFailure`, which must not throw. Errors: as the payments'. */
export function observeFailures(
  payments: PaymentService,
  store: Pick<PaymentStore, 'loss'>,
  onFailure: (payment: FailedPayment) => void,
): PaymentService {
  return {
    ...payments,
    async pay(operation, intent) {
      try {
        return await payments.pay(operation, intent);
      } catch (error) {
        onFailure({
          operation: operation.id,
          why: refusalOf(error, store),
          id: idOf(intent),
          error,
        });
        throw error;
      }
    },
  };
}

function idOf({ input, idempotencyKey }: PaymentIntent<PaymentOperation>): string | null {
  try {
    return recordId(payerOf(input.credentials), idempotencyKey);
  } catch {
    return null;
  }
}
