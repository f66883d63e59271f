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
  /** The field that failed; undefined if the whole request failed. */
  readonly path?: readonly (string | number)[] | undefined;
  /** The HTTP status: the bank's, or, with BAD_RESPONSE, that of who answered. */
  readonly status?: number | undefined;
  /** The REST operation, and the Track-ID of its call: the bank's operator can find it. */
  readonly operation?: string | undefined;
  readonly trackId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Where the code is documented, relative to bankql's repository. */
  readonly docs?: string | undefined;
  /** All that the server said of it. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** What `fetch` failed with. */
  readonly cause?: unknown;
}

/** The result of an operation. Both members are present if some fields failed and others did not. */
export interface Answer<Data> {
  readonly data: Data | null;
  /** Empty if all went well. */
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

/** The data of an answer without errors. Errors: BankqlClientError if the answer has errors, or no data. */
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

const networkError = (message: string, cause?: unknown): ClientError => ({
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
async function readAnswer<Data>(response: Response): Promise<Answer<Data>> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // A body that is not JSON is not an answer of bankql.
  }
  const { errors, extensions, ...rest } = members(body);
  if ('data' in rest || Array.isArray(errors)) {
    const { data = null } = rest;
    return {
      data: data as Data | null,
      errors: Array.isArray(errors) ? errors.map(toClientError) : [],
      extensions: members(extensions),
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

/** The members of an object of JSON; none of anything else. */
const members = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

function toClientError(error: unknown): ClientError {
  const { message, path, extensions } = members(error);
  const more = members(extensions);
  return {
    // Members that only a server of another version sends are passed on unchanged.
    ...(more as Partial<ClientError>),
    code: (more.code ?? 'INTERNAL') as ClientErrorCode,
    message: String(message),
    retryable: more.retryable === true,
    path: path as ClientError['path'],
    extensions: more,
  };
}

/**
 * An operation with the types of its answer and its variables: what graphql-codegen's client preset makes
 * (`TypedDocumentString`, `TypedDocumentNode`), and gql.tada.
 */
export interface TypedDocument<Data, Variables> {
  toString(): string;
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
}

/** A text has no types: its data is `unknown` unless the caller names them. */
export type Document<Data, Variables> = string | TypedDocument<Data, Variables>;

/** graphql's own `print`, for documents that are syntax trees: this package does not bring graphql along. */
export type Print = (document: never) => string;

/** A document's text. Errors: TypeError for a syntax tree if `print` is undefined. */
function textOf(document: Document<unknown, never>, print: Print | undefined): string {
  const text = String(document);
  if (text !== '[object Object]') return text;
  if (print !== undefined) return print(document as never);
  // A template tag such as gql keeps the source of what it parsed.
  const { loc } = document as { loc?: { source?: { body?: unknown } } };
  const source = loc?.source?.body;
  if (typeof source === 'string') return source;
  throw new TypeError(
    "This document is a syntax tree: give createClient graphql's `print`, or generate documents with documentMode: 'string'.",
  );
}

/** The id that the build gave a document: `__meta__.hash` of graphql-codegen, `documentId` of gql.tada. */
function idOf(document: Document<unknown, never>): string | undefined {
  const { documentId, __meta__ } = document as { documentId?: unknown; __meta__?: { hash?: unknown } };
  const id = documentId ?? __meta__?.hash;
  return typeof id === 'string' ? id : undefined;
}

/** A document's text without comments, texts in quotes and commas. */
export const withoutTexts = (text: string): string =>
  text.replace(/#.*|"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|,/g, ' ');

/** Whether a document's text holds a mutation. In doubt it does: what changes something is not sent again. */
export const isMutation = (text: string): boolean => /(^|\})\s*mutation\b/.test(withoutTexts(text));

/** Throws the signal's reason if it was aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

/** Waits; an abort ends it with the signal's reason. */
export function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    throwIfAborted(signal);
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}

/**
 * How long to wait before an operation is tried again, in milliseconds: as long as the server says, otherwise twice as
 * long each time, and not all clients at once. Null if no error is worth another attempt.
 */
export function delayBefore(errors: readonly ClientError[], attempt: number): number | null {
  const retryable = errors.filter((error) => error.retryable);
  if (retryable.length === 0) return null;
  const said = Math.max(...retryable.map(({ retryAfter }) => retryAfter ?? 0)) * 1000;
  return said > 0 ? said : Math.min(250 * 2 ** attempt, 4000) * (0.5 + Math.random() / 2);
}

type Headers = Readonly<Record<string, string>>;

export interface ClientOptions {
  /** The endpoint, such as `https://api.example/graphql`. */
  readonly url: string;
  /** The caller's credentials. A function is called before each attempt, so that it may renew a token. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /** True: a document that has an id is asked for by it, as `documentId`, and its text is not sent. */
  readonly persisted?: boolean;
  /** graphql's `print`, if documents are syntax trees. */
  readonly print?: Print;
  /** How often a query is tried again after an error that is `retryable` (default: twice). */
  readonly retries?: number;
  /** The longest wait that the server may ask for before the query is tried again (default: 10,000 ms). */
  readonly maxRetryDelayMs?: number;
  /** How long one attempt may take (default: 30,000 ms). */
  readonly timeoutMs?: number;
  /** By default the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface RequestOptions {
  /** Ends the request and its retries; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** A query is not tried again after this time, in milliseconds of `Date.now()`. */
  readonly retryUntil?: number | undefined;
}

type Variables<V> = Record<string, never> extends V ? [variables?: V] : [variables: V];
type Arguments<V> = [...Variables<V>, options?: RequestOptions];

/** TypeScript does not see through a list whose first member is optional or not, as V decides. */
function named<V>(args: Arguments<V>): { readonly variables: V | undefined } & RequestOptions {
  const [variables, options] = args as unknown as [V?, RequestOptions?];
  return { ...options, variables };
}

/**
 * It resolves to an answer, whatever the server, the network or `headers` says: failures are among its `errors`. It rejects
 * if `signal` is aborted, and for a document that cannot be sent.
 */
export interface Client {
  /** Sends a query. If an error is `retryable`, it is sent again, a few times and as late as the server says. */
  query<Data, V>(document: Document<Data, V>, ...args: Arguments<V>): Promise<Answer<Data>>;
  /** Sends a mutation, once. For payments there is createPayments. */
  mutate<Data, V>(document: Document<Data, V>, ...args: Arguments<V>): Promise<Answer<Data>>;
}

export function createClient(options: ClientOptions): Client {
  const {
    url,
    print,
    persisted = false,
    retries = 2,
    maxRetryDelayMs = 10_000,
    timeoutMs = 30_000,
  } = options;

  async function attempt<Data>(body: string, signal: AbortSignal | undefined): Promise<Answer<Data>> {
    // Not AbortSignal.any: React Native has none.
    const attempted = new AbortController();
    const abort = () => attempted.abort();
    const timer = setTimeout(abort, timeoutMs);
    signal?.addEventListener('abort', abort);
    try {
      const headers = typeof options.headers === 'function' ? await options.headers() : options.headers;
      throwIfAborted(signal);
      const response = await (options.fetch ?? fetch)(url, {
        method: 'POST',
        headers: {
          Accept: 'application/graphql-response+json, application/json',
          'Content-Type': 'application/json',
          ...headers,
        },
        body,
        signal: attempted.signal,
      });
      return await readAnswer<Data>(response);
    } catch (cause) {
      throwIfAborted(signal);
      const why = attempted.signal.aborted ? `No answer came within ${timeoutMs} ms.` : 'No answer came.';
      return failed(networkError(why, cause));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** If a document is sent only by its id, it is not known whether it holds a mutation. */
  function bodyOf(document: Document<unknown, never>, variables: unknown) {
    const documentId = persisted ? idOf(document) : undefined;
    const text = documentId === undefined ? textOf(document, print) : undefined;
    return { json: JSON.stringify({ documentId, query: text, variables }), text: text ?? '' };
  }

  return {
    async query<Data, V>(document: Document<Data, V>, ...args: Arguments<V>) {
      const { variables, signal, retryUntil = Number.POSITIVE_INFINITY } = named(args);
      const { json, text } = bodyOf(document, variables);
      if (isMutation(text)) throw new TypeError('This document is a mutation: send it with `mutate`.');
      let best: Answer<Data> | undefined;
      for (let tries = 0; ; tries++) {
        const answer = await attempt<Data>(json, signal);
        // A later attempt in which more failed takes nothing away from what an earlier one brought.
        if (!best?.data || (answer.data && answer.errors.length <= best.errors.length)) best = answer;
        const delay = delayBefore(answer.errors, tries);
        if (delay === null || tries >= retries || delay > maxRetryDelayMs) return best;
        if (Date.now() + delay > retryUntil) return best;
        await wait(delay, signal);
      }
    },

    async mutate<Data, V>(document: Document<Data, V>, ...args: Arguments<V>) {
      const { variables, signal } = named(args);
      return attempt<Data>(bodyOf(document, variables).json, signal);
    },
  };
}
