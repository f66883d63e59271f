import { hash } from 'node:crypto';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { type PreparedOperation, plansOf, prepareOperation } from '../executor/compile.ts';
import { getOrMake } from '../get-or-make.ts';
import { ownCopy } from '../own-copy.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { RequestError, truncate } from './errors.ts';
import { measureOperations } from './limits.ts';
import { createDocumentCheck, type DocumentRules } from './validation.ts';

/** Counts look-ups of documents and their results, for metrics. */
export class DocumentCacheStats {
  hits = 0;
  misses = 0;
  /** The approximate memory of the documents that may be evicted. */
  bytes = 0;
}

export interface DocumentCacheOptions extends DocumentRules {
  /** The approximate memory for the documents that are not pinned, and their plans, in bytes. */
  readonly documentCacheBytes: number;
  /** Checked documents by their texts, which are never evicted. */
  readonly pinned?: ReadonlyMap<string, DocumentNode> | undefined;
  /** Counts the results of look-ups. The statistics outlive each cache: a new manifest creates a new cache. */
  readonly documentStats?: DocumentCacheStats | undefined;
}

/** The options for preparing documents. */
type PrepareOptions = Pick<DocumentCacheOptions, 'schema' | 'introspection'>;

/** A document that has been checked. */
interface CheckedDocument {
  readonly text: string;
  readonly document: DocumentNode;
  readonly isPersisted: boolean;
}

/** The operations of a document, each prepared when it is first requested. */
class DocumentOperations {
  readonly #checked: CheckedDocument;
  readonly #options: PrepareOptions;
  readonly #prepared = new Map<OperationDefinitionNode, ExecutableOperation>();

  constructor(checked: CheckedDocument, options: PrepareOptions) {
    this.#checked = checked;
    this.#options = options;
  }

  /** Errors: BAD_USER_INPUT if the document has no such operation, or several and no name was given. */
  find(name: string | null): ExecutableOperation {
    const node = getOperationAST(this.#checked.document, name);
    if (!node)
      throw new RequestError(
        'BAD_USER_INPUT',
        name === null
          ? 'The document has several operations: name one in "operationName".'
          : 'The document has no operation with the name in "operationName".',
      );
    return getOrMake(this.#prepared, node, () => new ExecutableOperation(this.#checked, node, this.#options));
  }
}

/** The memory of a parsed document for each character of its text, and of a plan for each field. */
const characterBytes = 200;
const fieldBytes = 1200;

/**
 * Documents by their text, each parsed, checked and prepared once. Refused documents are cached too, so that the
 * same text is refused again at once. Bounded by the memory of the documents and their plans, with fragments
 * expanded.
 */
export function createDocumentCache({
  documentCacheBytes,
  pinned: permanent,
  documentStats: stats = new DocumentCacheStats(),
  ...options
}: DocumentCacheOptions) {
  const check = createDocumentCheck(options);
  /** The operations of each document, or why it is refused. */
  const cache = new LRUCache<string, DocumentOperations | GraphQLError>({ maxSize: documentCacheBytes });
  const pinned = new Map<string, DocumentOperations>();
  for (const [text, document] of permanent ?? [])
    pinned.set(text, new DocumentOperations({ text, document, isPersisted: true }, options));

  function make(text: string): DocumentOperations | GraphQLError {
    let planned = 0;
    let made: DocumentOperations | GraphQLError;
    try {
      const document = check(text);
      // With fragments expanded: the size of a plan.
      const fields = measureOperations(document).reduce((sum, size) => sum + size.fields, 0);
      planned = fields * plansOf(document);
      made = new DocumentOperations({ text, document, isPersisted: false }, options);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      made = error;
    }
    cache.set(text, made, { size: characterBytes * (text.length + 1) + fieldBytes * planned });
    stats.bytes = cache.calculatedSize;
    return made;
  }

  /** The operations of a document. Errors: GraphQLError, see validation.ts. */
  return (text: string): DocumentOperations => {
    const known = pinned.get(text) ?? cache.get(text);
    if (known === undefined) stats.misses++;
    else stats.hits++;
    const found = known ?? make(text);
    if (found instanceof GraphQLError) throw found;
    return found;
  };
}

const noVariables: GraphQLResolveInfo['variableValues'] = Object.freeze({
  sources: Object.freeze({}),
  coerced: Object.freeze({}),
});

/** Whether a document may have @defer: a text or a comment may look like one, which only costs time. */
export const mayUseIncremental = (text: string): boolean => /@\s*defer\b/.test(text);

/** The maximum length of an operation's name in the log, metrics and traces: clients may choose longer names. */
const maxNameLength = 100;

/** An operation of a document that has been checked. */
export class ExecutableOperation {
  readonly kind: OperationDefinitionNode['operation'];
  /** The operation's name in the document, perhaps shortened; null if it has none. */
  readonly name: string | null;
  /** Whether its document is one of the manifest's. */
  readonly isPersisted: boolean;
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  /** Whether errors leave out suggestions that name parts of the schema. */
  readonly hideSuggestions: boolean;
  readonly prepared: PreparedOperation;
  /** SHA-256 of the document's text, in hexadecimal. */
  readonly documentHash: string;
  /** Whether the document has @defer. */
  readonly usesIncremental: boolean;

  constructor(
    { text, document, isPersisted }: CheckedDocument,
    node: OperationDefinitionNode,
    { schema = ownSchema, introspection }: PrepareOptions,
  ) {
    this.documentHash = hash('sha256', text);
    this.usesIncremental = mayUseIncremental(text);
    this.kind = node.operation;
    // A copy, because a span, for example, outlives the document.
    this.name = node.name === undefined ? null : ownCopy(node.name.value.slice(0, maxNameLength));
    this.isPersisted = isPersisted;
    this.schema = schema;
    this.document = document;
    this.node = node;
    this.hideSuggestions = !introspection;
    this.prepared = this.preparedWith(schema);
  }

  /** The same operation with a schema that differs in its resolvers. */
  preparedWith(schema: GraphQLSchema): PreparedOperation {
    const { document, node: operation, hideSuggestions } = this;
    return prepareOperation({ schema, document, operation, hideSuggestions });
  }

  /** The request's variables, coerced. Errors: BAD_USER_INPUT for the first that does not fit. */
  variablesOf(raw: Readonly<Record<string, unknown>>): GraphQLResolveInfo['variableValues'] {
    const { schema, hideSuggestions } = this;
    const { variableDefinitions = [] } = this.node;
    if (variableDefinitions.length === 0) return noVariables;
    // graphql would list up to 50 errors, and repeat the whole value in each.
    const options = { maxErrors: 1, hideSuggestions };
    const { variableValues, errors } = getVariableValues(schema, variableDefinitions, raw, options);
    if (variableValues !== undefined) return variableValues;
    const [wrong] = errors;
    throw new RequestError('BAD_USER_INPUT', truncate(wrong?.message ?? 'A variable does not fit.'), {
      nodes: wrong?.nodes,
    });
  }
}
