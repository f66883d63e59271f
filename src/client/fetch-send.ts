import type { Document } from './answer.ts';
import { parseRetryAfter, untilAborted } from './waits.ts';

/** One error of an answer, as GraphQL has it. */
export interface GraphQLError {
  readonly message: string;
  /** The field that failed; undefined if the whole request failed. */
  readonly path?: readonly (string | number)[];
  /** `code` is described in docs/errors.md. BAD_RESPONSE: something between answered, such as a proxy, and not in GraphQL. */
  readonly extensions?: { readonly code?: string; readonly [name: string]: unknown };
}

/** An answer of GraphQL over HTTP. Its data has the types of the document: the server validates it, `fetchSend` does not. */
export interface Answer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly GraphQLError[];
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** The seconds to wait that the header `Retry-After` asks for; at most 60. */
  readonly retryAfter?: number;
}

type Headers = Readonly<Record<string, string>>;

export interface FetchSendOptions {
  /** The caller's credentials. A function is called before each request, so that it may renew a token. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /** True: for a document with an id, `documentId` is sent instead of its text. */
  readonly persisted?: boolean;
  /** By default the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The variables of a document, which may be left out if it needs none. */
type Variables<V> = Record<string, never> extends V ? [variables?: V] : [variables: V];

export type FetchSend = <Data, V>(
  document: Document<Data, V>,
  ...rest: [...Variables<V>, options?: { readonly signal?: AbortSignal | undefined }]
) => Promise<Answer<Data>>;

/**
 * Sends one operation by `fetch`, once: a function for `createPayments`, which retries with the same key, and for an app's queries. It
 * follows no redirect, because the target would get the credentials and the payment.
 * Errors: those of `fetch` and of `headers`; the signal's reason or an AbortError; TypeError for a document without a text.
 */
export function fetchSend(url: string, options: FetchSendOptions = {}): FetchSend {
  const { persisted = false, fetch: request = (...args) => fetch(...args) } = options;

  async function post<Data>(body: string, signal: AbortSignal | undefined): Promise<Answer<Data>> {
    const headers = typeof options.headers === 'function' ? await options.headers() : options.headers;
    const response = await request(url, {
      method: 'POST',
      headers: {
        Accept: 'application/graphql-response+json, application/json',
        'Content-Type': 'application/json',
        ...headers,
      },
      body,
      redirect: 'error',
      ...(signal && { signal }),
    });
    const retryAfter = parseRetryAfter(response.headers.get('retry-after'), Date.now());
    const answer = readBody<Data>(await response.text()) ?? badResponse(response.status);
    return retryAfter === undefined ? answer : { ...answer, retryAfter };
  }

  return async <Data, V>(document: Document<Data, V>, ...rest: unknown[]) => {
    const [variables, { signal } = {}] = rest as [V?, { signal?: AbortSignal }?];
    const body = JSON.stringify({ ...bodyOf(document, persisted), variables });
    return untilAborted(post<Data>(body, signal), signal);
  };
}

/** A document's id or its text. Errors: TypeError for a syntax tree. */
function bodyOf(document: Document<unknown, never>, persisted: boolean): object {
  // gql.tada writes `documentId`, graphql-codegen's client preset writes `__meta__.hash`.
  const { documentId, __meta__ } = document as { documentId?: string; __meta__?: { hash?: string } };
  const id = documentId ?? __meta__?.hash;
  if (persisted && id !== undefined) return { documentId: id };
  const query = String(document);
  if (query === '[object Object]')
    throw new TypeError("The document is a syntax tree: send graphql's `print` of it.");
  return { query };
}

/** Undefined for a text that is no answer of GraphQL. */
function readBody<Data>(text: string): Answer<Data> | undefined {
  try {
    const body = Object(JSON.parse(text));
    return 'data' in body || Array.isArray(body.errors) ? body : undefined;
  } catch {
    return undefined;
  }
}

const badResponse = (status: number): Answer<never> => ({
  errors: [
    {
      message: `HTTP ${status}, and no answer of GraphQL.`,
      extensions: { code: 'BAD_RESPONSE', status },
    },
  ],
});
