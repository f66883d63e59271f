import { z } from 'zod';
import { type PaymentReference, referenceTo } from '../payments/record.ts';
import type { PaymentRecord } from '../payments/store.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { encodeGlobalId, forged, globalIdDescription } from './global-id.ts';

/** A payment record, with the idempotency key that its caller chose. */
export interface FoundPayment {
  readonly idempotencyKey: string;
  readonly record: PaymentRecord;
}

export const PaymentObject = builder.objectRef<FoundPayment>('Payment');

const key = z.tuple([z.string(), z.string()]);

/** Errors: BAD_USER_INPUT if it is not the key of a payment. */
function referenceOf(value: unknown): PaymentReference {
  const parsed = key.safeParse(value);
  if (!parsed.success) throw forged();
  const [trackId, sealedId] = parsed.data;
  return { trackId, sealedId };
}

/** Payments by references that only their callers can use. They are bankql's own records; the bank is not called. */
export const paymentNode = {
  idField: {
    nullable: false,
    description: `${globalIdDescription} Nobody but the payment's caller can follow it.`,
    resolve: ({ record }: FoundPayment, _args: object, { credentials }: Context) => {
      const { trackId, sealedId } = referenceTo(credentials, record);
      return encodeGlobalId('Payment', JSON.stringify([trackId, sealedId]));
    },
  },
  /** Null for everyone but the caller who made it. Errors: as those of `payment`. */
  async load(value: unknown, { payments, credentials }: Context) {
    const found = await payments.findReferred(credentials, referenceOf(value));
    if (found === null) return null;
    return { record: found.record, idempotencyKey: found.idempotencyKey ?? '', __typename: 'Payment' };
  },
  estimate: (value: unknown) => ({ type: 'Payment', parent: referenceOf(value), hasRecord: true }) as const,
} as const;
