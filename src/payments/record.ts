import { createHmac, hash } from 'node:crypto';
import type { Credentials } from '../bank/credentials.ts';
import type { PreparedCall } from '../bank/request.ts';
import { BankqlError } from '../errors.ts';
import type { PaymentDetails } from './payment-details.ts';
import { openKey, sealKey } from './sealed-idempotency-key.ts';
import type { PaymentRecord, PaymentState } from './store.ts';

/** The caller, by whom a payment is looked up, and the subscription key, which has to match for it to be shown. */
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

/** The id of the record of a payer's payment with this key. */
export const recordId = ({ caller }: Payer, idempotencyKey: string): string =>
  sha256([...caller, idempotencyKey]);

/** Whether a record was made with this payer's subscription key. */
export const belongsTo = ({ subscriptionKey }: Payer, { id, fingerprint }: PaymentRecord): boolean =>
  fingerprint.startsWith(`${keyFingerprint(id, subscriptionKey)}.`);

/**
 * The caller's pseudonym in records and logs. Auth-IDs can be guessed, so the hash is keyed: without the store's secret
 * nobody can find out by trial whose payment it is.
 * Shape: HMAC-SHA-256 in hex.
 */
export const hashCaller = (secret: string, provider: string, id: string): string =>
  hashUnderSecret(secret, [provider, id]);

/** The caller with this subscription key, by which their own payments are listed. Shape: as hashCaller. */
export const hashPayer = (secret: string, { caller, subscriptionKey }: Payer): string =>
  hashUnderSecret(secret, [...caller, subscriptionKey]);

const hashUnderSecret = (secret: string, values: readonly string[]): string =>
  createHmac('sha256', secret).update(sha256(values)).digest('hex');

/** The idempotency key of a payer's record; null for records older than stored keys. */
export const idempotencyKeyOf = (payer: Payer, { id, sealedKey }: PaymentRecord): string | null =>
  sealedKey === null ? null : openKey(payer, id, sealedKey);

/**
 * A fingerprint has two parts: a hash of the subscription key, salted with the record's id, and one of all that is
 * sent.
 */
const keyFingerprint = (id: string, subscriptionKey: string) => sha256([id, subscriptionKey]);

/** A payment that is about to be sent, and where it comes from. */
export interface Described {
  readonly call: PreparedCall;
  readonly payer: Payer;
  readonly idempotencyKey: string;
  readonly details: PaymentDetails;
  /** The store's: see hashCaller. */
  readonly secret: string;
  readonly requestId: string | null;
  readonly replica: string | null;
}

/** The record of a payment that is about to be sent. */
export function pendingRecord(described: Described, now: number, leaseMs: number): PaymentRecord {
  const { call, payer, idempotencyKey, details, secret, requestId, replica } = described;
  const { operation, request, trackId } = call;
  if (trackId === null) throw new Error(`${operation.id} is a payment without a Track-ID`);
  const id = recordId(payer, idempotencyKey);
  const requestFingerprint = sha256([operation.id, request.method, request.path, request.body]);
  return {
    ...details,
    id,
    caller: hashCaller(secret, ...payer.caller),
    payer: hashPayer(secret, payer),
    fingerprint: `${keyFingerprint(id, payer.subscriptionKey)}.${requestFingerprint}`,
    state: 'PENDING',
    operation: operation.id,
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
    requestId,
    replica,
    sealedKey: sealKey(payer, id, idempotencyKey),
    history: [],
  };
}

/**
 * One line of the audit log: a payment's state changed. PENDING comes before anything is sent, so that a payment
 * leaves a line whatever happens then. NOT_SENT and RELEASED say that the key is free again: because nothing was sent, or
 * because the bank did not accept the caller's credentials (401). Holds no credential, no idempotency key and no
 * text of the client's own.
 */
export type AuditEntry = Omit<
  PaymentRecord,
  | 'answer'
  | 'description'
  | 'fingerprint'
  | 'history'
  | 'leaseUntil'
  | 'message'
  | 'payer'
  | 'sealedKey'
  | 'settledBy'
  | 'state'
> & {
  readonly state: PaymentState | 'NOT_SENT' | 'RELEASED';
  /**
   * Set on a line that repeats an outcome which the store could not record, with all that is needed to write it: see
   * unwritten-outcome.ts.
   */
  readonly event?: 'unwritten-end';
  readonly answer?: string | null;
  readonly message?: string | null;
};

export function auditEntry(record: PaymentRecord, state: AuditEntry['state']): AuditEntry {
  const {
    answer,
    description,
    fingerprint,
    history,
    leaseUntil,
    message,
    payer,
    sealedKey,
    settledBy,
    ...entry
  } = record;
  return { ...entry, state };
}

/** SHA-256 of the values as JSON, which separates them unambiguously. */
const sha256 = (values: readonly (string | null)[]) => hash('sha256', JSON.stringify(values));
