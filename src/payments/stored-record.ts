import { z } from 'zod';
import type { PaymentRecord } from './store.ts';

/** A payment's record as a store reads it back; what a store keeps beside it falls away. */
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
});
