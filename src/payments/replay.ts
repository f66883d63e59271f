import { BankqlError, isErrorCode } from '../errors.ts';
import type { PaymentOperation, PaymentResult } from './payment.ts';
import { outcomeUnknown, unknownBecause } from './payment-errors.ts';
import type { PaymentRecord } from './store.ts';
import { readStoredResponse } from './stored-response.ts';

/** Returns the earlier payment's outcome as if it were this one's. Errors: the error that it ended with. */
export function replay<T extends PaymentOperation>(
  operation: T,
  earlier: PaymentRecord,
  fingerprint: string,
  idempotencyKey: string,
): PaymentResult<T> {
  const details = { operation: earlier.operation, trackId: earlier.trackId, idempotencyKey };
  if (earlier.fingerprint !== fingerprint) {
    throw new BankqlError(
      'IDEMPOTENCY_KEY_REUSED',
      'This idempotency key was used for another payment, so that this one was not sent: use a new key for each intended payment.',
      { operation: operation.id, idempotencyKey },
    );
  }
  switch (earlier.state) {
    case 'DONE':
      return {
        trackId: earlier.trackId,
        replayed: true,
        answer: readStoredResponse(operation, earlier.answer),
      };
    case 'PENDING':
      throw new BankqlError(
        'IDEMPOTENCY_IN_PROGRESS',
        'The payment with this idempotency key has begun, and how it ended is not recorded yet; ask again with the same key.',
        { ...details, retryAfter: 1 },
      );
    case 'REJECTED':
      throw new BankqlError(
        isErrorCode(earlier.code) ? earlier.code : 'BANK_REJECTED',
        earlier.message ?? `The bank rejected ${operation.id}.`,
        earlier.status === null ? details : { ...details, status: earlier.status },
      );
    case 'UNKNOWN':
      throw outcomeUnknown(earlier, idempotencyKey, earlier.message ?? unknownBecause.noAnswer);
  }
}
