/**
 * Who is at fault for an error. If the bank refuses a client's request, it is the client. `load`: bankql has
 * too much to do. Alerts use the fault, so that a faulty client raises no alert.
 */
export type Fault = 'client' | 'bank' | 'bankql' | 'load';

const final = (fault: Fault, what: string) => ({ retryable: false, fault, what });
/** An error after which the unchanged request may be tried again. */
const retryable = (fault: Fault, what: string) => ({ retryable: true, fault, what });

/** The error codes of bankql, with their meanings. */
export const errorCodes = {
  BAD_USER_INPUT: final('client', 'An argument is invalid; no call was made for it.'),
  MISSING_CREDENTIALS: final('client', 'A credential that the operation needs is absent.'),
  UNAUTHENTICATED: final('client', 'The credentials were not accepted.'),
  FORBIDDEN: final(
    'client',
    "The bank does not allow this to the caller, or the caller's token does not permit payments.",
  ),
  NOT_FOUND: final('client', 'The bank has no such record.'),
  BANK_REJECTED: final('client', 'The bank refused the request.'),
  CONFLICT: final('client', 'The record no longer has the version for which the update was meant.'),
  RATE_LIMITED: retryable('client', 'Too many requests in a short time.'),
  BANK_ERROR: final('bank', 'The bank failed.'),
  BANK_UNAVAILABLE: retryable('bank', 'The bank cannot be reached.'),
  BANK_TIMEOUT: retryable('bank', 'The bank did not answer in time.'),
  BANK_BAD_RESPONSE: final('bank', "bankql cannot understand the bank's answer."),
  OUTCOME_UNKNOWN: final('bank', 'A write or payment may have been executed; bankql never sends it again.'),
  OVERLOADED: retryable(
    'load',
    'bankql has too much to do; a request or field that fails with this code changed nothing.',
  ),
  CALL_BUDGET_EXCEEDED: final('client', 'The operation needs more calls of the bank than it may make.'),
  LIMIT_EXCEEDED: final('client', 'The operation, or its answer, is too large.'),
  GRAPHQL_PARSE_FAILED: final('client', 'The document is not GraphQL.'),
  GRAPHQL_VALIDATION_FAILED: final('client', 'The document does not fit the schema.'),
  PERSISTED_DOCUMENT_REQUIRED: final(
    'client',
    'No document has this id, or only documents with an id are accepted.',
  ),
  PERSISTED_QUERY_NOT_SUPPORTED: final('client', 'A hash without a text is not accepted: send the text.'),
  IDEMPOTENCY_IN_PROGRESS: retryable('client', "The key's payment is in progress."),
  IDEMPOTENCY_KEY_REUSED: final('client', 'The key was used for another payment.'),
  STATE_UNAVAILABLE: retryable('bankql', 'The records of payments cannot be read or written at the moment.'),
  INTERNAL: final('bankql', 'bankql failed.'),
} as const;

/** The message of a thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The first line of an error's message, with `secret` masked. Libraries may quote a whole SQL statement in further lines. */
export function reasonOf(error: unknown, secret = ''): string {
  const { message } = error instanceof AggregateError ? Object(error.errors[0] ?? error) : Object(error);
  const line = String(message || error).split('\n', 1)[0] ?? '';
  return (secret === '' ? line : line.replaceAll(secret, '***')).slice(0, 200);
}

/** The process cannot start, or a command cannot do its work. The message says what to do, with one line for each problem. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/**
 * For `.catch`: throws a StartError, which ends the start or the command. Its message is `words` followed by the message of
 * the cause. If the cause is a StartError, the cause itself is thrown.
 * Errors: StartError.
 */
export const stopStart =
  (words = '') =>
  (cause: unknown): never => {
    throw cause instanceof StartError ? cause : new StartError(words + messageOf(cause), { cause });
  };

/** Runs `work`. If it throws, the start or the command ends. Errors: StartError, as of `stopStart`. */
export function orStop<T>(work: () => T, words?: string): T {
  try {
    return work();
  } catch (error) {
    return stopStart(words)(error);
  }
}

/** A number with its noun, such as `1 place` or `2 places`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The first `length` UTF-16 units of a text, without half of a surrogate pair at its end. */
export const shorten = (text: string, length: number): string =>
  text.slice(0, length).replace(/\p{Cs}$/u, '');

export type ErrorCode = keyof typeof errorCodes;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorCodes, code);

/** The details of an error, in addition to its code and message; never a secret. */
export interface ErrorDetails {
  /** The REST operation's id. */
  readonly operation?: string;
  /** The bank's HTTP status, if it answered. */
  readonly status?: number;
  /** The call's Track-ID, if it had one. */
  readonly trackId?: string;
  /** Seconds after which the request may be tried again. */
  readonly retryAfter?: number;
  readonly idempotencyKey?: string;
  /** The record's current version, if the update was for an earlier one. */
  readonly version?: string;
  /** The argument that is at fault, as a path into the input or the arguments. */
  readonly argument?: readonly string[];
  /**
   * Whether the call was cancelled because nobody waits for it any more. That is not a failure of the bank, and nobody reads
   * the error.
   */
  readonly isGivenUp?: true;
  /** The bank's own code for the reason, if its answer has one. */
  readonly bankCode?: string;
}

/** The seconds after which a retryable request may be tried again, if no other time is known. */
const defaultRetryAfter = 1;

/** The part of `extensions` about retries: whether the request may be repeated and, if so, after how many seconds. */
export const retryAdvice = (code: ErrorCode, { retryAfter }: Pick<ErrorDetails, 'retryAfter'> = {}) =>
  errorCodes[code].retryable
    ? { retryable: true, retryAfter: retryAfter ?? defaultRetryAfter }
    : { retryable: false };

/**
 * An expected error. It has no stack trace: nobody would read it, and creating one takes longer than all other work for a
 * failed field. One operation may have a thousand failed fields.
 */
export class ExpectedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * A failure that is reported to the caller, with a stable code. Its message is public: it contains no secret, and nothing of
 * the bank's 5xx answers. Any other thrown value is reported to the caller as INTERNAL, without its message.
 */
export class BankqlError extends ExpectedError {
  override readonly name = 'BankqlError';
  readonly code: ErrorCode;
  /** The `extensions` of the GraphQL error. */
  readonly extensions: { readonly code: ErrorCode; readonly retryable: boolean } & ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.extensions = { code, ...details, ...retryAdvice(code, details) };
  }
}

/** The code and the details of a thrown value: INTERNAL without details, unless it is a BankqlError. */
export const detailsOf = (error: unknown): { readonly code: ErrorCode } & ErrorDetails =>
  error instanceof BankqlError ? error.extensions : { code: 'INTERNAL' };

/** The error for an invalid argument, for which no call is made. `argument`: the path to it, such as `to.accountId`. */
export const badUserInput = (message: string, argument?: string) =>
  new BankqlError('BAD_USER_INPUT', message, argument === undefined ? {} : { argument: argument.split('.') });

/**
 * The advice in an error that refuses only this request, and not the payment. An earlier request with the key may have reached
 * the bank: its answer may be lost, or it may still be on its way, so that payment(idempotencyKey) does not show it yet.
 */
export const requestSentNothing =
  'This request sent nothing. An earlier one with this key may have: repeat the payment with the same key, never under another one.';
