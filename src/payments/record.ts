import { createHmac, hash } from 'node:crypto';
import type { Credentials } from '../bank/credentials.ts';
import type { PreparedCall } from '../bank/request.ts';
import type { Body } from '../contract/record.ts';
import type { accountRef, money } from '../contract/shared-parts.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { type PaymentRecord, paymentStates } from './store/store.ts';

/** The caller, by whom a payment is looked up. */
export interface Payer {
  /** Auth-Provider-Name and Auth-ID. */
  readonly caller: readonly [provider: string, id: string];
  /** Unless the caller's identity is proven, a payment is shown only to the subscription key that made it. */
  readonly subscriptionKey: string;
  readonly isProven?: boolean;
}

/** Errors: MISSING_CREDENTIALS. */
export function payerOf({ authProviderName, authId, subscriptionKey, isProven = false }: Credentials): Payer {
  if (authProviderName === null || authId === null || subscriptionKey === null) {
    throw new BankqlError(
      'MISSING_CREDENTIALS',
      'A payment belongs to a caller: it needs the request headers Ocp-Apim-Subscription-Key, Auth-Provider-Name and Auth-ID.',
    );
  }
  return { caller: [authProviderName, authId], subscriptionKey, isProven };
}

/** The id of the record of a payer's payment with this key. */
export const recordId = ({ caller }: Payer, idempotencyKey: string): string =>
  sha256([...caller, idempotencyKey]);

/**
 * Whether a record of the payer's caller may be shown to this payer. An operator may change the subscription key: callers whose
 * identity is proven keep their payments. `secret`: the store's, under which a damaged record still has the payer.
 */
export function belongsTo(payer: Payer, record: PaymentRecord, secret: string): boolean {
  if (payer.isProven) return true;
  if (record.damaged) return record.payer === hashPayer(secret, payer);
  return record.fingerprint.startsWith(`${keyFingerprint(record.id, payer.subscriptionKey)}.`);
}

/** The fingerprint of a record that was made from a log, which contains neither the subscription key nor the whole request. */
const noFingerprint = '';

export const isFromLog = ({ fingerprint, damaged }: PaymentRecord): boolean =>
  fingerprint === noFingerprint && !damaged;

/** Whether an attempt repeats the request of an earlier record with the same key, as far as that record tells. */
export function isSameRequest(earlier: PaymentRecord, attempt: PaymentRecord): boolean {
  if (earlier.damaged)
    return earlier.accountId === attempt.accountId && earlier.toAccountId === attempt.toAccountId;
  if (isFromLog(earlier)) return sentDetails.every((name) => earlier[name] === attempt[name]);
  return earlier.fingerprint.split('.')[1] === attempt.fingerprint.split('.')[1];
}

/** The details of a request that a log contains. */
const sentDetails = [
  'operation',
  'bankId',
  'accountId',
  'toBankId',
  'toAccountId',
  'currency',
  'amount',
] as const satisfies (keyof AuditEntry)[];

/**
 * The caller's pseudonym in records and logs. Auth-IDs can be guessed, so the hash is keyed: without the store's secret
 * nobody can find out by trial whose payment it is.
 * Shape: HMAC-SHA-256 in hex.
 */
export const hashCaller = (secret: string, provider: string, id: string): string =>
  hashUnderSecret(secret, [provider, id]);

/**
 * The caller together with the subscription key. If the caller's identity is not proven, it finds only payments with the same
 * pair. Shape: as hashCaller.
 */
export const hashPayer = (secret: string, { caller, subscriptionKey }: Payer): string =>
  hashUnderSecret(secret, [...caller, subscriptionKey]);

const hashUnderSecret = (secret: string, values: readonly string[]): string =>
  createHmac('sha256', secret).update(sha256(values)).digest('hex');

/**
 * A fingerprint has two parts: a hash of the subscription key, salted with the record's id, and one of the request's method,
 * path and body.
 */
const keyFingerprint = (id: string, subscriptionKey: string) => sha256([id, subscriptionKey]);

/**
 * The record of a payment that is about to be sent.
 * `origin`: the store's `secret` (see hashCaller), and members of the record.
 */
export function pendingRecord(
  call: PreparedCall,
  payer: Payer,
  idempotencyKey: string,
  details: PaymentDetails,
  origin: Pick<PaymentRecord, 'createdAt' | 'leaseUntil' | 'requestId' | 'replica'> & {
    readonly secret: string;
  },
): PaymentRecord {
  const { secret, createdAt, ...rest } = origin;
  const { operation, path, request, trackId } = call;
  if (trackId === null) throw new Error(`${operation.id} is a payment without a Track-ID`);
  const id = recordId(payer, idempotencyKey);
  // Without the prefix of the bank's address: the operator may change that.
  const requestFingerprint = sha256([operation.id, request.method, path, request.body]);
  return {
    ...details,
    id,
    caller: hashCaller(secret, ...payer.caller),
    payer: hashPayer(secret, payer),
    fingerprint: `${keyFingerprint(id, payer.subscriptionKey)}.${requestFingerprint}`,
    state: 'PENDING',
    operation: operation.id,
    trackId,
    ...rest,
    createdAt,
    updatedAt: createdAt,
    answer: null,
    code: null,
    status: null,
    message: null,
    settledBy: null,
    bankText: null,
    idempotencyKey,
    history: [],
  };
}

export const auditedStates = [...paymentStates, 'NOT_SENT', 'RELEASED'] as const;

/**
 * One line of the audit log: a payment's state changed. PENDING comes before anything is sent, so that a payment
 * leaves a line whatever happens then. NOT_SENT and RELEASED say that the key is free again: because nothing was sent, or
 * because the bank did not accept the caller's credentials (401). Holds no credential, no idempotency key and no
 * text of the client's own.
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

/** A record of a payment that only the audit log names. The protocol determines its state. */
export const recordFromLog = (entry: AuditEntry): PaymentRecord => ({
  ...entry,
  payer: '',
  fingerprint: noFingerprint,
  state: 'PENDING',
  description: null,
  idempotencyKey: '',
  leaseUntil: entry.createdAt,
  answer: null,
  message: null,
  settledBy: null,
  history: [],
});

/** SHA-256 of the values as JSON, which separates them unambiguously. */
const sha256 = (values: readonly (string | null)[]) => hash('sha256', JSON.stringify(values));

/** The payer (the path's account), the payee, the amount and the purpose. */
type PaymentDetails = Pick<
  PaymentRecord,
  'bankId' | 'accountId' | 'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description'
>;

/** The path ids and body members that all payment operations have. */
export interface PaymentInput {
  readonly ids: { readonly bankId: string; readonly accountId: string };
  readonly body: {
    readonly description?: string | undefined;
    readonly to: Body<typeof accountRef>;
    readonly value?: Body<typeof money> | undefined;
  };
}

/**
 * The payment's details for its record, read from the request that is sent.
 * Errors: BAD_USER_INPUT, naming the argument, if a text is too long, or no account is paid: the bank's refusal would have to be
 *         understood, or the payment would be UNKNOWN.
 */
export function paymentDetails({ ids, body }: PaymentInput): PaymentDetails {
  const { description, to, value } = body;
  const { amount, currency } = value ?? {};
  // Longer texts are not stored, logged or sent.
  for (const [given, longest, name, argument] of [
    [amount, 64, 'amount', 'value.amount'],
    [currency, 16, 'currency', 'value.currency'],
    [description, 512, 'description', 'description'],
    [to.bank_id, 128, 'to.bankId', 'to.bankId'],
    [to.account_id, 128, 'to.accountId', 'to.accountId'],
  ] as const)
    if (given !== undefined && given.length > longest)
      throw badUserInput(`The ${name} of a payment may have ${longest} characters at most.`, argument);
  if (!to.account_id?.trim())
    throw badUserInput('A payment needs the account that is paid: give to.accountId.', 'to.accountId');
  return {
    bankId: ids.bankId,
    accountId: ids.accountId,
    toBankId: to.bank_id ?? null,
    toAccountId: to.account_id ?? null,
    currency: currency ?? null,
    amount: amount ?? null,
    description: description ?? null,
  };
}

/** Every text of a request: banks repeat them, but not as the id that they give to a payment. */
export function textsOf({
  ids,
  body,
  credentials,
}: PaymentInput & { readonly credentials: Credentials }): string[] {
  const { authProviderName, authId, subscriptionKey } = credentials;
  const texts: string[] = [];
  JSON.stringify([ids, body, authProviderName, authId, subscriptionKey], (_name, value) => {
    if (typeof value === 'string' && value.trim() !== '') texts.push(value);
    return value;
  });
  return texts;
}
