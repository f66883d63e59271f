import { RequestError } from './errors.ts';
import { type Persisted, persistedText } from './persisted-documents.ts';

/** The parameters of a request, as defined by GraphQL over HTTP. */
export interface Params {
  readonly query: string | null;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>> | null;
  readonly extensions: Readonly<Record<string, unknown>> | null;
  /** The id of a persisted document. */
  readonly documentId: string | null;
}

/** The operation that a request asks for. */
export interface OperationParams {
  /** The document's text. */
  readonly query: string;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The operation that a request asks for, by its text or by an id. Errors: BAD_USER_INPUT; those of persistedText. */
export function parseParams(rawParams: unknown, persisted: Persisted | null): OperationParams {
  const params = checkParams(rawParams);
  const { operationName, variables } = params;
  const text = persistedText(params, persisted);
  if (text === null)
    throw new RequestError(
      'BAD_USER_INPUT',
      params.documentId === null
        ? 'A request needs a "query", or the id of a document as "documentId".'
        : 'A request needs a "query", because this server has no manifest of documents with ids.',
    );
  return {
    query: text,
    operationName,
    variables: variables ?? {},
  };
}

/** The type that each member of a request must have, and the name of that type in errors. */
const members: Readonly<Record<string, readonly ['string' | 'object', string] | undefined>> = Object.assign(
  Object.create(null),
  {
    query: ['string', 'a text'],
    operationName: ['string', 'a text'],
    variables: ['object', 'an object'],
    extensions: ['object', 'an object'],
    documentId: ['string', 'a text'],
    doc_id: ['string', 'a text'],
  } satisfies Record<keyof Params | 'doc_id', unknown>,
);

/**
 * Checks a request's members.
 * Errors: BAD_USER_INPUT, which names the invalid member and repeats nothing of what was sent.
 */
export function checkParams(rawParams: unknown): Params {
  if (typeof rawParams !== 'object' || rawParams === null || Array.isArray(rawParams))
    throw new RequestError(
      'BAD_USER_INPUT',
      Array.isArray(rawParams)
        ? 'Batches are not served: send one operation at a time.'
        : 'A request is a JSON object with a "query".',
    );
  const given = rawParams as Readonly<Record<string, unknown>>;
  for (const name in given) {
    const value = given[name];
    if (value === null || value === undefined) continue;
    const member = members[name];
    // GraphQL over HTTP: a server ignores members that it does not know.
    if (member === undefined) continue;
    const [type, word] = member;
    if (typeof value !== type || Array.isArray(value))
      throw new RequestError('BAD_USER_INPUT', `"${name}" has to be ${word}, or left out.`);
  }
  const {
    query = null,
    operationName = null,
    variables = null,
    extensions = null,
    documentId,
    doc_id: relayId,
  } = given as Partial<Params> & { readonly doc_id?: string | null };
  const id = documentId || relayId || null;
  if (relayId && relayId !== id)
    throw new RequestError('BAD_USER_INPUT', '"documentId" and "doc_id" differ: send one of them.');
  return { query, operationName, variables, extensions, documentId: id };
}
