/**
 * An operation with the types of its answer and its variables: what graphql-codegen's client preset makes
 * (`TypedDocumentString`, `TypedDocumentNode`), and gql.tada.
 */
export interface TypedDocument<Data, Variables> {
  toString(): string;
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
}

/** A text has no types: its data is `unknown` unless the caller names them. */
export type Document<Data, Variables> = string | TypedDocument<Data, Variables>;

/** graphql's own `print`, for documents that are syntax trees: this package does not bring graphql along. */
export type Print = (document: never) => string;

/** A document's text. Errors: TypeError for a syntax tree where there is no `print`. */
export function textOf(document: Document<unknown, never>, print: Print | undefined): string {
  const text = String(document);
  if (text !== '[object Object]') return text;
  // A template tag such as gql keeps the source of what it parsed.
  const source: unknown = member(member(member(document, 'loc'), 'source'), 'body');
  if (print !== undefined) return print(document as never);
  if (typeof source === 'string') return source;
  throw new TypeError(
    "This document is a syntax tree: give createClient graphql's `print`, or generate documents with documentMode: 'string'.",
  );
}

/** The id that the build gave a document: `__meta__.hash` of graphql-codegen, `documentId` of gql.tada. */
export function idOf(document: Document<unknown, never>): string | undefined {
  const id = member(document, 'documentId') ?? member(member(document, '__meta__'), 'hash');
  return typeof id === 'string' ? id : undefined;
}

/** Whether a document's text holds a mutation. In doubt it does: what changes something is not sent again. */
export const isMutation = (text: string): boolean =>
  /(^|\})\s*mutation\b/.test(text.replace(/#.*|"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|,/g, ' '));

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
