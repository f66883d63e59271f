import { createHash } from 'node:crypto';
import type { PreparedCall } from '../bank/call.ts';
import type { Credentials } from '../bank/credentials.ts';
import { BankqlError } from '../bank/error.ts';
import type { PaymentRecord } from './store.ts';

/** Who shows which keys: what a payment is looked up by, and what has to be the same for it to be shown. */
export interface Payer {
  /** Auth-Provider-Name and Auth-ID. */
  readonly caller: readonly [provider: string, id: string];
  readonly subscriptionKey: string;
}

/** Errors: MISSING_CREDENTIALS. */
export function payerOf({ authProviderName, authId, subscriptionKey }: Credentials): Payer {
  if (authProviderName === null || authId === null || subscriptionKey === null) {
    throw new BankqlError(
      'MISSING_CREDENTIALS',
      'A payment belongs to a caller: it needs the request headers Ocp-Apim-Subscription-Key, Auth-Provider-Name and Auth-ID.',
    );
  }
  return { caller: [authProviderName, authId], subscriptionKey };
}

/** Where a payer's payment with this key is kept. */
export const recordId = ({ caller }: Payer, idempotencyKey: string): string =>
  hash([...caller, idempotencyKey]);

/** Whether a record was made with this payer's subscription key. */
export const isOf = ({ subscriptionKey }: Payer, { id, fingerprint }: PaymentRecord): boolean =>
  fingerprint.startsWith(`${keyPrint(id, subscriptionKey)}.`);

/** Two prints: of the subscription key, salted with the record's id, and of all that goes over the wire. */
const keyPrint = (id: string, subscriptionKey: string) => hash([id, subscriptionKey]);

/** What a record says of a payment before it is sent. */
export interface Described {
  readonly call: PreparedCall;
  readonly payer: Payer;
  readonly idempotencyKey: string;
  readonly from: { readonly bankId: string; readonly accountId: string };
  readonly to: { readonly bank_id?: string | undefined; readonly account_id?: string | undefined };
  readonly value:
    | { readonly currency?: string | undefined; readonly amount?: string | undefined }
    | undefined;
}

/** The record of a payment that is about to be sent. */
export function pendingRecord(described: Described, now: number, leaseMs: number): PaymentRecord {
  const { call, payer, idempotencyKey, from, to, value } = described;
  const { operation, request, trackId } = call;
  if (trackId === null) throw new Error(`${operation.id} is a payment without a Track-ID`);
  const id = recordId(payer, idempotencyKey);
  const wirePrint = hash([operation.id, request.method, request.path, request.body]);
  return {
    id,
    caller: hash(payer.caller),
    fingerprint: `${keyPrint(id, payer.subscriptionKey)}.${wirePrint}`,
    state: 'PENDING',
    operation: operation.id,
    bankId: from.bankId,
    accountId: from.accountId,
    toBankId: to.bank_id ?? null,
    toAccountId: to.account_id ?? null,
    currency: value?.currency ?? null,
    amount: value?.amount ?? null,
    trackId,
    createdAt: now,
    updatedAt: now,
    leaseUntil: now + leaseMs,
    answer: null,
    code: null,
    status: null,
    message: null,
    settledBy: null,
    bankText: null,
    requestId: null,
    replica: null,
    history: [],
  };
}

/**
 * One line of the audit log: a payment's state changed. PENDING comes before anything is sent, so that a payment
 * leaves a line whatever happens then. Holds no credential and no idempotency key.
 */
export type AuditEntry = Omit<
  PaymentRecord,
  'answer' | 'fingerprint' | 'history' | 'leaseUntil' | 'message' | 'settledBy' | 'state'
> & {
  readonly state: PaymentRecord['state'] | 'NOT_SENT';
};

export function auditEntry(record: PaymentRecord, state: AuditEntry['state']): AuditEntry {
  const { answer, fingerprint, history, leaseUntil, message, settledBy, ...entry } = record;
  return { ...entry, state };
}

/** SHA-256 of the values, told apart from each other by JSON. */
const hash = (values: readonly (string | null)[]) =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex');
