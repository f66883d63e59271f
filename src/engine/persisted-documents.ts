import { BankqlError } from '../errors.ts';
import {
  type AutomaticPersistedQueries,
  automaticText,
  sha256HashOf,
} from './automatic-persisted-queries.ts';
import { type PersistedDocuments, plainId } from './persisted-manifest.ts';
import type { Params } from './validate-params.ts';

/** Documents that are requested by id, and whether requests must use them. */
export interface Persisted {
  readonly documents: PersistedDocuments;
  readonly only: boolean;
}

/**
 * The text that a request asks for: its own, or that of the manifest's document whose id it gives as `documentId`
 * or `extensions.persistedQuery.sha256Hash`, or one that was sent with this hash before. Null if it gives none. With
 * `only`, no other documents than the manifest's are served.
 * Errors: PERSISTED_DOCUMENT_REQUIRED for an unknown documentId; with `only`, also for an unknown hash and for a request
 *         with a text. Otherwise PERSISTED_QUERY_NOT_FOUND for an unknown hash, or PERSISTED_QUERY_NOT_SUPPORTED if
 *         texts are not kept: clients then send the text.
 */
export function documentTextOf(
  params: Params,
  persisted: Persisted | null,
  automatic: AutomaticPersistedQueries | null,
): string | null {
  const { query, documentId } = params;
  const only = persisted?.only === true;
  if (query !== null && query !== '') {
    if (only) throw required('Only documents of the manifest are served: send an id instead of a text.');
    return query;
  }
  const hash = documentId === null ? sha256HashOf(params) : null;
  const id = documentId ?? hash;
  if (id === null) {
    if (only) throw required('Only documents of the manifest are served: send the id of one.');
    return query;
  }
  const text = persisted?.documents.texts.get(plainId(id));
  if (text !== undefined) return text;
  if (hash !== null && !only) return automaticText(hash, automatic);
  if (persisted === null) return query;
  throw required('No document of the manifest has this id.');
}

const required = (message: string) => new BankqlError('PERSISTED_DOCUMENT_REQUIRED', message);
