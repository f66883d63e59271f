import { z } from 'zod';
import type { PaymentEvent, PaymentRecord } from '../store.ts';

export { historyLine } from '../payment-history.ts';

const event: z.ZodType<PaymentEvent> = z.object({
  state: z.enum(['PENDING', 'DONE', 'REJECTED', 'UNKNOWN']),
  at: z.number(),
  replica: z.string().optional(),
  requestId: z.string().optional(),
  status: z.number().optional(),
  code: z.string().optional(),
  bankText: z.string().optional(),
  settledBy: z.string().optional(),
});

const history = z
  .string()
  .transform((lines) =>
    z.array(event).parse(lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))),
  );

/** A payment's record as read from a store; the store's additional fields are dropped. */
export const storedRecord: z.ZodType<PaymentRecord> = z.object({
  id: z.string(),
  caller: z.string(),
  fingerprint: z.string(),
  state: z.enum(['PENDING', 'DONE', 'REJECTED', 'UNKNOWN']),
  operation: z.string(),
  bankId: z.string(),
  accountId: z.string(),
  toBankId: z.string().nullable(),
  toAccountId: z.string().nullable(),
  currency: z.string().nullable(),
  amount: z.string().nullable(),
  trackId: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
  leaseUntil: z.number(),
  answer: z.string().nullable(),
  code: z.string().nullable(),
  status: z.number().nullable(),
  message: z.string().nullable(),
  settledBy: z.string().nullable(),
  bankText: z.string().nullable(),
  requestId: z.string().nullable(),
  replica: z.string().nullable(),
  sealedKey: z.string().nullable().default(null),
  history,
});
