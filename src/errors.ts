/**
 * Every code that bankql answers with, whether the same request may be tried again as it is, and who is at fault: the client
 * (which includes what the bank refuses it), the bank, bankql itself, or too much load. Alerts follow the fault: a careless
 * client alarms nobody.
 */
export const errorCodes = {
  BAD_USER_INPUT: { retryable: false, fault: 'client' },
  MISSING_CREDENTIALS: { retryable: false, fault: 'client' },
  UNAUTHENTICATED: { retryable: false, fault: 'client' },
  FORBIDDEN: { retryable: false, fault: 'client' },
  NOT_FOUND: { retryable: false, fault: 'client' },
  BANK_REJECTED: { retryable: false, fault: 'client' },
  CONFLICT: { retryable: false, fault: 'client' },
  RATE_LIMITED: { retryable: true, fault: 'client' },
  BANK_ERROR: { retryable: false, fault: 'bank' },
  BANK_UNAVAILABLE: { retryable: true, fault: 'bank' },
  BANK_TIMEOUT: { retryable: true, fault: 'bank' },
  BANK_BAD_RESPONSE: { retryable: false, fault: 'bank' },
  OUTCOME_UNKNOWN: { retryable: false, fault: 'bank' },
  OVERLOADED: { retryable: true, fault: 'load' },
  CALL_BUDGET_EXCEEDED: { retryable: false, fault: 'client' },
  LIMIT_EXCEEDED: { retryable: false, fault: 'client' },
  GRAPHQL_PARSE_FAILED: { retryable: false, fault: 'client' },
  GRAPHQL_VALIDATION_FAILED: { retryable: false, fault: 'client' },
  PERSISTED_DOCUMENT_REQUIRED: { retryable: false, fault: 'client' },
  PERSISTED_QUERY_NOT_FOUND: { retryable: false, fault: 'client' },
  PERSISTED_QUERY_NOT_SUPPORTED: { retryable: false, fault: 'client' },
  IDEMPOTENCY_IN_PROGRESS: { retryable: true, fault: 'client' },
  IDEMPOTENCY_KEY_REUSED: { retryable: false, fault: 'client' },
  STATE_UNAVAILABLE: { retryable: true, fault: 'bankql' },
  INTERNAL: { retryable: false, fault: 'bankql' },
} as const;

export type ErrorCode = keyof typeof errorCodes;

export type Fault = (typeof errorCodes)[ErrorCode]['fault'];

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorCodes, code);

/** What an error says beside its code and message; never a secret. */
export interface ErrorDetails {
  /** The REST operation's id. */
  readonly operation?: string;
  /** The bank's HTTP status, where one arrived. */
  readonly status?: number;
  /** The call's Track-ID, where it had one. */
  readonly trackId?: string;
  /** Seconds after which it may be tried again. */
  readonly retryAfter?: number;
  readonly idempotencyKey?: string;
  /** The version of the record that the bank has, where an update was meant for another one. */
  readonly version?: string;
  /** The bank's own reason, where its body named one. */
  readonly bankCode?: string;
}

/** After how many seconds what is retryable may be tried again, where nobody knows better. */
export const defaultRetryAfter = 1;

/** What `extensions` say of a code: whether it may be tried again and, if so, after how many seconds. */
export const retryAdvice = (code: ErrorCode, { retryAfter }: Pick<ErrorDetails, 'retryAfter'> = {}) =>
  errorCodes[code].retryable
    ? { retryable: true, retryAfter: retryAfter ?? defaultRetryAfter }
    : { retryable: false };

/**
 * A failure that the caller is told of, with a stable code. Its message is public: it holds no secret, and
 * nothing of the bank's 5xx answers. Whatever else is thrown is answered as INTERNAL, without its message.
 *
 * Its stack names no calls: nobody reads them, and to note them takes longer than the rest of a field that fails, of which
 * one operation may have a thousand.
 */
export class BankqlError extends Error {
  override readonly name = 'BankqlError';
  readonly code: ErrorCode;
  /** What GraphQL answers under `extensions`. */
  readonly extensions: { readonly code: ErrorCode; readonly retryable: boolean } & ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.extensions = { code, ...details, ...retryAdvice(code, details) };
  }
}

/** The caller's argument is at fault; no call is made for it. */
export const badUserInput = (message: string) => new BankqlError('BAD_USER_INPUT', message);

/**
 * What a refusal says that has nothing to do with the payment itself: it speaks of this request alone, since an earlier one
 * may have been cut off before its answer.
 */
export const requestSentNothing =
  'This request sent nothing. An earlier one with this key may have: ask payment(idempotencyKey) before you pay under another key.';
