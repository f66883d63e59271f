import {
  BankqlError,
  badUserInput,
  type ErrorCode,
  type ErrorDetails,
  isErrorCode,
  requestSentNothing,
} from '../errors.ts';
import { payerOf, recordId } from './caller.ts';
import type { PaymentRecord } from './payment-record.ts';
import type { PaymentIntent, PaymentOperation } from './service.ts';
import { StoreUnavailable } from './store/store.ts';

/** The errors of payments: what clients read, and which refusals the metrics count. */

/** The Retry-After, in seconds, when the store could not be reached. */
const storeRetryAfter = 2;
/** The Retry-After, in seconds, for a record that an operator has to repair. */
const damagedRetryAfter = 60;

/** What is known about a payment of unknown outcome, as sentences that stay true. */
export const unknownBecause = {
  noAnswer: 'The payment may have reached the bank, and no answer to it could be read.',
  /** The bank answered. `isAccepted`: the bank has the payment, such as after a 202. */
  answer: (status: number, isAccepted: boolean) =>
    isAccepted
      ? 'The bank accepted the payment, and has not said that it was executed.'
      : `The payment was sent, and the bank's answer (status ${status}) proves neither that it was executed nor that it was not.`,
} as const;

/** The payment may have been executed. `because`: what is known about it, in one sentence. */
export const outcomeUnknown = (
  { operation, trackId, status }: Pick<PaymentRecord, 'operation' | 'trackId' | 'status'>,
  idempotencyKey: string,
  because: string,
): BankqlError =>
  new BankqlError(
    'OUTCOME_UNKNOWN',
    // The second sentence is not added to the message of a stored record, which already contains it.
    because.includes('Track-ID')
      ? because
      : `${because} It is not sent again under this idempotency key: ask the bank, or its operator, with the Track-ID.`,
    { operation, trackId, idempotencyKey, ...(status === null ? {} : { status }) },
  );

/** The bank answered with a success status and a text that says the opposite. `said`: the bank's text. */
export const statedFailure = (
  { operation, trackId }: PaymentRecord,
  idempotencyKey: string,
  status: number,
  said: string | null,
): BankqlError =>
  new BankqlError(
    'BANK_REJECTED',
    `The bank says that ${operation} failed${said === null ? '.' : `: ${said}`}`,
    { operation, trackId, idempotencyKey, status },
  );

/** Why a payment is REJECTED. If an operator settled the payment, there is neither a code nor a message. */
export const rejectionOf = ({
  operation,
  code,
  message,
}: Pick<PaymentRecord, 'operation' | 'code' | 'message'>) => ({
  code: isErrorCode(code) ? code : ('BANK_REJECTED' as const),
  message: message ?? `The bank rejected ${operation}.`,
});

const stateUnavailable =
  (message: string, details: ErrorDetails = {}) =>
  (cause: unknown) =>
    new BankqlError('STATE_UNAVAILABLE', message, { retryAfter: storeRetryAfter, ...details }, { cause });

/** The error for a payment that is not begun because of its caller's token. */
export const mayNotPay = (idempotencyKey: string) =>
  new BankqlError(
    'FORBIDDEN',
    `This token may not pay: its scope lacks the word that payments need. ${requestSentNothing}`,
    {
      idempotencyKey,
    },
  );

/** The error for a payment that is not begun because the store cannot record it. */
export const recordsNotKept = (idempotencyKey: string) =>
  stateUnavailable(
    `Payments are refused while their records cannot be kept. ${requestSentNothing} Reads go on.`,
    { idempotencyKey },
  );

/** The error for a payment that is not begun because the audit log cannot be written. */
export const notLogged = (idempotencyKey: string) =>
  stateUnavailable(`Payments are refused while they cannot be logged. ${requestSentNothing}`, {
    idempotencyKey,
  });

/** The error for a lookup that the store did not answer. */
export const recordNotRead = (idempotencyKey: string) =>
  stateUnavailable(
    'The record of this payment cannot be read at the moment, so that its outcome is unknown: it may have been executed. Ask again, and do not pay under another key.',
    { idempotencyKey },
  );

export const recordsNotRead = stateUnavailable(
  'The records of payments cannot be read at the moment, so that their outcomes are unknown. Ask again before you repeat a payment.',
);

/** The stored record of this payment is damaged. No other payment is concerned. */
class DamagedRecord extends Error {}

/** The error for a damaged record: until an operator settles it, nobody knows whether the payment was executed. */
export const recordDamaged = ({ id }: Pick<PaymentRecord, 'id'>): BankqlError =>
  damaged(new DamagedRecord(`The stored record of the payment ${id} is damaged.`));

const damaged = stateUnavailable(
  'The stored record of this payment is damaged, so that its outcome is unknown: it may have been executed. This request sent nothing. Ask the operator before you pay under another key.',
  { retryAfter: damagedRetryAfter },
);

/**
 * The error for a key that an earlier payment has used. `belongs`: whether the earlier payment is known to be this caller's,
 * with other values. Otherwise it was made with another subscription key. The error reveals nothing about that payment. A
 * client that takes a new key without asking may pay twice.
 */
export const keyReused = (
  idempotencyKey: string,
  { belongs, operation }: { readonly belongs: boolean; readonly operation?: string },
): BankqlError =>
  new BankqlError(
    'IDEMPOTENCY_KEY_REUSED',
    belongs
      ? 'This idempotency key was used for a payment with other values, so that this one was not sent. If you mean the same payment, ask payment(idempotencyKey) how that one ended before you pay under another key.'
      : 'This idempotency key was used with another subscription key, so that this request sent nothing. That payment may have been executed: ask for it with that subscription key, or ask the operator, before you pay under another key.',
    { ...(operation === undefined ? {} : { operation }), idempotencyKey },
  );

/** Creates the error of a payment that was never sent, with the details that its client needs to retry. */
export function neverSent(error: BankqlError, idempotencyKey: string): BankqlError {
  const { code, retryable, ...known } = error.extensions;
  const details: ErrorDetails = { ...known, idempotencyKey };
  const isOverloaded = code === 'OVERLOADED';
  return new BankqlError(
    code,
    isOverloaded ? `${error.message} ${requestSentNothing}` : error.message,
    isOverloaded ? { ...details, retryAfter: 1 } : details,
    { cause: error },
  );
}

/**
 * The error for an answer after which the key is free. It has no Track-ID, because clients take an error with a Track-ID for
 * the bank's refusal of the payment, and would use a new key.
 */
export function keyIsFree(error: BankqlError, idempotencyKey: string): BankqlError {
  const { code, retryable: _, trackId: _trackId, ...known } = error.extensions;
  // Adds a full stop, which a bank's text may lack.
  const said = error.message.replace(/(?<![.!?])$/, '.');
  const message = `${said} Nothing was executed: the same idempotency key may be used again.`;
  return new BankqlError(code, message, { ...known, idempotencyKey }, { cause: error });
}

/** If a call of the store fails with StoreUnavailable, throws the error that `toError` makes of it. */
export const withStoreErrors = <T>(asked: Promise<T>, toError: (cause: unknown) => BankqlError): Promise<T> =>
  asked.catch((cause) => {
    throw cause instanceof StoreUnavailable ? toError(cause) : cause;
  });

/** Errors: BAD_USER_INPUT for an invalid idempotency key; nothing is sent for it. */
export function validateIdempotencyKey(idempotencyKey: string): void {
  if (!/^[ -~]{1,255}$/.test(idempotencyKey)) {
    throw badUserInput(
      'idempotencyKey has to be 1 to 255 printable ASCII characters, a new one for each intended payment.',
      'idempotencyKey',
    );
  }
}

/** Why bankql did not send a payment, for a metric. */
export const paymentRefusals = [
  'store away',
  'records lost',
  'record damaged',
  'not logged',
  'in progress',
  'key reused',
  'rate limited',
  'overloaded',
  'bank away',
  'no scope',
] as const;
type PaymentRefusal = (typeof paymentRefusals)[number];

/** The codes after which this request sent nothing. Payments that the bank refuses are counted by their state instead. */
const refusals: Partial<Record<ErrorCode, PaymentRefusal>> = {
  IDEMPOTENCY_IN_PROGRESS: 'in progress',
  IDEMPOTENCY_KEY_REUSED: 'key reused',
  RATE_LIMITED: 'rate limited',
  OVERLOADED: 'overloaded',
  BANK_UNAVAILABLE: 'bank away',
  BANK_TIMEOUT: 'bank away',
  FORBIDDEN: 'no scope',
};

/** A payment that was requested and not accepted. Holds no credential and no idempotency key. */
export interface FailedPayment {
  readonly operation: string;
  /** Why bankql did not send the payment; undefined if the bank refused it, the outcome is unknown, or the request is invalid. */
  readonly why: PaymentRefusal | undefined;
  /** The id of the record under the caller's key, which may be an earlier payment's; null if the request has no key. */
  readonly id: string | null;
  readonly error: unknown;
}

/** `loss`: see PaymentStore.loss. */
export const failedPayment = (
  operation: PaymentOperation,
  intent: PaymentIntent<PaymentOperation>,
  error: unknown,
  loss: string | null,
): FailedPayment => ({ operation: operation.id, why: refusalOf(error, loss), id: idOf(intent), error });

function refusalOf(error: unknown, loss: string | null): PaymentRefusal | undefined {
  // If the error has a status, the payment was sent, and is counted by its state.
  if (!(error instanceof BankqlError) || error.extensions.status !== undefined) return undefined;
  if (error.code !== 'STATE_UNAVAILABLE') return refusals[error.code];
  if (error.cause instanceof DamagedRecord) return 'record damaged';
  if (!(error.cause instanceof StoreUnavailable)) return 'not logged';
  return loss === null ? 'store away' : 'records lost';
}

function idOf({ input, idempotencyKey }: PaymentIntent<PaymentOperation>): string | null {
  try {
    return recordId(payerOf(input.credentials), idempotencyKey);
  } catch {
    return null;
  }
}
