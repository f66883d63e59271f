import { hash } from 'node:crypto';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
  print,
  separateOperations,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { PreparedOperation, plansOf } from '../executor/compile.ts';
import { attempt } from '../executor/errors.ts';
import { getOrMake } from '../get-or-make.ts';
import { ownCopy } from '../own-copy.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { deprecatedUses } from './deprecated-uses.ts';
import { measureOperations } from './document-size.ts';
import { RequestError, truncate } from './errors.ts';
import type { PersistedDocument } from './persisted-documents.ts';
import { createValidation, type DocumentRules, parseDocument } from './validation.ts';

/** Counts look-ups of documents and their results, for metrics. */
export class DocumentCacheStats {
  hits = 0;
  misses = 0;
  /** The approximate memory of the documents that may be evicted, in bytes. */
  bytes = 0;
}

export interface DocumentCacheOptions extends DocumentRules {
  /** The approximate memory for the documents that are not pinned, and their plans, in bytes. */
  readonly documentCacheBytes: number;
  /** Checked documents by their texts. They are never evicted. */
  readonly pinned?: ReadonlyMap<string, PersistedDocument> | undefined;
  /** Counts the results of look-ups. The statistics outlive each cache: a new manifest creates a new cache. */
  readonly documentStats?: DocumentCacheStats | undefined;
}

/** A parsed document. It is validated once, and each of its operations compiled once, for each schema that executes it. */
export class ParsedDocument {
  readonly text: string;
  readonly node: DocumentNode;
  /** The apps whose manifests contain this document. */
  readonly apps: readonly string[];
  /** Whether errors leave out suggestions that name parts of the schema. */
  readonly hideSuggestions: boolean;
  readonly #validate: ReturnType<typeof createValidation>;
  readonly #violations = new WeakMap<GraphQLSchema, readonly RequestError[]>();
  readonly #operations = new Map<OperationDefinitionNode, ExecutableOperation>();

  constructor(
    text: string,
    node: DocumentNode,
    apps: readonly string[],
    hideSuggestions: boolean,
    validate: ReturnType<typeof createValidation>,
  ) {
    this.text = text;
    this.node = node;
    this.apps = apps;
    this.hideSuggestions = hideSuggestions;
    this.#validate = validate;
  }

  /** Why a schema refuses the document; empty if it is valid. */
  violationsIn(schema: GraphQLSchema): readonly RequestError[] {
    return this.#violations.get(schema) ?? this.setViolations(schema, this.#validate(schema, this.node));
  }

  setViolations(schema: GraphQLSchema, violations: readonly RequestError[]): readonly RequestError[] {
    this.#violations.set(schema, violations);
    return violations;
  }

  /**
   * The operation with this name, or the only one. Errors: BAD_USER_INPUT if there is no such operation, or
   * if there are several and no name.
   */
  find(name: string | null | undefined): ExecutableOperation {
    const node = getOperationAST(this.node, name);
    if (!node)
      throw new RequestError(
        'BAD_USER_INPUT',
        name == null
          ? 'The document has several operations: name one in "operationName".'
          : 'The document has no operation with the name in "operationName".',
      );
    return (
      this.#operations.get(node) ??
      getOrMake(this.#operations, node, () => new ExecutableOperation(this, node))
    );
  }
}

/** Estimated memory in bytes: of a parsed document, for each character of its text; of a plan, for each field. */
const characterBytes = 200;
const fieldBytes = 1200;

/**
 * Documents by their text, each parsed, validated and prepared once. Refused documents are kept too, so that the same text is
 * refused quickly the next time. The memory of the documents and their plans, with fragments expanded, is bounded. A plan for
 * a schema that a plugin sets lives no longer than the schema.
 */
export class Documents {
  readonly #options: DocumentCacheOptions;
  readonly #stats: DocumentCacheStats;
  readonly #validate: ReturnType<typeof createValidation>;
  /** By the document's text: the parsed document, or the error if the text cannot be parsed. */
  readonly #cache: LRUCache<string, ParsedDocument | GraphQLError>;
  readonly #pinned = new Map<string, ParsedDocument>();
  readonly #parsed = new WeakMap<DocumentNode, ParsedDocument>();

  constructor(options: DocumentCacheOptions) {
    this.#options = options;
    this.#stats = options.documentStats ?? new DocumentCacheStats();
    this.#validate = createValidation(options);
    this.#cache = new LRUCache({ maxSize: options.documentCacheBytes });
    const { pinned = [], schema = ownSchema } = options;
    for (const [text, { node, apps }] of pinned) {
      const document = this.#keep(text, node, apps);
      // The documents are not validated again: that was done when the manifests were read.
      document.setViolations(schema, []);
      this.#pinned.set(text, document);
    }
  }

  /** Errors: GraphQLError, if the text cannot be parsed or is too large. */
  parse(text: string): ParsedDocument {
    const known = this.#pinned.get(text) ?? this.#cache.get(text);
    if (known === undefined) this.#stats.misses++;
    else this.#stats.hits++;
    const document = known ?? this.#parse(text);
    if (document instanceof GraphQLError) throw document;
    return document;
  }

  /** The parsed document for a syntax tree, which a plugin may have changed. */
  of(node: DocumentNode): ParsedDocument {
    return this.#parsed.get(node) ?? this.#keep(print(node), node, []);
  }

  #keep(text: string, node: DocumentNode, apps: readonly string[]): ParsedDocument {
    const { introspection } = this.#options;
    const document = new ParsedDocument(text, node, apps, !introspection, this.#validate);
    this.#parsed.set(node, document);
    return document;
  }

  #parse(text: string): ParsedDocument | GraphQLError {
    let planned = 0;
    const parsed = attempt(() => {
      const node = parseDocument(text, this.#options.documentLimits);
      // The number of fields with fragments expanded, which is the size of a plan.
      const fields = measureOperations(node).reduce((sum, size) => sum + size.fields, 0);
      planned = fields * plansOf(node);
      return this.#keep(text, node, []);
    });
    this.#cache.set(text, parsed, { size: characterBytes * (text.length + 1) + fieldBytes * planned });
    this.#stats.bytes = this.#cache.calculatedSize;
    return parsed;
  }
}

const noVariables: GraphQLResolveInfo['variableValues'] = Object.freeze({
  sources: Object.freeze({}),
  coerced: Object.freeze({}),
});

/**
 * Whether a document may have @defer. A text that has it only in a string or a comment counts too, which
 * costs time but is no error.
 */
const mayUseIncremental = (text: string): boolean => /@\s*defer\b/.test(text);

/** The maximum length of an operation's name in the log, metrics and traces: clients may choose longer names. */
const maxNameLength = 100;

/** An operation of a document. It is executed only with a schema in which the document is valid. */
export class ExecutableOperation {
  readonly kind: OperationDefinitionNode['operation'];
  /** The operation's name in the document, shortened if it is long; null if it has none. */
  readonly name: string | null;
  /** The apps whose manifests contain the document. */
  readonly apps: readonly string[];
  /** SHA-256 of the document's text, in hexadecimal. */
  readonly documentHash: string;
  /** Whether the document has @defer. */
  readonly usesIncremental: boolean;
  readonly #document: ParsedDocument;
  readonly #node: OperationDefinitionNode;
  readonly #prepared = new WeakMap<GraphQLSchema, PreparedOperation>();
  readonly #deprecated = new WeakMap<GraphQLSchema, readonly string[]>();

  constructor(document: ParsedDocument, node: OperationDefinitionNode) {
    this.kind = node.operation;
    // The name is copied: otherwise, whatever keeps it, such as a span, would keep the whole document in memory.
    this.name = node.name === undefined ? null : ownCopy(node.name.value.slice(0, maxNameLength));
    this.apps = document.apps;
    this.documentHash = hash('sha256', document.text);
    this.usesIncremental = mayUseIncremental(document.text);
    this.#document = document;
    this.#node = node;
  }

  /** The operation, compiled for the schema that executes it. */
  preparedFor(schema: GraphQLSchema): PreparedOperation {
    return this.#prepared.get(schema) ?? getOrMake(this.#prepared, schema, () => this.prepare(schema));
  }

  /** Compiles the operation without keeping the result. */
  prepare(schema: GraphQLSchema): PreparedOperation {
    const { node: document, hideSuggestions } = this.#document;
    return new PreparedOperation({ schema, document, operation: this.#node, hideSuggestions });
  }

  /** The coordinates of those deprecated parts of a schema that the operation or its fragments use. */
  deprecatedIn(schema: GraphQLSchema): readonly string[] {
    return getOrMake(this.#deprecated, schema, () => {
      const document = separateOperations(this.#document.node)[this.#node.name?.value ?? ''];
      return document === undefined ? [] : deprecatedUses(schema, document);
    });
  }

  /**
   * The request's variables, coerced.
   * Errors: BAD_USER_INPUT for the first invalid variable, and for a number whose digits JSON.parse has changed.
   */
  variablesOf(
    schema: GraphQLSchema,
    raw: Readonly<Record<string, unknown>>,
  ): GraphQLResolveInfo['variableValues'] {
    const { variableDefinitions = [] } = this.#node;
    if (variableDefinitions.length === 0) return noVariables;
    // Only one error is collected: graphql would list up to 50, and repeat the whole value in each.
    const options = { maxErrors: 1, hideSuggestions: this.#document.hideSuggestions };
    const { variableValues, errors } = getVariableValues(schema, variableDefinitions, raw, options);
    if (variableValues !== undefined) {
      const rounded = roundedText(raw, variableValues.coerced);
      if (rounded === null) return variableValues;
      throw new RequestError(
        'BAD_USER_INPUT',
        `The variable ${truncate(rounded.join('.'))} has to be a string: the digits of a JSON number may already be lost.`,
      );
    }
    const [wrong] = errors;
    throw new RequestError('BAD_USER_INPUT', truncate(wrong?.message ?? 'A variable does not fit.'), {
      nodes: wrong?.nodes,
    });
  }
}

/**
 * Finds a number that a variable's type, such as ID, takes as a text, although JSON.parse has rounded it. The
 * text of the rounded number is another id: a payment would go to another account.
 * Shape: the path to the number; null if no number was rounded.
 */
function roundedText(raw: unknown, coerced: unknown): string[] | null {
  // A variable of a list type may be given as a single entry.
  if (Array.isArray(coerced) && !Array.isArray(raw)) return roundedText(raw, coerced[0]);
  if (typeof raw === 'number') return typeof coerced === 'string' && !Number.isSafeInteger(raw) ? [] : null;
  if (typeof raw !== 'object' || typeof coerced !== 'object' || raw === null || coerced === null) return null;
  for (const [name, value] of Object.entries(raw)) {
    const path = roundedText(value, Reflect.get(coerced, name));
    if (path !== null) return [name, ...path];
  }
  return null;
}
