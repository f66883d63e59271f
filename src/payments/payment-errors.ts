import { BankqlError, badUserInput, type ErrorDetails, requestSentNothing } from '../errors.ts';
import { type PaymentRecord, StoreUnavailable } from './store.ts';

/** The Retry-After, in seconds, when the store could not be reached. */
const storeRetryAfter = 2;

/** The message for a payment that the bank has, such as after a 202. */
export const acceptedOnly =
  'The bank accepted the payment, and has not said that it was executed. Ask the bank, or its operator, with the Track-ID.';

/** The payment was sent, and nobody knows whether the bank executed it. `message`: if more is known. */
export const outcomeUnknown = (
  { operation, trackId }: PaymentRecord,
  idempotencyKey: string,
  status: number | null,
  message?: string | null,
): BankqlError =>
  new BankqlError(
    'OUTCOME_UNKNOWN',
    message ??
      `${operation} was sent and may have been executed, but the bank's answer does not say so. It is never sent again: ask the bank, or its operator, with the Track-ID.`,
    { operation, trackId, idempotencyKey, ...(status === null ? {} : { status }) },
  );

/** The bank answered with a success status and a text that says the opposite. `said`: its own words. */
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
    'The records of payments cannot be read at the moment, so that their outcomes are unknown. Ask again before you pay anew.',
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

/** Runs calls of the store; StoreUnavailable becomes the error that `toError` makes. */
export async function withStoreErrors<T>(
  toError: (cause: unknown) => BankqlError,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
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
