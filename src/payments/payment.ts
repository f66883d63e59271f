import type { CallInput } from '../bank/request.ts';
import type { Answer, Operation } from '../contract/operation.ts';

/** An operation that moves money or requests a transfer. */
export type PaymentOperation = Operation & { readonly kind: 'payment' };

/** One intended payment. */
export interface PaymentIntent<T extends PaymentOperation> {
  readonly input: CallInput<T>;
  /** Chosen by the client, one for each intended payment. */
  readonly idempotencyKey: string;
}

/** A payment that the bank accepted. */
export interface PaymentResult<T extends PaymentOperation> {
  readonly trackId: string;
  /** True where this is the stored answer to an earlier call. */
  readonly replayed: boolean;
  /** The readable part of the bank's answer; null if there is none. */
  readonly answer: Answer<T> | null;
}
