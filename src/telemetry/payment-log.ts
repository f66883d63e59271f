import type { Logger } from 'pino';
import { BankqlError, type ErrorCode } from '../errors.ts';
import type { FailedPayment } from '../payments/payment-refusals.ts';

/** Messages of these may repeat what the request holds. */
const saysInput: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['BAD_USER_INPUT', 'MISSING_CREDENTIALS']);

/**
 * One line of the log for each payment that was asked for and not accepted: why, in the bank's words where they are the
 * bank's. The record is found by `payment`, its id: `payments find --id`.
 */
export function logFailedPayment(logger: Logger, { operation, why, id, error }: FailedPayment): void {
  const isTold = error instanceof BankqlError;
  const code = isTold ? error.code : 'INTERNAL';
  const { status, trackId } = isTold ? error.extensions : {};
  const line = {
    operation,
    code,
    ...(why === undefined ? {} : { why }),
    ...(status === undefined ? {} : { status }),
    ...(trackId === undefined ? {} : { trackId }),
    ...(id === null ? {} : { payment: id }),
    ...(isTold && !saysInput.has(code) ? { reason: error.message } : {}),
  };
  if (code === 'OUTCOME_UNKNOWN') logger.warn(line, 'a payment is of unknown outcome');
  else logger.info(line, 'a payment is refused');
}
