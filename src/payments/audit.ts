import { noFingerprint, noOutcome, type PaymentRecord, paymentStates } from './payment-record.ts';

/** The audit log: a line for each change of a payment's state, and the records that are made from it after a loss. */

export const auditedStates = [...paymentStates, 'NOT_SENT', 'RELEASED'] as const;

/**
 * One line of the audit log: a payment's state changed. The line for PENDING is written before anything is sent, so that every
 * payment leaves a line, whatever happens to it. NOT_SENT and RELEASED say that the key is free again: nothing was sent, or
 * the request was refused before the payment was read. Holds no credential, no idempotency key and no text of the client's
 * own.
 */
export interface AuditEntry
  extends Pick<
    PaymentRecord,
    | ('id' | 'caller' | 'operation' | 'bankId' | 'accountId' | 'toBankId' | 'toAccountId' | 'currency')
    | ('amount' | 'trackId' | 'createdAt' | 'updatedAt' | 'code' | 'status' | 'bankText')
    | ('requestId' | 'replica')
  > {
  readonly state: (typeof auditedStates)[number];
}

export function auditEntry(record: PaymentRecord, state: AuditEntry['state']): AuditEntry {
  const { id, caller, operation, bankId, accountId, toBankId, toAccountId, currency } = record;
  const { amount, trackId, createdAt, updatedAt, code, status, bankText, requestId, replica } = record;
  return {
    ...{ id, caller, operation, bankId, accountId, toBankId, toAccountId, currency },
    ...{ amount, trackId, createdAt, updatedAt, code, status, bankText, requestId, replica, state },
  };
}

/** Makes the record of a payment that only the audit log names. The protocol determines its state. */
export const recordFromLog = (entry: AuditEntry): PaymentRecord => ({
  ...noOutcome,
  ...entry,
  payer: '',
  fingerprint: noFingerprint,
  state: 'PENDING',
  description: null,
  idempotencyKey: '',
  leaseUntil: entry.createdAt,
  history: [],
});
