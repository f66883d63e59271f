import type { Document } from './answer.ts';

/** One error of an answer, as in GraphQL. */
export interface GraphQLError {
  readonly message: string;
  /** The field that failed; undefined if the whole request failed. */
  readonly path?: readonly (string | number)[];
  /** `code` is described in docs/errors.md. BAD_RESPONSE: the answer is not GraphQL, such as a proxy's page. */
  readonly extensions?: { readonly code?: string; readonly [name: string]: unknown };
}

/**
 * An answer of GraphQL over HTTP. Its data has the types of the document. `fetchSend` does not validate the
 * data, because the server does.
 */
export interface GraphQLResponse<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly GraphQLError[];
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** The seconds of the header `Retry-After`. */
  readonly retryAfter?: number;
}

type Headers = Readonly<Record<string, string>>;

export interface FetchSendOptions {
  /** The caller's credentials. A function is called before each request, so that it may renew a token. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /** If true, `fetchSend` sends `documentId` instead of the text for a document with an id. */
  readonly persisted?: boolean;
  /** The function that sends requests; by default the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The variables of a document. They may be left out if the document requires none. */
type Variables<V> = Record<string, never> extends V ? [variables?: V] : [variables: V];

export type FetchSend = <Data, V>(
  document: Document<Data, V>,
  ...rest: [...Variables<V>, options?: { readonly signal?: AbortSignal | undefined }]
) => Promise<GraphQLResponse<Data>>;

/**
 * Sends one operation by `fetch`, once. It serves as `send` of `createPayments`, which retries with the same key, and for an
 * app's queries. It follows no redirect, because the target would get the credentials and the payment.
 * Errors: those of `fetch`, such as for an aborted signal, and of `headers`; TypeError for a syntax tree.
 */
export function fetchSend(url: string, options: FetchSendOptions = {}): FetchSend {
  return async <Data, V>(document: Document<Data, V>, ...rest: unknown[]) => {
    const [variables, { signal } = {}] = rest as [V?, { signal?: AbortSignal }?];
    const { headers, persisted = false, fetch: send = fetch } = options;
    const response = await send(url, {
      method: 'POST',
      headers: {
        Accept: 'application/graphql-response+json, application/json',
        'Content-Type': 'application/json',
        ...(typeof headers === 'function' ? await headers() : headers),
      },
      body: JSON.stringify({ ...bodyOf(document, persisted), variables }),
      redirect: 'error',
      signal: signal ?? null,
    });
    const header = response.headers.get('retry-after') ?? '';
    const retryAfter = /^\d+$/.test(header) ? { retryAfter: Number(header) } : {};
    return { ...readBody<Data>(await response.text(), response.status), ...retryAfter };
  };
}

/** The part of a request's body that names the document: its id or its text. Errors: TypeError for a syntax tree. */
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

/** Parses an answer. A text that is not an answer of GraphQL, such as a proxy's page, becomes an error. */
function readBody<Data>(text: string, status: number): GraphQLResponse<Data> {
  try {
    const body = Object(JSON.parse(text));
    if ('data' in body || Array.isArray(body.errors)) return body;
  } catch {}
  const message = `HTTP ${status}, and no answer of GraphQL.`;
  return { errors: [{ message, extensions: { code: 'BAD_RESPONSE', status } }] };
}
