import type { Answer, ClientError } from './answer.ts';
import type { TypedDocument } from './document.ts';

/** What bankql's record says of a payment; the members that the app's own document selects. */
export interface PaymentRecord {
  readonly state: 'PENDING' | 'DONE' | 'REJECTED' | 'UNKNOWN';
  readonly trackId?: string;
  readonly transactionId?: string | null;
  readonly status?: string | null;
  readonly code?: string | null;
  readonly value?: { readonly amount?: string | null; readonly currency?: string | null } | null;
  readonly createdAt?: string;
}

/** Asks what became of a payment. With PERSISTED_ONLY the manifest needs it, or one of the app's own. */
export type PaymentQuery = TypedDocument<
  { readonly payment?: PaymentRecord | null | undefined },
  { idempotencyKey: string }
>;

export const paymentQuery =
  'query Payment($idempotencyKey: String!) { payment(idempotencyKey: $idempotencyKey) { state trackId transactionId status code value { amount currency } createdAt } }';

/**
 * How far a payment is.
 *
 * - DONE: the bank accepted it.
 * - REJECTED: the bank did not execute it, and `errors` say why. The next `pay` is a new payment.
 * - NOT_BEGUN: bankql refused it, and has begun no payment with its key so far: mend what `errors` say, and `pay` again.
 * - PENDING: it is under way for longer than one waits for it: `check` later.
 * - UNKNOWN: it was sent and may have been executed: show it, with its Track-ID. `pay` will not send it again.
 * - UNCONFIRMED: no answer came, so that it may have been executed: `check`, or `pay` again, later. Both are
 *   safe, the key is the same.
 * - CONFLICT: this intent's key belongs to another payment, of which `payment` tells; this one was not sent. `forget` the
 *   intent once the person knows how that one ended.
 */
export type PaymentOutcomeState =
  | 'DONE'
  | 'REJECTED'
  | 'NOT_BEGUN'
  | 'PENDING'
  | 'UNKNOWN'
  | 'UNCONFIRMED'
  | 'CONFLICT';

export interface PaymentOutcome<Data> {
  readonly state: PaymentOutcomeState;
  readonly idempotencyKey: string;
  /** True where the key was kept from before: an earlier attempt, or the same payment once more. */
  readonly resumed: boolean;
  /** The mutation's answer, where there is one. */
  readonly data: Data | null;
  /** What bankql's record says, where it was asked. */
  readonly payment: PaymentRecord | null;
  /** Why it is not done; or, with DONE, what could not be read of its payload. */
  readonly errors: readonly ClientError[];
}

/** What there is to decide by, after one attempt. */
export interface Attempt {
  readonly idempotencyKey: string;
  /** Whether the key was made for this very payment, so that its record can be of no other one. */
  readonly isNewKey: boolean;
  readonly answer: Answer<unknown>;
  /** Null where there is no record; undefined where nobody could be asked. */
  readonly payment: PaymentRecord | null | undefined;
}

/** The error that is the payment's or the whole request's; one deeper down says that its payload could not be read. */
const ownError = ({ errors }: Answer<unknown>): ClientError | undefined =>
  errors.find(({ path }) => path === undefined || path.length < 2);

interface UserError {
  readonly code?: ClientError['code'];
  readonly message?: string;
  readonly retryable?: boolean;
  readonly retryAfter?: number | null;
}

/** An answer with what `pay` says in `userErrors` among its errors, as the other payments say it. */
export function withUserErrors<Data>(answer: Answer<Data>): Answer<Data> {
  const payloads = Object.entries((answer.data ?? {}) as Record<string, unknown>);
  const errors = payloads.flatMap(([name, payload]) => {
    const { userErrors = [] } = (payload ?? {}) as { userErrors?: readonly UserError[] };
    return userErrors.map(
      ({ code = 'INTERNAL', message = '', retryable = false, retryAfter }): ClientError => ({
        code,
        message,
        path: [name],
        retryable,
        ...(retryAfter == null ? {} : { retryAfter }),
        extensions: {},
      }),
    );
  });
  return errors.length === 0 ? answer : { ...answer, errors: [...errors, ...answer.errors] };
}

/** Whether the payment was answered as done. */
export const isDone = (answer: Answer<unknown>): boolean =>
  answer.data !== null && ownError(answer) === undefined;

/**
 * What an attempt that was not answered as done came to. `again`: it takes another attempt with the same key, which bankql
 * answers with the end of the first one, to know; until then it is what `state` says. `newKey`: what this key stood for was
 * refused, and never was this payment.
 */
export function judge({ idempotencyKey, isNewKey, answer, payment }: Attempt): {
  readonly state: PaymentOutcomeState;
  readonly again?: boolean;
  readonly newKey?: boolean;
} {
  const error = ownError(answer);
  if (error?.code === 'IDEMPOTENCY_KEY_REUSED')
    return { state: 'CONFLICT', newKey: payment?.state === 'REJECTED' };
  const again = error === undefined || error.retryable || error.code === 'BAD_RESPONSE';
  const isAnswered = error !== undefined && error.code !== 'NETWORK_ERROR' && error.code !== 'BAD_RESPONSE';
  switch (payment?.state) {
    case undefined:
      // What was not answered may still be on its way.
      return { state: payment === null && isAnswered ? 'NOT_BEGUN' : 'UNCONFIRMED', again };
    case 'UNKNOWN':
      return { state: 'UNKNOWN' };
    case 'PENDING':
      return { state: 'PENDING', again: true };
    case 'REJECTED':
      return { state: 'REJECTED', again };
    case 'DONE': {
      // An answer that was too large says what was done.
      const isSaid = error?.extensions.state === 'DONE' && error.extensions.idempotencyKey === idempotencyKey;
      if (isNewKey || isSaid) return { state: 'DONE', again };
      // The record is of this key, and no answer said that it is of this input.
      return { state: again ? 'UNCONFIRMED' : 'CONFLICT', again };
    }
  }
}
