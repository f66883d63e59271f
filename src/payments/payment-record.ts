import { z } from 'zod';
import type { Credentials } from '../bank/credentials.ts';
import type { PreparedCall } from '../bank/request.ts';
import type { Body } from '../contract/record.ts';
import type { accountRef, money } from '../contract/shared-parts.ts';
import { badUserInput } from '../errors.ts';
import { hashCaller, hashPayer, type Payer, recordId, sha256 } from './caller.ts';

/**
 * The states of a payment. PENDING: stored before the request leaves; the payment may have been sent. UNKNOWN: the bank may have
 * executed it; it is never sent again.
 */
export const paymentStates = ['PENDING', 'DONE', 'REJECTED', 'UNKNOWN'] as const;
const paymentState = z.enum(paymentStates);
export type PaymentState = z.infer<typeof paymentState>;

/** Whether a payment in this state has ended. Its record then changes no more, and is deleted after the retention. */
export const isFinished = (state: string): boolean => state === 'DONE' || state === 'REJECTED';

/** One change of a payment's state, for its history. Unknown fields are absent. */
const paymentEvent = z.object({
  state: paymentState,
  /** Milliseconds since 1970. */
  at: z.number(),
  /** The process that made the change. Absent if a lease ended, because any process may be the first to notice that. */
  replica: z.string().optional(),
  /** The X-Request-Id of the request that made the change. */
  requestId: z.string().optional(),
  status: z.number().optional(),
  code: z.string().optional(),
  bankText: z.string().optional(),
  settledBy: z.string().optional(),
  /** The operator who recovered the payment from a log. */
  recoveredBy: z.string().optional(),
});
export type PaymentEvent = Readonly<z.infer<typeof paymentEvent>>;

/**
 * The stored record of one payment. It contains no credential. Every text is bounded. Times are milliseconds since 1970 by the
 * database's clock.
 */
export const paymentRecord = z.object({
  /** SHA-256, in hex, of the caller (Auth-Provider-Name, Auth-ID) and the idempotency key. */
  id: z.string(),
  /** The caller, hashed under the store's secret (hashCaller), so that an operator can find and group payments. */
  caller: z.string(),
  /**
   * The caller and the subscription key, hashed under the store's secret (hashPayer). This hash finds a caller's own payments.
   */
  payer: z.string(),
  /**
   * Two SHA-256 hashes in hex, separated by a dot: of the salted subscription key, and of the request without the prefix of the
   * bank's address.
   */
  fingerprint: z.string(),
  state: paymentState,
  /** The REST operation's id. */
  operation: z.string(),
  /** The paying account, which is in the path. */
  bankId: z.string(),
  accountId: z.string(),
  /** The payee's account, if the request names it. */
  toBankId: z.string().nullable(),
  toAccountId: z.string().nullable(),
  currency: z.string().nullable(),
  /** An exact decimal. */
  amount: z.string().nullable(),
  /** The purpose of the payment, as the client describes it. */
  description: z.string().nullable(),
  /** The key that the client has chosen, as it was sent. */
  idempotencyKey: z.string(),
  /** The Track-ID of the request to the bank. It also identifies the attempt that may write the outcome. */
  trackId: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
  /** The time at which a record that is still PENDING becomes UNKNOWN, because the process that wrote it is assumed dead. */
  leaseUntil: z.number(),
  /** The bank's answer as JSON text with exact amounts; null if there was no answer. */
  answer: z.string().nullable(),
  /** The error code that the mutation answered with; null if it succeeded. */
  code: z.string().nullable(),
  /** The HTTP status of the bank's answer; null if no answer arrived. */
  status: z.number().nullable(),
  /** The error's message, which holds no secret; null if it succeeded. */
  message: z.string().nullable(),
  /** The bank's text for the operator, shortened and without credentials; null if the bank gave none. */
  bankText: z.string().nullable(),
  /** The person who settled an UNKNOWN record, and the reason; null if nobody has settled it. */
  settledBy: z.string().nullable(),
  /** The X-Request-Id of the request that sent the payment; null if it had no such id. */
  requestId: z.string().nullable(),
  /** The process that sent the payment, by its host and process id; null if unknown. */
  replica: z.string().nullable(),
  /** Every change of the state, oldest first. The store appends to it. */
  history: z.array(paymentEvent).readonly(),
  /** Whether the record was found damaged, so that only the values of the store's columns are known; absent if not. */
  damaged: z.literal(true).optional(),
});
export type PaymentRecord = Readonly<z.infer<typeof paymentRecord>>;

/** Whether neither the payment nor its outcome is known, because the record is damaged and no operator has settled it yet. */
export const isUnreadable = ({ damaged, state }: Pick<PaymentRecord, 'damaged' | 'state'>): boolean =>
  damaged === true && !isFinished(state);

/** The known outcome of a payment. */
export interface PaymentOutcome
  extends Pick<PaymentRecord, 'answer' | 'code' | 'status' | 'message' | 'bankText'> {
  readonly state: Exclude<PaymentState, 'PENDING'>;
}

/** The values of a record until the outcome of its payment is known. */
export const noOutcome = {
  answer: null,
  code: null,
  status: null,
  message: null,
  bankText: null,
  settledBy: null,
} as const;

/**
 * A fingerprint has two parts: a hash of the subscription key, salted with the record's id, and one of the request's method,
 * path and body.
 */
const keyFingerprint = (id: string, subscriptionKey: string) => sha256([id, subscriptionKey]);

/** Identifies a request. The prefix of the bank's address is left out, because the operator may change it. */
export const hashRequest = ({ operation, path, request }: PreparedCall): string =>
  sha256([operation.id, request.method, path, request.body]);

/**
 * Whether a record of the payer's caller may be shown to this payer. A proven identity is enough, because the operator may
 * change the subscription key. Otherwise the subscription key must be the same. `secret`: the store's. A damaged record
 * identifies the payer only by `payer`, a hash under this secret.
 */
export function belongsTo(payer: Payer, record: PaymentRecord, secret: string): boolean {
  if (payer.isProven) return true;
  if (record.damaged) return record.payer === hashPayer(secret, payer);
  return record.fingerprint.startsWith(`${keyFingerprint(record.id, payer.subscriptionKey)}.`);
}

/** The fingerprint of a record that was made from a log, which contains neither the subscription key nor the whole request. */
export const noFingerprint = '';

export const isFromLog = ({ fingerprint, damaged }: PaymentRecord): boolean =>
  fingerprint === noFingerprint && !damaged;

/** The details of a request that a log contains. */
const sentDetails = [
  'operation',
  'bankId',
  'accountId',
  'toBankId',
  'toAccountId',
  'currency',
  'amount',
] as const satisfies (keyof PaymentRecord)[];

/** Whether an attempt repeats the request of an earlier record with the same key, as far as the record contains that request. */
export function isSameRequest(earlier: PaymentRecord, attempt: PaymentRecord): boolean {
  if (earlier.damaged)
    return earlier.accountId === attempt.accountId && earlier.toAccountId === attempt.toAccountId;
  if (isFromLog(earlier)) return sentDetails.every((name) => earlier[name] === attempt[name]);
  return earlier.fingerprint.split('.')[1] === attempt.fingerprint.split('.')[1];
}

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
  const { operation, trackId } = call;
  if (trackId === null) throw new Error(`${operation.id} is a payment without a Track-ID`);
  const id = recordId(payer, idempotencyKey);
  return {
    ...details,
    id,
    caller: hashCaller(secret, ...payer.caller),
    payer: hashPayer(secret, payer),
    fingerprint: `${keyFingerprint(id, payer.subscriptionKey)}.${hashRequest(call)}`,
    state: 'PENDING',
    operation: operation.id,
    trackId,
    ...rest,
    createdAt,
    updatedAt: createdAt,
    ...noOutcome,
    idempotencyKey,
    history: [],
  };
}

/** The payer (the path's account), the payee, the amount and the purpose. */
type PaymentDetails = Pick<
  PaymentRecord,
  'bankId' | 'accountId' | 'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description'
>;

/** The path ids and body members that all payment operations have. */
export interface PaymentInput {
  readonly ids: { readonly bankId: string; readonly accountId: string; readonly TYPE?: string | undefined };
  readonly body: {
    readonly description?: string | undefined;
    readonly challenge_type?: string | undefined;
    readonly to: Body<typeof accountRef>;
    readonly value?: Body<typeof money> | undefined;
  };
}

/**
 * The payment's details for its record, read from the request that is sent.
 * Errors: BAD_USER_INPUT, naming the argument, if a text is too long, or no account is paid. bankql checks this itself,
 *         because a refusal by the bank that bankql does not understand would make the payment UNKNOWN.
 */
export function paymentDetails({ ids, body }: PaymentInput): PaymentDetails {
  const { description, to, value } = body;
  const { amount, currency } = value ?? {};
  // A longer text is neither stored nor logged nor sent.
  for (const [given, longest, name, argument] of [
    [amount, 64, 'amount', 'value.amount'],
    [currency, 16, 'currency', 'value.currency'],
    [description, 512, 'description', 'description'],
    [to.bank_id, 128, 'to.bankId', 'to.bankId'],
    [to.account_id, 128, 'to.accountId', 'to.accountId'],
  ] as const)
    if (given !== undefined && (given.length > 2 * longest || [...given].length > longest))
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

/** All texts of a request. A bank may repeat them, so none of them counts as an id that it gave to the payment. */
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
