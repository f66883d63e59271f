import type { DocumentNode } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { BankqlError } from '../bank/error.ts';
import { type PersistedDocuments, plainId } from './persisted-manifest.ts';

/**
 * Serves documents that are asked for by their ids: `documentId`, or `extensions.persistedQuery.sha256Hash`. They were
 * checked at the start, and are neither parsed nor validated again. With `only`, nothing else is served.
 * Errors: PERSISTED_DOCUMENT_REQUIRED for an id that is not known; with `only`, for a request with a text.
 */
export function usePersistedDocuments({ texts, parsed }: PersistedDocuments, only: boolean): Plugin {
  const checked = new WeakSet<DocumentNode>(parsed.values());
  return {
    onParams({ params, request, setParams }) {
      if (params.query) {
        if (only) throw required('Only documents of the manifest are served: send an id instead of a text.');
        return;
      }
      const id = idOf(params, request);
      if (id === null) {
        if (only) throw required('Only documents of the manifest are served: send the id of one.');
        return;
      }
      const query = texts.get(plainId(id));
      if (query === undefined) throw required('No document of the manifest has this id.');
      const { operationName, variables, extensions } = params;
      setParams({ query, operationName, variables, extensions });
    },
    onParse({ params, setParsedDocument }) {
      const document = parsed.get(String(params.source));
      if (document !== undefined) setParsedDocument(document);
    },
    onValidate({ params, setResult }) {
      if (checked.has(params.documentAST)) setResult([]);
    },
  };
}

const required = (message: string) => new BankqlError('PERSISTED_DOCUMENT_REQUIRED', message);

/** The id that a request names; null where it names none. yoga takes no `documentId` from a URL. */
function idOf(params: GraphQLParams, request: Request): string | null {
  const member = (value: unknown, name: string): unknown =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  const ids = [
    member(params, 'documentId'),
    request.method === 'GET' ? new URL(request.url).searchParams.get('documentId') : undefined,
    member(member(params.extensions, 'persistedQuery'), 'sha256Hash'),
  ];
  return ids.find((id) => typeof id === 'string') ?? null;
}
