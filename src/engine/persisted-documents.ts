import { BankqlError } from '../errors.ts';
import { type PersistedDocuments, plainId } from './persisted-manifest.ts';
import type { Params } from './validate-params.ts';

/** Documents that are asked for by their ids, and whether nothing else is served. */
export interface Persisted {
  readonly documents: PersistedDocuments;
  readonly only: boolean;
}

/**
 * The text that a request asks for: its own, or that of the manifest's document whose id it names as `documentId` or
 * `extensions.persistedQuery.sha256Hash`. Null where it names none. With `only`, nothing but the manifest is served.
 * Errors: PERSISTED_DOCUMENT_REQUIRED for an id that is not known; with `only`, for a request with a text.
 */
export function documentTextOf(params: Params, persisted: Persisted | null): string | null {
  const { query } = params;
  if (persisted === null) return query;
  const { documents, only } = persisted;
  if (query !== null && query !== '') {
    if (only) throw required('Only documents of the manifest are served: send an id instead of a text.');
    return query;
  }
  const id = params.documentId ?? hashOf(params.extensions);
  if (id === null) {
    if (only) throw required('Only documents of the manifest are served: send the id of one.');
    return query;
  }
  const text = documents.texts.get(plainId(id));
  if (text === undefined) throw required('No document of the manifest has this id.');
  return text;
}

const required = (message: string) => new BankqlError('PERSISTED_DOCUMENT_REQUIRED', message);

function hashOf(extensions: Params['extensions']): string | null {
  const persistedQuery: unknown = extensions?.persistedQuery;
  if (typeof persistedQuery !== 'object' || persistedQuery === null) return null;
  const hash: unknown = Reflect.get(persistedQuery, 'sha256Hash');
  return typeof hash === 'string' ? hash : null;
}
