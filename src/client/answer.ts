import type { ErrorCode } from '../errors.ts';

/**
 * bankql's codes (docs/errors.md), and two of the client's own. NETWORK_ERROR: no answer came, so that a mutation may have
 * been executed. BAD_RESPONSE: something between answered, such as a proxy, and not in GraphQL.
 */
export type ClientErrorCode = ErrorCode | 'NETWORK_ERROR' | 'BAD_RESPONSE';

/** One error of an answer. */
export interface ClientError {
  readonly code: ClientErrorCode;
  readonly message: string;
  /** Whether the same request may be tried again as it is. */
  readonly retryable: boolean;
  /** Seconds to wait before that. */
  readonly retryAfter?: number | undefined;
  /** The field that failed; undefined where it is the whole request. */
  readonly path?: readonly (string | number)[] | undefined;
  /** The HTTP status: the bank's, or, with BAD_RESPONSE, that of who answered. */
  readonly status?: number | undefined;
  /** The REST operation, and the Track-ID of its call: the bank's operator can find it. */
  readonly operation?: string | undefined;
  readonly trackId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** All that the server said of it. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** What `fetch` failed with. */
  readonly cause?: unknown;
}

/** What an operation came to. Both are there where some fields failed and the others stand. */
export interface Answer<Data> {
  readonly data: Data | null;
  /** Empty where all went well. */
  readonly errors: readonly ClientError[];
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** An answer's errors, thrown. `code` and `message` are the first one's. */
export class BankqlClientError extends Error {
  override readonly name = 'BankqlClientError';
  readonly code: ClientErrorCode;
  readonly errors: readonly ClientError[];

  constructor(errors: readonly [ClientError, ...ClientError[]]) {
    super(errors[0].message, { cause: errors[0].cause });
    this.code = errors[0].code;
    this.errors = errors;
  }
}

/** The data of an answer without errors. Errors: BankqlClientError where it has any, or no data. */
export function dataOf<Data>({ data, errors }: Answer<Data>): Data {
  const [error, ...more] = errors;
  if (error !== undefined) throw new BankqlClientError([error, ...more]);
  if (data === null) throw new BankqlClientError([badResponse('The answer holds neither data nor errors.')]);
  return data;
}

export const failed = (error: ClientError): Answer<never> => ({
  data: null,
  errors: [error],
  extensions: {},
});

export const networkError = (message: string, cause?: unknown): ClientError => ({
  code: 'NETWORK_ERROR',
  message,
  retryable: true,
  extensions: {},
  cause,
});

const badResponse = (message: string, details: Partial<ClientError> = {}): ClientError => ({
  code: 'BAD_RESPONSE',
  message,
  retryable: false,
  extensions: {},
  ...details,
});

type Json = Readonly<Record<string, unknown>>;

/** Reads an answer. Its data is taken as the document's types have it: the server validates, the client does not. */
export async function readAnswer<Data>(response: Response): Promise<Answer<Data>> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // What is no JSON is no answer of bankql.
  }
  if (isObject(body) && ('data' in body || Array.isArray(body.errors))) {
    const { data = null, errors, extensions } = body;
    return {
      data: data as Data | null,
      errors: Array.isArray(errors) ? errors.map(toClientError) : [],
      extensions: isObject(extensions) ? extensions : {},
    };
  }
  const { status } = response;
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return failed(
    badResponse(`HTTP ${status}, and no answer of GraphQL.`, {
      status,
      retryable: [408, 429, 502, 503, 504].includes(status),
      ...(seconds >= 0 ? { retryAfter: seconds } : {}),
    }),
  );
}

/** The client imports nothing but types: apps get its files alone. */
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function toClientError(error: unknown): ClientError {
  const { message, path, extensions } = isObject(error) ? error : ({} as Json);
  const more = isObject(extensions) ? extensions : {};
  return {
    // Members that a server of another version has, or lacks, are told as they are.
    ...(more as Partial<ClientError>),
    code: (more.code ?? 'INTERNAL') as ClientErrorCode,
    message: String(message),
    retryable: more.retryable === true,
    path: path as ClientError['path'],
    extensions: more,
  };
}
