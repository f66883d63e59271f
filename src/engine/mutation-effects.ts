import type { BankClient } from '../bank/client.ts';
import { BankqlError, type ErrorCode } from '../errors.ts';
import type { PaymentService } from '../payments/service.ts';
import type { PaymentState } from '../payments/store.ts';

/** A write of a mutation, as far as it is known. */
interface WriteEffect {
  /** The REST operation's id. */
  readonly operation: string;
  readonly trackId?: string;
  /** The code that it failed with. */
  readonly code?: string;
}

/** What a payment has come to; NOT_SENT: nothing is under way or done with this key, which is free. */
type PaymentEffectState = PaymentState | 'NOT_SENT';

/** The payment of a mutation. */
interface PaymentEffect {
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly trackId?: string;
  /** Left out where its error tells of this request alone: an earlier one with this key may have paid. */
  readonly state?: PaymentEffectState;
  /** The code that it failed with; `code` is that of the answer. */
  readonly paymentCode?: string;
}

/**
 * What a mutation did at the bank, for an answer that cannot show its data: nobody may conclude from such an answer that
 * nothing was written or paid.
 */
export class MutationEffects {
  #payment: PaymentEffect | null = null;
  readonly #writes: WriteEffect[] = [];
  readonly #underWay = new Set<Promise<unknown>>();

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** For an error's extensions: the payment's members, and `writes`. An operation has one payment at most. */
  get extensions(): Readonly<Record<string, unknown>> {
    return { ...this.#payment, ...(this.#writes.length === 0 ? {} : { writes: this.#writes }) };
  }

  /** The bank, whose writes are noted. */
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

  /** Payments, each of which is noted. */
  payments(payments: PaymentService): PaymentService {
    return {
      ...payments,
      pay: (operation, intent) => {
        // One that is refused for its length may be any length.
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

const detailsOf = (error: unknown): { readonly code: string; readonly trackId?: string | undefined } =>
  error instanceof BankqlError ? error.extensions : { code: 'INTERNAL' };

/** What a code alone tells of the payment that failed with it. */
const statesByCode: Partial<Record<ErrorCode, PaymentEffectState>> = {
  OUTCOME_UNKNOWN: 'UNKNOWN',
  IDEMPOTENCY_IN_PROGRESS: 'PENDING',
  // What an operator settled has no status.
  BANK_REJECTED: 'REJECTED',
  BANK_UNAVAILABLE: 'NOT_SENT',
  BANK_TIMEOUT: 'NOT_SENT',
  // The bank's 401: nothing is kept of it.
  UNAUTHENTICATED: 'NOT_SENT',
};

/** What became of a payment that failed: in doubt it may have been executed. Undefined where its error does not tell. */
function stateAfter(error: unknown): PaymentEffectState | undefined {
  if (!(error instanceof BankqlError)) return 'UNKNOWN';
  return statesByCode[error.code] ?? (error.extensions.status === undefined ? undefined : 'REJECTED');
}
