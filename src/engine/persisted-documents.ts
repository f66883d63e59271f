import { BankqlError } from '../errors.ts';
import { type PersistedDocuments, plainId } from './persisted-manifest.ts';
import type { Params } from './validate-params.ts';

/** Documents that are requested by id, and whether requests must use them. */
export interface Persisted {
  readonly documents: PersistedDocuments;
  readonly only: boolean;
}

/**
 * The text that a request asks for: its own, or that of the manifest's document whose id it gives as `documentId`
 * or `extensions.persistedQuery.sha256Hash`. Null if it gives neither. With `only`, no other documents are served.
 * Errors: PERSISTED_DOCUMENT_REQUIRED for an unknown id; with `only`, also for a request with a text.
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
