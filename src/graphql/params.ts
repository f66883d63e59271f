import { z } from 'zod';
import { BankqlError } from '../errors.ts';
import { RequestError } from './errors.ts';
import { type PersistedDocuments, plainId } from './persisted-documents.ts';

/**
 * Documents that requests may name by an id, and whether requests must use an id. `log`: documents without an
 * id are accepted and logged.
 */
export interface Persisted {
  readonly documents: Pick<PersistedDocuments, 'texts' | 'parsed'>;
  readonly only: boolean | 'log';
}

/** The operation that a request asks for. */
interface OperationParams {
  /** The document's text. */
  readonly query: string;
  readonly operationName?: string;
  readonly variables: Record<string, unknown>;
}

/**
 * Finds the operation that a request asks for, by its text or by an id. `persisted`: null if there is no manifest.
 * Errors: BAD_USER_INPUT; PERSISTED_DOCUMENT_REQUIRED and PERSISTED_QUERY_NOT_SUPPORTED, see textOf.
 */
export function parseParams(raw: unknown, persisted: Persisted | null): OperationParams {
  const params = checkMembers(raw);
  const { operationName, variables } = params;
  return {
    query: textOf(params, persisted),
    ...(typeof operationName === 'string' && { operationName }),
    variables: variables ?? {},
  };
}

/** The members of a request, as defined by GraphQL over HTTP; `doc_id` is Relay's. */
interface Members {
  readonly query?: string | null;
  readonly operationName?: string | null;
  readonly variables?: Record<string, unknown> | null;
  readonly extensions?: Readonly<Record<string, unknown>> | null;
  readonly documentId?: string | null;
  readonly doc_id?: string | null;
}

const memberTypes = Object.entries({
  query: 'string',
  operationName: 'string',
  variables: 'object',
  extensions: 'object',
  documentId: 'string',
  doc_id: 'string',
} as const satisfies Record<keyof Members, 'string' | 'object'>);

/**
 * Checks a request's members. Unknown members are ignored, as GraphQL over HTTP requires.
 * Errors: BAD_USER_INPUT, which names the invalid member and repeats no value of the request.
 */
function checkMembers(raw: unknown): Members {
  if (Array.isArray(raw)) throw invalid('Batches are not served: send one operation at a time.');
  if (typeof raw !== 'object' || raw === null) throw invalid('A request is a JSON object with a "query".');
  for (const [name, type] of memberTypes) {
    const value: unknown = Reflect.get(raw, name);
    if (value === null || value === undefined) continue;
    if (typeof value !== type || Array.isArray(value))
      throw invalid(`"${name}" has to be ${type === 'string' ? 'a text' : 'an object'}, or left out.`);
  }
  return raw;
}

/**
 * The text of the document that a request sends, or names as `documentId` or `extensions.persistedQuery.sha256Hash`. With
 * `only`, only documents of a manifest are served.
 * Errors: BAD_USER_INPUT if the request has neither a text nor an id. PERSISTED_DOCUMENT_REQUIRED for an unknown documentId;
 *         with `only`, for an unknown hash and for a text too. PERSISTED_QUERY_NOT_SUPPORTED for an unknown hash without
 *         `only`: clients that use automatic persisted queries then send the text.
 */
function textOf(params: Members, persisted: Persisted | null): string {
  const { query, extensions } = params;
  const documentId = params.documentId || params.doc_id || null;
  if (params.doc_id && params.doc_id !== documentId)
    throw invalid('"documentId" and "doc_id" differ: send one of them.');
  const isOnly = persisted?.only === true;
  if (query) {
    if (isOnly) throw required('Only documents of the manifest are served: send an id instead of a text.');
    return query;
  }
  const hash = WithHash.safeParse(extensions).data?.persistedQuery.sha256Hash ?? null;
  if (documentId !== null && hash !== null && plainId(documentId) !== plainId(hash))
    throw invalid(
      'The id of the document and extensions.persistedQuery.sha256Hash differ: send one of them.',
    );
  const id = documentId ?? hash;
  if (id === null)
    throw isOnly
      ? required('Only documents of the manifest are served: send the id of one.')
      : invalid('A request needs a "query", or the id of a document as "documentId".');
  const text = persisted?.documents.texts.get(plainId(id));
  if (text !== undefined) return text;
  // The clients of Apollo and urql recognise this message if the status is 2xx, and then send the text.
  if (documentId === null && !isOnly)
    throw new RequestError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported', {
      http: { status: 200 },
    });
  throw persisted === null
    ? invalid('A request needs a "query", because this server has no manifest of documents with ids.')
    : required('No document of the manifest has this id.');
}

const invalid = (message: string) => new RequestError('BAD_USER_INPUT', message);
const required = (message: string) => new BankqlError('PERSISTED_DOCUMENT_REQUIRED', message);

const WithHash = z.object({ persistedQuery: z.object({ sha256Hash: z.string() }) });
