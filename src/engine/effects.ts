import type { BankClient } from '../bank/client.ts';
import { BankqlError } from '../errors.ts';
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

/** The payment of a mutation; NOT_SENT: the key is free, or was for something else. */
interface PaymentEffect {
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly trackId?: string;
  readonly state: PaymentState | 'NOT_SENT';
}

/**
 * What a mutation did at the bank, for an answer that cannot show its data: nobody may conclude from such an answer that
 * nothing was written or paid.
 */
export class Effects {
  #payment: PaymentEffect | null = null;
  readonly #writes: WriteEffect[] = [];
  readonly #underWay = new Set<Promise<unknown>>();

  /** Whether nothing was written or paid, nor tried to. */
  get isEmpty(): boolean {
    return this.#payment === null && this.#writes.length === 0 && this.#underWay.size === 0;
  }

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
            const { trackId } = detailsOf(error);
            this.#payment = { ...known, ...(trackId && { trackId }), state: stateAfter(error) };
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

/** What became of a payment that failed: in doubt it may have been executed. */
function stateAfter(error: unknown): PaymentEffect['state'] {
  if (!(error instanceof BankqlError) || error.code === 'OUTCOME_UNKNOWN') return 'UNKNOWN';
  if (error.code === 'IDEMPOTENCY_IN_PROGRESS') return 'PENDING';
  // What an operator settled has no status.
  const isRejected = error.extensions.status !== undefined || error.code === 'BANK_REJECTED';
  return isRejected ? 'REJECTED' : 'NOT_SENT';
}
