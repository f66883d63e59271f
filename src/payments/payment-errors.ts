import { BankqlError, badUserInput, type ErrorDetails, requestSentNothing } from '../errors.ts';
import { type PaymentRecord, StoreUnavailable, UnreadableRecord } from './store.ts';

/** The Retry-After, in seconds, when the store could not be reached. */
const storeRetryAfter = 2;
/** The same for a record that an operator has to repair. */
const damagedRetryAfter = 60;

/** What is known of a payment of unknown outcome, in one sentence that stays true. */
export const unknownBecause = {
  noAnswer: 'The payment may have reached the bank, and no answer to it arrived.',
  /** The bank answered. `isAccepted`: it has the payment, such as after a 202. */
  answer: (status: number, isAccepted: boolean) =>
    isAccepted
      ? 'The bank accepted the payment, and has not said that it was executed.'
      : `The payment was sent, and the bank's answer (status ${status}) proves neither that it was executed nor that it was not.`,
} as const;

/** The payment may have been executed. `because`: what is known, in one sentence. */
export const outcomeUnknown = (
  { operation, trackId, status }: Pick<PaymentRecord, 'operation' | 'trackId' | 'status'>,
  idempotencyKey: string,
  because: string,
): BankqlError =>
  new BankqlError(
    'OUTCOME_UNKNOWN',
    // Records of bankql 0.2.0 hold the whole message.
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
    {
      operation,
      trackId,
      idempotencyKey,
      status,
    },
  );

/** A payment that is not begun because the store cannot record it. */
export const recordsNotKept = (idempotencyKey: string) => (cause: unknown) =>
  new BankqlError(
    'STATE_UNAVAILABLE',
    `Payments are refused while their records cannot be kept. ${requestSentNothing} Reads go on.`,
    { idempotencyKey, retryAfter: storeRetryAfter },
    { cause },
  );

/** A payment that is not begun because no line of the audit log can be written. */
export const notLogged = (idempotencyKey: string, cause: unknown): BankqlError =>
  new BankqlError(
    'STATE_UNAVAILABLE',
    `Payments are refused while they cannot be logged. ${requestSentNothing}`,
    { idempotencyKey, retryAfter: storeRetryAfter },
    { cause },
  );

/** A lookup that the store did not answer. */
export const recordNotRead = (idempotencyKey: string) => (cause: unknown) =>
  new BankqlError(
    'STATE_UNAVAILABLE',
    'The record of this payment cannot be read at the moment, so that its outcome is unknown: it may have been executed. Ask again before you pay under another key.',
    { idempotencyKey, retryAfter: storeRetryAfter },
    { cause },
  );

export const recordsNotRead = (cause: unknown) =>
  new BankqlError(
    'STATE_UNAVAILABLE',
    'The records of payments cannot be read at the moment, so that their outcomes are unknown. Ask again before you repeat a payment.',
    { retryAfter: storeRetryAfter },
    { cause },
  );

/** An error of a payment that was never sent, with what its client needs to retry. */
export function neverSent(error: BankqlError, idempotencyKey: string): BankqlError {
  const { code, retryable, ...details } = error.extensions;
  const more: ErrorDetails = { ...details, idempotencyKey };
  if (code !== 'OVERLOADED') return new BankqlError(code, error.message, more, { cause: error });
  return new BankqlError(
    code,
    `${error.message} ${requestSentNothing}`,
    { ...more, retryAfter: 1 },
    { cause: error },
  );
}

/** A stored record that cannot be read: nobody knows what became of the payment. */
const recordDamaged = (cause: UnreadableRecord) =>
  new BankqlError(
    'STATE_UNAVAILABLE',
    'The stored record of this payment is damaged, so that its outcome is unknown: it may have been executed. This request sent nothing. Ask the operator before you pay under another key.',
    { retryAfter: damagedRetryAfter },
    { cause },
  );

/** Runs calls of the store; StoreUnavailable becomes the error that `toError` makes, UnreadableRecord another one. */
export async function withStoreErrors<T>(
  toError: (cause: unknown) => BankqlError,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof UnreadableRecord) throw recordDamaged(cause);
    throw cause instanceof StoreUnavailable ? toError(cause) : cause;
  }
}

/** Errors: BAD_USER_INPUT for an invalid idempotency key; nothing is sent for it. */
export function validateIdempotencyKey(idempotencyKey: string): void {
  if (!/^[ -~]{1,255}$/.test(idempotencyKey)) {
    throw badUserInput(
      'idempotencyKey has to be 1 to 255 printable ASCII characters, a new one for each intended payment.',
      'idempotencyKey',
    );
  }
}
