import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RequestError } from './request-error.ts';
import type { Params } from './validate-params.ts';

/** Texts that clients sent with their hashes: Apollo's and urql's links then send the hash alone. */
export interface AutomaticPersistedQueries {
  /** Null if the hash is unknown. */
  get(sha256Hash: string): string | null;
  set(sha256Hash: string, text: string): void;
}

const maxEntries = 10_000;
/** The approximate memory of an entry besides its text. */
const entryBytes = 300;

export interface AutomaticPersistedQueriesOptions {
  /** 10,000 where left out. */
  readonly entries?: number;
  /** What the texts may take in memory, in bytes. */
  readonly bytes: number;
}

/**
 * The least recently used text is evicted first: its client sends it once more. Texts are shared by all callers, and
 * can be found only by their hashes.
 */
export function createAutomaticPersistedQueries({
  entries = maxEntries,
  bytes,
}: AutomaticPersistedQueriesOptions): AutomaticPersistedQueries {
  const texts = new LRUCache<string, string>({
    max: entries,
    maxSize: bytes,
    sizeCalculation: (text) => 2 * text.length + entryBytes,
  });
  return {
    get: (sha256Hash) => texts.get(sha256Hash) ?? null,
    set: (sha256Hash, text) => void texts.set(sha256Hash, text),
  };
}

/** `extensions.persistedQuery.sha256Hash`; null if a request has none. */
export function sha256HashOf({ extensions }: Pick<Params, 'extensions'>): string | null {
  const persistedQuery: unknown = extensions?.persistedQuery;
  if (typeof persistedQuery !== 'object' || persistedQuery === null) return null;
  const hash: unknown = Reflect.get(persistedQuery, 'sha256Hash');
  return typeof hash === 'string' ? hash : null;
}

/** Links of Apollo and urql recognise these messages, with a status of success, and then send the text. */
const missing = (code: 'PERSISTED_QUERY_NOT_FOUND' | 'PERSISTED_QUERY_NOT_SUPPORTED', message: string) =>
  new RequestError(code, message, { http: { status: 200 } });

/**
 * The text that a request asks for by its hash alone. `queries`: null if none are kept.
 * Errors: PERSISTED_QUERY_NOT_FOUND, PERSISTED_QUERY_NOT_SUPPORTED.
 */
export function automaticText(sha256Hash: string, queries: AutomaticPersistedQueries | null): string {
  if (queries === null) throw missing('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
  const text = queries.get(sha256Hash);
  if (text === null) throw missing('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
  return text;
}

/**
 * Keeps a text that was sent with its hash. To be called after the text was checked: one that is refused takes no room.
 * Errors: BAD_USER_INPUT if the hash is not the text's.
 */
export function keepAutomaticText(
  { query, extensions }: { readonly query: string; readonly extensions: Params['extensions'] },
  queries: AutomaticPersistedQueries,
): void {
  const sha256Hash = sha256HashOf({ extensions });
  if (sha256Hash === null || queries.get(sha256Hash) === query) return;
  if (hash('sha256', query) !== sha256Hash)
    throw new RequestError(
      'BAD_USER_INPUT',
      'extensions.persistedQuery.sha256Hash is not the SHA-256 of the query, in lower-case hexadecimal.',
    );
  queries.set(sha256Hash, query);
}
