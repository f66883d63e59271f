import { type Answer, failed, networkError, readAnswer } from './answer.ts';
import { type Document, idOf, isMutation, type Print, textOf } from './document.ts';
import { delayBefore, throwIfAborted, wait } from './wait.ts';

type Headers = Readonly<Record<string, string>>;

export interface ClientOptions {
  /** The endpoint, such as `https://api.example/graphql`. */
  readonly url: string;
  /** Who calls. A function is asked before each attempt, so that a token may be renewed. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /** True: a document that has an id is asked for by it, as `documentId`, and its text is not sent. */
  readonly persisted?: boolean;
  /** graphql's `print`, where documents are syntax trees. */
  readonly print?: Print;
  /** How often a query is tried again after an error that is `retryable`; twice where left out. */
  readonly retries?: number;
  /** Where the server asks for a longer wait than this, the query is not tried again; 10,000 ms where left out. */
  readonly maxRetryDelayMs?: number;
  /** How long one attempt may take; 30,000 ms where left out. */
  readonly timeoutMs?: number;
  /** The global one where left out. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface RequestOptions {
  /** Ends the request and its retries; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

type Variables<V> = Record<string, never> extends V ? [variables?: V] : [variables: V];
type Arguments<V> = [...Variables<V>, options?: RequestOptions];

/** TypeScript does not see through a list whose first member is optional or not, as V decides. */
function named<V>(args: Arguments<V>): { readonly variables: V | undefined } & RequestOptions {
  const [variables, options] = args as unknown as [V?, RequestOptions?];
  return { variables, signal: options?.signal };
}

/**
 * It resolves to an answer, whatever the server or the network says: failures are among its `errors`. It rejects where
 * `signal` is aborted, where `headers` fails, and for a document that cannot be sent.
 */
export interface Client {
  /** Asks a query; where an error is `retryable`, again, a few times and as late as the server says. */
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
    const headers = typeof options.headers === 'function' ? await options.headers() : options.headers;
    throwIfAborted(signal);
    // Not AbortSignal.any: React Native has none.
    const attempted = new AbortController();
    const abort = () => attempted.abort();
    const timer = setTimeout(abort, timeoutMs);
    signal?.addEventListener('abort', abort);
    try {
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

  /** Whether it holds a mutation is not known of a document that is sent by its id alone. */
  function bodyOf(document: Document<unknown, never>, variables: unknown) {
    const documentId = persisted ? idOf(document) : undefined;
    const text = documentId === undefined ? textOf(document, print) : undefined;
    return { json: JSON.stringify({ documentId, query: text, variables }), text: text ?? '' };
  }

  return {
    async query<Data, V>(document: Document<Data, V>, ...args: Arguments<V>) {
      const { variables, signal } = named(args);
      const { json, text } = bodyOf(document, variables);
      if (isMutation(text)) throw new TypeError('This document is a mutation: send it with `mutate`.');
      let best: Answer<Data> | undefined;
      for (let tries = 0; ; tries++) {
        const answer = await attempt<Data>(json, signal);
        // A later attempt that failed as a whole takes nothing away from what an earlier one brought.
        if (best === undefined || answer.data !== null || best.data === null) best = answer;
        const delay = delayBefore(answer.errors, tries);
        if (delay === null || tries >= retries || delay > maxRetryDelayMs) return best;
        await wait(delay, signal);
      }
    },

    async mutate<Data, V>(document: Document<Data, V>, ...args: Arguments<V>) {
      const { variables, signal } = named(args);
      return attempt<Data>(bodyOf(document, variables).json, signal);
    },
  };
}
