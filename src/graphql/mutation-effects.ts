import type { BankClient } from '../bank/client.ts';
import { BankqlError, detailsOf, type ErrorCode } from '../errors.ts';
import type { PaymentState } from '../payments/payment-record.ts';
import type { PaymentService } from '../payments/service.ts';

/** A write of a mutation, and its result if it has ended. */
interface WriteEffect {
  /** The REST operation's id. */
  readonly operation: string;
  readonly trackId?: string;
  /** The error code, if the write failed. */
  readonly code?: string;
}

/** The state of a payment. NOT_SENT: nothing was paid under this key, and it may be used again. */
type PaymentEffectState = PaymentState | 'NOT_SENT';

/** The payment of a mutation. */
interface PaymentEffect {
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly trackId?: string;
  /** Absent if the error is only about this request: an earlier request with this key may have paid. */
  readonly state?: PaymentEffectState;
  /** The error code of the payment. `code` is the one of the whole answer. */
  readonly paymentCode?: string;
}

/**
 * The writes and payments of a mutation, for an answer without data: the client must not conclude that
 * nothing was written or paid.
 */
export class MutationEffects {
  #payment: PaymentEffect | null = null;
  readonly #writes: WriteEffect[] = [];
  readonly #underWay = new Set<Promise<unknown>>();

  /** Resolves when no write or payment is in progress. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** The extensions of an error: the payment's members, and `writes`. An operation has at most one payment. */
  get extensions(): Readonly<Record<string, unknown>> {
    return { ...this.#payment, ...(this.#writes.length === 0 ? {} : { writes: this.#writes }) };
  }

  /** The bank client, with its writes recorded. */
  bank(bank: BankClient): BankClient {
    return {
      ...bank,
      write: (operation, input) =>
        this.#track(
          bank.write(operation, input),
          ({ trackId }) => void this.#writes.push({ operation: operation.id, ...(trackId && { trackId }) }),
          (error) => {
            const { code, trackId } = detailsOf(error);
            this.#writes.push({ operation: operation.id, code, ...(trackId && { trackId }) });
          },
        ),
    };
  }

  /** The payment service, with its payments recorded. */
  payments(payments: PaymentService): PaymentService {
    return {
      ...payments,
      pay: (operation, intent) => {
        // The key is shortened, because a key that is refused for its length may have any length.
        const known = { operation: operation.id, idempotencyKey: intent.idempotencyKey.slice(0, 255) };
        return this.#track(
          payments.pay(operation, intent),
          ({ trackId }) => {
            this.#payment = { ...known, trackId, state: 'DONE' };
          },
          (error) => {
            const { code: paymentCode, trackId } = detailsOf(error);
            const state = stateAfter(error);
            this.#payment = { ...known, ...(trackId && { trackId }), ...(state && { state }), paymentCode };
          },
        );
      },
    };
  }

  #track<T>(work: Promise<T>, onDone: (value: T) => void, onFailed: (error: unknown) => void): Promise<T> {
    const tracked = work.then(onDone, onFailed).finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
    return work;
  }
}

/** The states of failed payments that the error code alone determines. */
const statesByCode: Partial<Record<ErrorCode, PaymentEffectState>> = {
  OUTCOME_UNKNOWN: 'UNKNOWN',
  IDEMPOTENCY_IN_PROGRESS: 'PENDING',
  // This code needs no status of the bank: an operator may have settled the payment as rejected.
  BANK_REJECTED: 'REJECTED',
  BANK_UNAVAILABLE: 'NOT_SENT',
  BANK_TIMEOUT: 'NOT_SENT',
  // The bank or a gateway refused the credentials: no record is kept.
  UNAUTHENTICATED: 'NOT_SENT',
};

/** The state of a payment that failed; UNKNOWN if in doubt. Undefined if the error says nothing about the payment. */
function stateAfter(error: unknown): PaymentEffectState | undefined {
  if (!(error instanceof BankqlError)) return 'UNKNOWN';
  const { code, status } = error.extensions;
  if (statesByCode[code] !== undefined) return statesByCode[code];
  // If the error has no status of the bank, bankql itself refused this request; an earlier request may have
  // paid.
  if (status === undefined) return undefined;
  // If a gateway refused the payment, no record is kept.
  return code === 'RATE_LIMITED' ? 'NOT_SENT' : 'REJECTED';
}
