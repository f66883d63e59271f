import type { ErrorCode } from '../errors.ts';

/**
 * bankql's codes (docs/errors.md), and two of the client's own. NETWORK_ERROR: there was no answer, so the payment may have been
 * executed. BAD_RESPONSE: the answer is not bankql's, such as a proxy's page, or an error has no code.
 */
export type PaymentErrorCode = ErrorCode | 'NETWORK_ERROR' | 'BAD_RESPONSE';

/** An entry of `userErrors`, an error of GraphQL, or the reason why there is no answer. */
export interface PaymentError {
  readonly code: PaymentErrorCode;
  readonly message: string;
  /** The field that failed; undefined if the whole request failed. */
  readonly path?: readonly (string | number)[] | undefined;
  /** Seconds to wait before the same request is sent again. */
  readonly retryAfter?: number | undefined;
  /** The Track-ID of the call, with which the bank's operator can find it. */
  readonly trackId?: string | undefined;
  /** The error's `extensions`, as the server sent them. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** The error that `send` threw. */
  readonly cause?: unknown;
}

/**
 * An operation with the types of its answer and its variables. graphql-codegen's client preset (`TypedDocumentString`,
 * `TypedDocumentNode`) and gql.tada generate such types.
 */
export interface TypedDocument<Data, Variables> {
  toString(): string;
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
}

/** A text has no types: its data is `unknown` unless the app specifies a type. */
export type Document<Data, Variables> = string | TypedDocument<Data, Variables>;

type Members = Readonly<Record<string, unknown>>;

/** The members of an object; empty for any other value. */
export const members = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/** What the client needs of an answer, whichever GraphQL client gave it. */
export interface ReadAnswer {
  readonly data: Members;
  /** All errors; those of `userErrors` come first. */
  readonly errors: readonly PaymentError[];
  /** The error of the payment or of the whole request; an error with a longer path concerns only a field of the payload. */
  readonly ownError: PaymentError | undefined;
  /** Seconds to wait before the same request is sent again. */
  readonly retryAfter: number;
}

/** Reads `{ data, errors }` as in GraphQL over HTTP, or `{ data, error }` as in Apollo Client and urql. */
export function readAnswer(answered: unknown): ReadAnswer {
  const { error, ...answer } = members(answered);
  const data = members(answer.data);
  // Apollo puts the errors of GraphQL into `error.errors`, urql into `error.graphQLErrors`.
  const { errors: ofApollo, graphQLErrors, message = error } = members(error);
  const said = [answer.errors, ofApollo, graphQLErrors].flatMap((list) => (Array.isArray(list) ? list : []));
  const errors = [...Object.entries(data).flatMap(userErrorsOf), ...said.map(toPaymentError)];
  const fail = (code: PaymentErrorCode, text: string) =>
    errors.push({ code, message: text, extensions: {}, cause: error });
  if (said.length === 0 && error != null) fail('NETWORK_ERROR', String(message));
  else if (said.length === 0 && answer.data == null)
    fail('BAD_RESPONSE', 'The answer has neither data nor errors.');

  const waits = [answer, ...errors].map(({ retryAfter }) =>
    typeof retryAfter === 'number' ? retryAfter : 0,
  );
  const ownError = errors.find(({ path }) => path === undefined || path.length < 2);
  return { data, errors, ownError, retryAfter: Math.max(0, ...waits) };
}

function toPaymentError(error: unknown): PaymentError {
  const { message, path, extensions } = members(error);
  const said = members(extensions) as Partial<PaymentError>;
  const { code = 'BAD_RESPONSE', retryAfter, trackId } = said;
  return {
    code,
    message: String(message),
    path: path as PaymentError['path'],
    retryAfter,
    trackId,
    extensions: { ...said },
  };
}

/** The `userErrors` of a payload, as errors of its field. */
function userErrorsOf([field, payload]: [string, unknown]): PaymentError[] {
  const { userErrors } = members(payload);
  return (Array.isArray(userErrors) ? userErrors : []).map((extensions) =>
    toPaymentError({ message: members(extensions).message, path: [field], extensions }),
  );
}
